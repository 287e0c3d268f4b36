//go:build race

package fanout

// With the race detector pools forget some of what they hold, and longer pages need more
// of it.
const mostForLongPages = 3 * 9
