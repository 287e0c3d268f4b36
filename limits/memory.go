package limits

import (
	"context"
	"sync/atomic"
	"time"
)

// MemorySlack is added to every bound: room for the byte that shows an answer to be
// too long.
const MemorySlack = 64 << 10

// Memory bounds the bytes that buffered answers or contents hold, together and per
// caller. Only a reservation that holds nothing may wait; one that holds something
// is refused at once, so that waiters never wait for each other. It is safe for
// concurrent use.
type Memory struct{ budget budget }

// NewMemory returns a memory of so many bytes, perCaller of them for one caller.
// stats may be nil.
func NewMemory(bytes, perCaller int64, stats *Stats) *Memory {
	m := &Memory{}
	m.budget.init(bytes+MemorySlack, perCaller+MemorySlack, stats)
	return m
}

// Reservation is what one holder has of a memory, charged to its caller. It must be
// closed.
type Reservation struct {
	memory      *Memory
	caller      string
	limit, held int64 // guarded by memory.budget.mu
}

// Reservation returns an empty reservation of a caller that never holds more than
// limit.
func (m *Memory) Reservation(caller string, limit int64) *Reservation {
	return &Reservation{memory: m, caller: caller, limit: limit + MemorySlack}
}

// Free returns how many bytes are free.
func (m *Memory) Free() int64 {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	return m.budget.free - MemorySlack
}

// Grow adds n bytes. It waits, until ctx ends, only if nothing is held. The error is
// [ErrNoRoom] or [ErrBusy], with [ErrCallerShare] if the caller's own share is used
// up.
func (r *Reservation) Grow(ctx context.Context, n int64) error {
	w, err := r.grow(n)
	if w == nil {
		return err
	}
	return r.memory.budget.wait(ctx, w)
}

// GrowWithin is Grow that waits no longer than a time.
func (r *Reservation) GrowWithin(ctx context.Context, n int64, longest time.Duration) error {
	w, err := r.grow(n)
	if w == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return r.memory.budget.wait(ctx, w)
}

// grow takes n bytes, or says why not, or returns what has to be waited for.
func (r *Reservation) grow(n int64) (*waiter, error) {
	b := &r.memory.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.held+n > r.limit {
		return nil, ErrNoRoom
	}
	// Empty reservations queue. The others may overtake them, since the queue moves
	// only when they release memory.
	if r.held > 0 {
		err := b.tryTake(r.caller, n)
		if err == nil {
			r.held += n
		}
		return nil, err
	}
	if b.takeUncontended(r.caller, n) {
		r.held += n
		return nil, nil
	}
	return b.queue(r.caller, n, r), nil
}

// TryGrow is Grow that never waits: it fails also where others wait.
func (r *Reservation) TryGrow(n int64) bool {
	b := &r.memory.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.held+n > r.limit || !b.takeUncontended(r.caller, n) {
		return false
	}
	r.held += n
	return true
}

// ForceGrow adds n bytes even if they do not fit, for small amounts that cannot be
// foreseen.
func (r *Reservation) ForceGrow(n int64) {
	r.memory.budget.mu.Lock()
	defer r.memory.budget.mu.Unlock()
	r.held += n
	r.memory.budget.add(r.caller, n)
}

// Shrink returns n bytes.
func (r *Reservation) Shrink(n int64) {
	r.memory.budget.mu.Lock()
	defer r.memory.budget.mu.Unlock()
	r.shrink(n)
}

// Close returns all bytes held.
func (r *Reservation) Close() {
	r.memory.budget.mu.Lock()
	defer r.memory.budget.mu.Unlock()
	r.shrink(r.held)
}

func (r *Reservation) shrink(n int64) {
	r.held -= n
	r.memory.budget.add(r.caller, -n)
}

// Size returns the number of bytes held.
func (r *Reservation) Size() int64 {
	r.memory.budget.mu.Lock()
	defer r.memory.budget.mu.Unlock()
	return r.held
}

// Stats counts waits and refusals of a budget, or of several of one kind. The zero
// value is ready for use.
type Stats struct{ waiting, refusedShare, refusedAll atomic.Int64 }

// Waiting returns the number of current waits.
func (t *Stats) Waiting() int64 { return t.waiting.Load() }

// RefusedForShare counts refusals because the caller's share was used up.
func (t *Stats) RefusedForShare() int64 { return t.refusedShare.Load() }

// RefusedForAll counts refusals because the whole budget was used up.
func (t *Stats) RefusedForAll() int64 { return t.refusedAll.Load() }
