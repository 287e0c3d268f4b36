package health

import "time"

// Circuit is the state of an address's circuit breaker, which guards connecting.
type Circuit uint8

// The states of a circuit.
const (
	Closed   Circuit = iota // connections succeed
	HalfOpen                // one trial is permitted
	Open                    // connections fail
)

func (c Circuit) String() string {
	switch c {
	case HalfOpen:
		return "half-open"
	case Open:
		return "open"
	case Closed:
	}
	return "closed"
}

type circuit struct {
	state        Circuit
	failures     int // in a row
	lastFailure  time.Duration
	openings     int           // in a row, without a success
	trialAt      time.Duration // while open: when it becomes half-open
	trialRunning bool          // while half-open
}

// unreachable records a failed connection and reports whether that opened the
// circuit.
func (c *circuit) unreachable(s *Settings, now time.Duration) bool {
	switch c.state {
	case Open: // the call started before it opened
		return false
	case Closed:
		if s.Window > 0 && now-c.lastFailure > s.Window {
			c.failures = 0
		}
		c.failures++
		c.lastFailure = now
		if s.Failures == 0 || c.failures < s.Failures {
			return false
		}
	case HalfOpen:
	}
	c.openings++
	c.state, c.trialRunning, c.trialAt = Open, false, now+backoff(s.Open, s.MaxOpen, c.openings)
	return true
}

// connected records a new connection and reports whether that closed the circuit.
func (c *circuit) connected() bool {
	closed := c.state != Closed
	*c = circuit{}
	return closed
}

// probed records a probe's connection and reports whether the state changed. The
// first half-opens an open circuit, the next closes it.
func (c *circuit) probed() bool {
	if c.state == Open {
		c.state, c.trialRunning = HalfOpen, false
		return true
	}
	return c.connected()
}

// advance reports whether an open circuit has become half-open.
func (c *circuit) advance(now time.Duration) bool {
	if c.state != Open || now < c.trialAt {
		return false
	}
	c.state, c.trialRunning = HalfOpen, false
	return true
}
