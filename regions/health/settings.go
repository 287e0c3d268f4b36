package health

import "time"

// Settings are the bounds within which a [Board] judges. Whatever is zero is
// not judged by.
type Settings struct {
	// Failures is how many connections in a row that cannot be made open the
	// circuit of an address. Failures further apart than Window are not in a row.
	Failures int
	// Open is how long it is open before the first trial; the time doubles with
	// every trial that fails, up to LongestOpen.
	Open, MaxOpen time.Duration

	// Unhealthy failed probes in a row take an address out, Healthy good ones
	// bring it back.
	Unhealthy, Healthy int

	// An address is ejected when of its calls of the last Window, at least Calls
	// of them, the share ErrorRatio came to nothing or to a 5xx, or when its
	// answers took SlowFactor times as long as the median of the other addresses.
	ErrorRatio float64
	SlowFactor float64
	Calls      int
	Window     time.Duration
	// Eject is for how long, the first time; it doubles with every ejection that
	// follows soon, up to LongestEject.
	Eject, MaxEject time.Duration
	// Most is the share of an endpoint's addresses that may be ejected at once.
	MaxEjectedShare float64

	// SlowStart is how long an address that returns gets less than its part.
	SlowStart time.Duration
}

// backoff doubles first with every time beyond the first one, up to longest.
func backoff(first, longest time.Duration, times int) time.Duration {
	pause := first
	for i := 1; i < times && pause < longest; i++ {
		pause *= 2
	}
	return max(first, min(pause, longest))
}

// ejectable is how many of n addresses may be ejected at once. One always stays.
func (s *Settings) ejectable(n int) int {
	return max(0, min(int(s.MaxEjectedShare*float64(n)), n-1))
}
