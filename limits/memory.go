package limits

import "context"

// MemorySlack is what there is beyond every number of bytes: room for the byte
// by which an answer is known to be too long.
const MemorySlack = 64 << 10

// Memory is what many answers, or contents, together may hold, in bytes, and of it
// what one caller's may. What holds nothing may wait for some; what holds something
// takes what there is or goes without, so that nobody waits for a waiting one. It is
// safe for concurrent use.
type Memory struct{ budget budget }

// NewMemory returns a memory of so many bytes, of which one caller has at most so
// many. tally may be nil.
func NewMemory(bytes, perCaller int64, tally *Stats) *Memory {
	m := &Memory{}
	m.budget.init(bytes+MemorySlack, perCaller+MemorySlack, tally)
	return m
}

// MemoryShare is what one holder has of a memory, on its caller's account. It must be
// closed.
type Reservation struct {
	memory      *Memory
	caller      string
	limit, held int64 // guarded by memory.budget.mu
}

// Share returns an empty share of a caller's that never holds more than limit.
func (m *Memory) Reservation(caller string, limit int64) *Reservation {
	return &Reservation{memory: m, caller: caller, limit: limit + MemorySlack}
}

// Free is how much nobody holds.
func (m *Memory) Free() int64 {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	return m.budget.free - MemorySlack
}

// Take adds n bytes to what is held. It waits, as long as ctx lasts, only where
// nothing is held. The error is [ErrNoRoom] or [ErrBusy], and [ErrShare] as well
// where it is the caller's own share that is used up.
func (s *Reservation) Grow(ctx context.Context, n int64) error {
	b := &s.memory.budget
	b.mu.Lock()
	if s.held+n > s.limit {
		b.mu.Unlock()
		return ErrNoRoom
	}
	// Shares that hold nothing queue up; the others may pass them, for only with
	// what they give back the queue moves on.
	if s.held > 0 {
		defer b.mu.Unlock()
		err := b.tryTake(s.caller, n)
		if err == nil {
			s.held += n
		}
		return err
	}
	w := b.queue(s.caller, n, s)
	b.mu.Unlock()
	return b.wait(ctx, w)
}

// Force adds n bytes to what is held, whether there is room or not: for the
// little that cannot be foreseen.
func (s *Reservation) ForceGrow(n int64) {
	s.memory.budget.mu.Lock()
	defer s.memory.budget.mu.Unlock()
	s.held += n
	s.memory.budget.add(s.caller, n)
}

// Give returns n bytes of what is held.
func (s *Reservation) Shrink(n int64) {
	s.memory.budget.mu.Lock()
	defer s.memory.budget.mu.Unlock()
	s.shrink(n)
}

// Close returns all that is held.
func (s *Reservation) Close() {
	s.memory.budget.mu.Lock()
	defer s.memory.budget.mu.Unlock()
	s.shrink(s.held)
}

func (s *Reservation) shrink(n int64) {
	s.held -= n
	s.memory.budget.add(s.caller, -n)
}

// Holds is how much is held.
func (s *Reservation) Size() int64 {
	s.memory.budget.mu.Lock()
	defer s.memory.budget.mu.Unlock()
	return s.held
}
