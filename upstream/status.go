package upstream

import (
	"net/http"
	"sync/atomic"
	"time"

	"portico/regions"
	"portico/regions/health"
)

// EndpointStatus is the state of an endpoint according to this client.
type EndpointStatus struct {
	State     Condition
	Addresses []AddressStatus
	// Shed counts the clients' calls that got no slot because all were taken;
	// LastShed is the latest time.
	Shed     uint64
	LastShed time.Time
}

// AddressStatus is the state of one address.
type AddressStatus struct {
	URL     string
	State   Condition // Unknown: it was neither called nor probed
	Circuit health.Circuit
	Slow    bool // ejected because it answers much more slowly than the others
	// Reason explains the latest change of the state, at Since: the zero time
	// if it never changed.
	Reason string
	Since  time.Time
	// Requests and Failures (no complete answer, or a 5xx) are counted since
	// the address is in the map. InFlight is the number of running calls.
	Requests, Failures uint64
	InFlight           int
	// CertificateEnds is the expiry of its latest certificate; the zero time
	// if it has shown none.
	CertificateEnds time.Time
	// Distrust is the [ErrorKind] of the latest call that failed for lack of
	// trust, at LastDistrust; empty: none did.
	Distrust     string
	LastDistrust time.Time
}

// Status returns the state of an endpoint of the map.
func (c *Client) Status(e *regions.Endpoint) EndpointStatus {
	return c.statusOf(c.target(e), c.now())
}

func (c *Client) statusOf(t *target, now time.Duration) EndpointStatus {
	s := EndpointStatus{Shed: t.shed.count.Load(), LastShed: timeOf(t.shed.last.Load())}
	var conditions []Condition
	reachable := false
	for i, a := range t.addresses.Addresses() {
		status := c.addressStatus(a, t.pools[i], now)
		s.Addresses, conditions = append(s.Addresses, status), append(conditions, status.State)
		reachable = reachable || status.Circuit == health.Closed
	}
	if s.State = Overall(conditions); s.State == Down && reachable { // if none is healthy, some are called anyway
		s.State = Degraded
	}
	return s
}

// conditions returns the conditions of the endpoints of the map, by region.
func (c *Client) conditions(now time.Duration) map[string][]Condition {
	c.mu.Lock()
	targets := c.mapTargets
	c.mu.Unlock()
	all := map[string][]Condition{}
	for _, t := range targets {
		region := t.addresses.Region
		all[region] = append(all[region], c.statusOf(t, now).State)
	}
	return all
}

func (c *Client) addressStatus(a *health.Address, p *pool, now time.Duration) AddressStatus {
	state, tally := a.State(now), &p.series.tally
	s := AddressStatus{
		URL: p.base.String(), State: Up, Circuit: state.Circuit, Slow: state.Slow, Reason: state.Reason,
		Requests: tally.requests.Load(), Failures: tally.failures.Load(), InFlight: int(state.Outstanding),
	}
	if state.Since > 0 {
		s.Since = c.epoch.Add(state.Since)
	}
	if ends := tally.certificateEnds.Load(); ends != 0 {
		s.CertificateEnds = time.Unix(ends, 0)
	}
	s.Distrust, s.LastDistrust = p.trust.latest()
	switch {
	case !state.Up:
		s.State = Down
	case s.Requests == 0 && len(state.Counts.Probes) == 0:
		s.State = Unknown
	}
	return s
}

// tally counts the outcomes of an address's calls.
type tally struct {
	requests, failures atomic.Uint64
	certificateEnds    atomic.Int64 // in seconds; 0: none was shown
}

func (t *tally) failed(kind string) {
	// A call that its caller ended proves nothing about the address.
	if kind != "cancelled" && kind != "unsent" {
		t.failures.Add(1)
	}
}

func (t *tally) answered(status int) {
	if status >= http.StatusInternalServerError {
		t.failures.Add(1)
	}
}

// shedding counts the calls of an endpoint that got no slot.
type shedding struct {
	count atomic.Uint64
	last  atomic.Int64 // in microseconds; 0: never
}

func (s *shedding) recordShed(now time.Time) {
	s.count.Add(1)
	s.last.Store(now.UnixMicro())
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}
