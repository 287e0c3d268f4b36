// Package limits bounds how much one busy or failing endpoint, and one greedy caller,
// can take from the rest: calls in flight to an endpoint, retries among them, and
// memory for buffered answers and contents.
//
// [Memory] and [Concurrency] are shared by callers, and limit the share of each, so
// that a caller at its limit leaves room for others. Waiting callers are served in
// turn, one wait of each, however many waits each has. A caller is any name by which
// the user of this package tells callers apart; nothing is kept of a caller that
// neither holds nor waits.
//
// The package reads no clock: callers pass the time. Goroutines of [ForEach] have
// ended when it returns.
package limits
