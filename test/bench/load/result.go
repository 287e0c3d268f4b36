package load

import "time"

// Result is what became of a load.
type Result struct {
	Requests int // that were answered
	Elapsed  time.Duration
	// P50 and P99 are percentiles of the time until an answer was there; 0 where the
	// load does not tell.
	P50, P99 time.Duration
}

// Rate is how many requests were answered in a second.
func (r Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }
