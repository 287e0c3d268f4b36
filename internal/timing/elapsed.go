// Package timing measures the time that has passed on a machine that may be suspended,
// or whose clock may be set, orders times, and spaces what is tried again.
package timing

import "time"

// Elapsed is the larger of the monotonic and the wall-clock difference: a suspended
// machine stops the one, a set clock moves the other.
func Elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}
