// Package timing measures the time that has passed on a machine that may be suspended,
// or whose clock may be set, orders times, spaces what is tried again, and looks at many
// things by one timer.
package timing

import "time"

// Elapsed is the larger of the monotonic and the wall-clock difference: a suspended
// machine stops the one, a set clock moves the other.
func Elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// Earlier is the earlier one of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later is the later one of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
