package health

import (
	"fmt"
	"math"
	"net/http"
	"time"
)

// Down tells that no address of an endpoint can be reached, so that nothing is
// worth sending.
type Down struct {
	Region string
	After  time.Duration // when it may be otherwise: 1 to 60 seconds
}

func (d *Down) Error() string {
	return fmt.Sprintf("no address in %s can be reached; the next trial is due within %v", d.Region, d.After)
}

// Bounds of when clients are asked to come again.
const (
	soonest = time.Second
	latest  = time.Minute
)

// Choice is an address chosen for a call. Whoever has it owes a Release.
type Choice struct {
	Index int // of the address in its set
	set   *Set
	trial uint64 // its number; 0: none
}

// Tried is a set of indexes. An index beyond 63 never belongs to it.
type Tried uint64

// With adds an index.
func (t Tried) With(index int) Tried {
	if index > 63 {
		return t
	}
	return t | 1<<index
}

func (t Tried) has(index int) bool { return index <= 63 && t&(1<<index) != 0 }

// Down is nil where there is somebody to call, else a *[Down].
func (s *Set) Down(now time.Duration) error {
	v := s.look(now)
	if len(v.usable) > 0 || len(v.trials) > 0 || len(v.doubtful) > 0 {
		return nil
	}
	return s.down(v, now)
}

func (s *Set) down(v *view, now time.Duration) error {
	after := soonest // somebody tries
	if v.next != math.MaxInt64 {
		after = v.next - now
	}
	after = (after + time.Second - 1).Truncate(time.Second)
	return &Down{s.Region, max(soonest, min(after, latest))}
}

// Choose takes an address for a call, by 64 random bits. Those tried already
// are not taken again: where nothing else is left, ok is false. The error is a
// *[Down].
func (s *Set) Choose(now time.Duration, random uint64, tried Tried) (c Choice, ok bool, err error) {
	v := s.look(now)
	if len(v.trials) > 0 && (len(v.sound) == 0 || !v.trials[0].probed()) {
		for _, m := range v.trials {
			if tried.has(m.index) {
				continue
			}
			if trial, mine := m.try(); mine {
				return s.choice(m, trial), true, nil
			}
		}
		v = s.look(now)
	}
	for _, some := range [...][]*member{v.sound, v.usable, v.doubtful} {
		if m := v.pick(some, now, random, tried); m != nil {
			return s.choice(m, 0), true, nil
		}
	}
	if tried != 0 {
		return Choice{}, false, nil
	}
	return Choice{}, false, s.down(v, now)
}

func (s *Set) choice(m *member, trial uint64) Choice {
	m.outstanding.Add(1)
	return Choice{m.index, s, trial}
}

// pick takes the less busy of two random members.
func (v *view) pick(of []*member, now time.Duration, random uint64, tried Tried) *member {
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
		aGives, bGives := a.gives(now, random>>32&math.MaxUint16), b.gives(now, random>>48)
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

// pickUntried takes the least busy, from a random one on.
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

// gives holds, by 16 random bits, for calls that an address in its slow start
// leaves to others: nine of ten in the beginning, none at the end.
func (m *member) gives(now time.Duration, random uint64) bool {
	slowStart := m.board.settings.Load().SlowStart
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ramping || now >= m.returned+slowStart {
		return false
	}
	part := max(0.1, float64(now-m.returned)/float64(slowStart))
	return float64(random) >= part*(math.MaxUint16+1)
}

func (m *member) probed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.probes.made
}

// try takes the one trial of a half-open circuit.
func (m *member) try() (trial uint64, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.circuit.state != HalfOpen || m.circuit.trying {
		return 0, false
	}
	m.trials++
	m.circuit.trying = true
	m.board.touch()
	return m.trials, true
}

func (c Choice) member() *member { return c.set.members[c.Index] }

// Connected notes that a connection was made for the call.
func (c Choice) Connected(now time.Duration) { c.member().connected(now) }

// Unreachable notes that none could be made. detail is for the log.
func (c Choice) Unreachable(now time.Duration, detail string) { c.member().unreachable(now, detail) }

// Answered notes the answer to the call and how long it took to begin.
func (c Choice) Answered(now, took time.Duration, status int) {
	m := c.member()
	bad := status >= http.StatusInternalServerError && status != http.StatusNotImplemented
	erring := m.count(now, took, bad, true)
	if erring || took > slowFloor {
		c.set.judge(m, now, erring)
	}
}

// Broke notes that the call came to nothing after it had a connection.
func (c Choice) Broke(now time.Duration) {
	if m := c.member(); m.count(now, 0, true, false) {
		c.set.judge(m, now, true)
	}
}

// Release ends the call. A trial that showed nothing is left to another one.
func (c Choice) Release() {
	m := c.member()
	m.outstanding.Add(-1)
	if c.trial == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.circuit.state == HalfOpen && m.circuit.trying && m.trials == c.trial {
		m.circuit.trying = false
		m.board.touch()
	}
}
