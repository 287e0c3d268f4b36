// Package health decides which address of an endpoint receives a call. It only keeps
// state: callers report the results of probes and calls, and it sends nothing itself.
// Times are durations since an arbitrary fixed moment.
//
// An address is taken out of use for one of three reasons.
//
//   - Its circuit is open: several connections in a row could not be made. After a
//     while one call, or a probe, tries it; if that connects the circuit closes, else
//     the next trial comes later.
//   - Its probes fail, whether they connect or not.
//   - It was ejected: it answered with too many errors, or much slower than the other
//     addresses of its endpoint. Each ejection lasts longer than the one before, and
//     only a share of an endpoint's addresses is ejected at once.
//
// An address that returns gets a growing part of the calls at first. Among healthy
// addresses, the less busy of two random ones is chosen.
//
// The last two reasons fail open: an endpoint that has lost all its addresses to them
// is called as if they were healthy. Only if neither calls nor probes can connect to
// any address is nothing sent: [Down]. An address that is out for maintenance is called
// last.
package health

import (
	"math"
	"net/http"
	"time"
)

// Choice is an address chosen for a call. The caller must release it.
type Choice struct {
	Index int // of the address in its set
	set   *Set
	trial uint64 // its number; 0: none
}

// Tried is a set of indexes. It never contains indexes above 63.
type Tried uint64

// With adds an index.
func (t Tried) With(index int) Tried {
	if index > 63 {
		return t
	}
	return t | 1<<index
}

func (t Tried) has(index int) bool { return index <= 63 && t&(1<<index) != 0 }

// Choose takes an address for a call, by 64 random bits. It does not choose
// addresses tried already; ok is false if no other is left. The error is a *[Down].
func (s *Set) Choose(now time.Duration, random uint64, tried Tried) (c Choice, ok bool, err error) {
	v := s.current(now)
	if v.triesFirst() {
		for _, m := range v.trials {
			if tried.has(m.index) {
				continue
			}
			if trial, mine := m.takeTrial(); mine {
				return s.choice(m, trial), true, nil
			}
		}
		v = s.current(now)
	}
	for _, some := range v.tiers() {
		if m := v.pick(some, now, random, tried); m != nil {
			return s.choice(m, 0), true, nil
		}
	}
	if tried != 0 {
		return Choice{}, false, nil
	}
	return Choice{}, false, s.downError(v, now)
}

// tiers returns the addresses to call, the best first.
func (v *snapshot) tiers() [4][]*member {
	return [...][]*member{v.healthy, v.usable, v.unconfirmed, v.drained}
}

// triesFirst reports whether the next call is the trial of a half-open circuit.
func (v *snapshot) triesFirst() bool {
	return len(v.trials) > 0 && (len(v.healthy) == 0 || !v.trials[0].isProbed())
}

// Candidates returns the indexes of the addresses that Choose may choose now,
// without choosing one. The error is a *[Down].
func (s *Set) Candidates(now time.Duration) ([]int, error) {
	v := s.current(now)
	if v.triesFirst() {
		return []int{v.trials[0].index}, nil
	}
	for _, some := range v.tiers() {
		if len(some) == 0 {
			continue
		}
		indexes := make([]int, len(some))
		for i, m := range some {
			indexes[i] = m.index
		}
		return indexes, nil
	}
	return nil, s.downError(v, now)
}

func (s *Set) choice(m *member, trial uint64) Choice {
	m.outstanding.Add(1)
	return Choice{m.index, s, trial}
}

// pick takes the less busy of two random members.
func (v *snapshot) pick(of []*member, now time.Duration, random uint64, tried Tried) *member {
	n := uint64(len(of))
	if tried != 0 {
		return pickUntried(of, random, tried)
	}
	switch n {
	case 0:
		return nil
	case 1:
		return of[0]
	}
	i := (random & math.MaxUint16) * n >> 16
	j := (random >> 16 & math.MaxUint16) * (n - 1) >> 16
	if j >= i {
		j++
	}
	a, b := of[i], of[j]
	if v.ramping {
		aGives, bGives := a.shedsCall(now, random>>32&math.MaxUint16), b.shedsCall(now, random>>48)
		if aGives != bGives {
			if aGives {
				return b
			}
			return a
		}
	}
	if b.outstanding.Load() < a.outstanding.Load() {
		return b
	}
	return a
}

// pickUntried takes the least busy member, starting at a random one.
func pickUntried(of []*member, random uint64, tried Tried) *member {
	var best *member
	for i := range of {
		m := of[(uint64(i)+random)%uint64(len(of))] //nolint:gosec // not negative
		if !tried.has(m.index) && (best == nil || m.outstanding.Load() < best.outstanding.Load()) {
			best = m
		}
	}
	return best
}

// shedsCall reports, by 16 random bits, whether an address in slow start
// leaves this call to another: nine of ten at first, none at the end.
func (m *member) shedsCall(now time.Duration, random uint64) bool {
	slowStart := m.registry.settings.Load().SlowStart
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ramping || now >= m.returnedAt+slowStart {
		return false
	}
	part := max(0.1, float64(now-m.returnedAt)/float64(slowStart))
	return float64(random) >= part*(math.MaxUint16+1)
}

func (m *member) isProbed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.probes.enabled
}

// takeTrial takes the only trial of a half-open circuit.
func (m *member) takeTrial() (trial uint64, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.circuit.state != HalfOpen || m.circuit.trialRunning {
		return 0, false
	}
	m.trials++
	m.circuit.trialRunning = true
	m.registry.invalidate()
	return m.trials, true
}

func (c Choice) member() *member { return c.set.members[c.Index] }

// Connected records that a connection was made for the call.
func (c Choice) Connected(now time.Duration) { c.member().recordConnection(now) }

// Unreachable records that no connection could be made; detail is for the log.
func (c Choice) Unreachable(now time.Duration, detail string) {
	c.member().recordUnreachable(now, detail)
}

// Answered records the status of the answer and the time until it began.
func (c Choice) Answered(now, took time.Duration, status int) {
	m := c.member()
	bad := status >= http.StatusInternalServerError && status != http.StatusNotImplemented
	tooManyErrors := m.recordCall(now, took, bad, true)
	if tooManyErrors || took > slowFloor {
		c.set.considerEjection(m, now, tooManyErrors)
	}
}

// Failed records that the call had a connection but got no answer.
func (c Choice) Failed(now time.Duration) {
	if m := c.member(); m.recordCall(now, 0, true, false) {
		c.set.considerEjection(m, now, true)
	}
}

// Release ends the call. A trial without a result becomes available again.
func (c Choice) Release() {
	m := c.member()
	m.outstanding.Add(-1)
	if c.trial == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.circuit.state == HalfOpen && m.circuit.trialRunning && m.trials == c.trial {
		m.circuit.trialRunning = false
		m.registry.invalidate()
	}
}
