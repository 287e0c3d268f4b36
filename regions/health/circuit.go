package health

import "time"

// Circuit tells whether connections to an address can be made, as far as is
// known.
type Circuit uint8

// The states of a circuit.
const (
	Closed   Circuit = iota // they can
	HalfOpen                // one call may try
	Open                    // they could not
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

// circuit is the breaker of one address.
type circuit struct {
	state        Circuit
	failures     int           // in a row
	lastFailure  time.Duration // when the latest of them was
	openings     int           // times without a success between
	trialAt      time.Duration // while open: when it is half-open
	trialRunning bool          // while half-open: a call is trying
}

// unreachable notes a connection that could not be made, and reports whether
// that opened the circuit.
func (c *circuit) unreachable(s *Settings, now time.Duration) bool {
	switch c.state {
	case Open: // of a call that began before
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

// connected notes a new connection, and reports whether that closed the
// circuit.
func (c *circuit) connected() bool {
	closed := c.state != Closed
	*c = circuit{}
	return closed
}

// probed notes a probe's connection, and reports whether the state changed. One
// makes way for the trial, the next one is the trial.
func (c *circuit) probed() bool {
	if c.state == Open {
		c.state, c.trialRunning = HalfOpen, false
		return true
	}
	return c.connected()
}

// advance lets the time of an open circuit pass, and reports whether it is
// half-open now.
func (c *circuit) advance(now time.Duration) bool {
	if c.state != Open || now < c.trialAt {
		return false
	}
	c.state, c.trialRunning = HalfOpen, false
	return true
}
