package health

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// slowFloor is how long answers must take on average to count as slow.
const slowFloor = 50 * time.Millisecond

// Set is the addresses of one endpoint. It is safe for concurrent use.
type Set struct {
	Region   string
	registry *Registry
	members  []*member
	snapshot atomic.Pointer[snapshot]
	rebuild  sync.Mutex
}

// member is an address at its place in a set.
type member struct {
	*Address
	index int
}

// view is how the members stand, until something changes or time passes.
type snapshot struct {
	generation  uint64
	until       time.Duration
	healthy     []*member // what to call
	usable      []*member // what to call where none is sound
	trials      []*member // half-open and nobody tries
	unconfirmed []*member // whose probes do not agree that they are out
	ramping     bool      // one of the sound is in its slow start
	nextTrial   time.Duration
}

// Addresses returns the addresses in their order.
func (s *Set) Addresses() []*Address {
	all := make([]*Address, len(s.members))
	for i, m := range s.members {
		all[i] = m.Address
	}
	return all
}

// look returns how the members stand now.
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

// survey makes a view.
func (s *Set) buildSnapshot(now time.Duration) *snapshot {
	for _, m := range s.members {
		m.Advance(now)
	}
	v := &snapshot{generation: s.registry.generation.Load(), until: math.MaxInt64, nextTrial: math.MaxInt64}
	spared := s.ignoredEjections()
	for _, m := range s.members {
		m.mu.Lock()
		shut := m.circuit.state != Closed
		switch {
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
		if !shut {
			v.usable = append(v.usable, m)
			if !m.probes.failing && (!m.ejection.on || spared[m]) {
				v.healthy = append(v.healthy, m)
				v.ramping = v.ramping || m.ramping
			}
		}
		m.mu.Unlock()
	}
	return v
}

// spared are the members whose ejection this set does not heed: there are more
// than may be, as another endpoint had them ejected.
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
	spared := map[*member]bool{}
	for _, m := range ejected[limit:] {
		spared[m] = true
	}
	return spared
}

// judge ejects a member whose calls speak against it, as far as that may be.
func (s *Set) considerEjection(m *member, now time.Duration, erring bool) {
	settings := s.registry.settings.Load()
	if len(s.members) < 2 || settings.Eject == 0 {
		return
	}
	reason, detail := ReasonErrors, "too many of its calls came to nothing or to a 5xx"
	if !erring {
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

// slow holds for a member that takes factor times as long as the median of the
// others.
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
