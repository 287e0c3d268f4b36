//go:build !race

package fanout

// mostForLongPages is how many allocations more nine regions may cost where their pages
// are ten times as long.
const mostForLongPages = 9
