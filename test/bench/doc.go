// Package bench measures Portico against peers in one run. The machine's noise
// makes absolute times mean little, so each benchmark reports a ratio to
// something measured beside it; allocations per operation are the steady
// figure. Run with make bench.
package bench
