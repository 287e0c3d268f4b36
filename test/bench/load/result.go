package load

import "time"

// Result is what a load measured.
type Result struct {
	Requests int // answered
	Elapsed  time.Duration
	// P50 and P99 are latencies; 0 if the load does not measure them.
	P50, P99 time.Duration
}

// Rate returns the answered requests per second.
func (r Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }
