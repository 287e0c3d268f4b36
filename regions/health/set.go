package health

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// slowFloor is the mean latency below which an address never counts as slow.
const slowFloor = 50 * time.Millisecond

// Set holds the addresses of one endpoint. It is safe for concurrent use.
type Set struct {
	Region   string
	registry *Registry
	members  []*member
	snapshot atomic.Pointer[snapshot]
	rebuild  sync.Mutex
}

// drainAge bounds the age of a snapshot, which does not learn that an address is drained.
const drainAge = time.Second

// member is an address and its index in a set.
type member struct {
	*Address
	index int
}

// snapshot is the health of the members, valid for one generation and until a time.
type snapshot struct {
	generation  uint64
	until       time.Duration
	healthy     []*member // called first
	usable      []*member // called if none is healthy
	trials      []*member // half-open, no trial running
	unconfirmed []*member // open, but the last probe connected
	drained     []*member // closed, but out for maintenance; called last
	ramping     bool      // a healthy one is in slow start
	nextTrial   time.Duration
}

// Addresses returns the addresses in the order of the set.
func (s *Set) Addresses() []*Address {
	all := make([]*Address, len(s.members))
	for i, m := range s.members {
		all[i] = m.Address
	}
	return all
}

// current returns a valid snapshot.
func (s *Set) current(now time.Duration) *snapshot {
	v := s.snapshot.Load()
	if v != nil && now < v.until && v.generation == s.registry.generation.Load() {
		return v
	}
	s.rebuild.Lock()
	defer s.rebuild.Unlock()
	if v = s.snapshot.Load(); v == nil || now >= v.until || v.generation != s.registry.generation.Load() {
		v = s.buildSnapshot(now)
		s.snapshot.Store(v)
	}
	return v
}

func (s *Set) buildSnapshot(now time.Duration) *snapshot {
	for _, m := range s.members {
		m.Advance(now)
	}
	v := &snapshot{generation: s.registry.generation.Load(), until: now + drainAge, nextTrial: math.MaxInt64}
	ignored := s.ignoredEjections()
	var untried []*member
	for _, m := range s.members {
		m.mu.Lock()
		shut, drained := m.circuit.state != Closed, s.registry.Drained(m.Name)
		switch {
		case drained && !shut:
			v.drained = append(v.drained, m)
		case drained && m.circuit.state == HalfOpen && !m.circuit.trialRunning:
			untried = append(untried, m)
		case m.circuit.state == HalfOpen && !m.circuit.trialRunning:
			v.trials = append(v.trials, m)
		case m.circuit.state == Open && m.probes.enabled && !m.probes.unreachable:
			v.unconfirmed = append(v.unconfirmed, m)
		}
		if m.circuit.state == Open {
			v.nextTrial = min(v.nextTrial, m.circuit.trialAt)
			v.until = min(v.until, m.circuit.trialAt)
		}
		if m.ejection.on {
			v.until = min(v.until, m.ejection.until)
		}
		if m.ramping {
			v.until = min(v.until, m.returnedAt+s.registry.settings.Load().SlowStart)
		}
		if !shut && !drained {
			v.usable = append(v.usable, m)
			if !m.probes.failing && (!m.ejection.on || ignored[m]) {
				v.healthy = append(v.healthy, m)
				v.ramping = v.ramping || m.ramping
			}
		}
		m.mu.Unlock()
	}
	if len(v.healthy) == 0 {
		v.trials = append(v.trials, untried...)
	}
	return v
}

// ignoredEjections returns the members whose ejection this set ignores: through another
// endpoint, more may be ejected than this set's limit permits.
func (s *Set) ignoredEjections() map[*member]bool {
	ejected := make([]*member, 0, len(s.members))
	since := map[*member]time.Duration{}
	for _, m := range s.members {
		m.mu.Lock()
		if m.ejection.on {
			ejected = append(ejected, m)
			since[m] = m.ejection.since
		}
		m.mu.Unlock()
	}
	limit := s.registry.settings.Load().ejectable(len(s.members))
	if len(ejected) <= limit {
		return nil
	}
	slices.SortStableFunc(ejected, func(a, b *member) int { return int(min(1, max(-1, since[a]-since[b]))) })
	ignored := map[*member]bool{}
	for _, m := range ejected[limit:] {
		ignored[m] = true
	}
	return ignored
}

// considerEjection ejects a member for errors or slowness, if the limit permits.
func (s *Set) considerEjection(m *member, now time.Duration, tooManyErrors bool) {
	settings := s.registry.settings.Load()
	if len(s.members) < 2 || settings.Eject == 0 {
		return
	}
	reason, detail := ReasonErrors, "too many of its calls came to nothing or to a 5xx"
	if !tooManyErrors {
		if settings.SlowFactor == 0 || !m.dueForSlowCheck(now) || !s.isSlow(m, now, settings.SlowFactor) {
			return
		}
		reason, detail = ReasonSlow, "its answers take much longer than those of the others"
	}
	s.rebuild.Lock()
	defer s.rebuild.Unlock()
	out := 0
	for _, other := range s.members {
		other.mu.Lock()
		if other.ejection.on && now < other.ejection.until {
			out++
		}
		other.mu.Unlock()
	}
	if out < settings.ejectable(len(s.members)) {
		m.eject(now, reason, detail)
	}
}

// isSlow reports whether a member takes at least factor times the median of the others.
func (s *Set) isSlow(m *member, now time.Duration, factor float64) bool {
	own, ok := m.meanLatency(now)
	if !ok || own < slowFloor {
		return false
	}
	var others []time.Duration
	for _, other := range s.members {
		if mean, ok := other.meanLatency(now); ok && other != m {
			others = append(others, mean)
		}
	}
	if len(others) == 0 {
		return false
	}
	slices.Sort(others)
	median := others[(len(others)-1)/2]
	return float64(own) >= factor*float64(max(median, time.Millisecond))
}
