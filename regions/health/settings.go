package health

import "time"

// Settings configure a [Registry]. A zero value disables its rule.
type Settings struct {
	// Failures is the number of failed connections in a row that opens the circuit of
	// an address. Failures further apart than Window are not in a row.
	Failures int
	// Open is the time until the first trial; it doubles with every failed trial, up
	// to MaxOpen.
	Open, MaxOpen time.Duration

	// Unhealthy failed probes in a row take an address out of use, Healthy
	// successful ones bring it back.
	Unhealthy, Healthy int

	// An address with at least Calls calls in the last Window is ejected if the share
	// ErrorRatio of them failed or got a 5xx, or if its mean latency is SlowFactor
	// times the median of the other addresses.
	ErrorRatio float64
	SlowFactor float64
	Calls      int
	Window     time.Duration
	// Eject is the length of the first ejection; it doubles with every ejection that
	// follows soon, up to MaxEject.
	Eject, MaxEject time.Duration
	// MaxEjectedShare bounds the share of an endpoint's addresses that are
	// ejected at once.
	MaxEjectedShare float64

	// SlowStart is how long an address that returns gets a reduced part of the calls.
	SlowStart time.Duration
}

// backoff doubles first with every time after the first, up to longest.
func backoff(first, longest time.Duration, times int) time.Duration {
	pause := first
	for i := 1; i < times && pause < longest; i++ {
		pause *= 2
	}
	return max(first, min(pause, longest))
}

// ejectable returns how many of n addresses may be ejected at once; one always stays.
func (s *Settings) ejectable(n int) int {
	return max(0, min(int(s.MaxEjectedShare*float64(n)), n-1))
}
