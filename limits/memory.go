package limits

import (
	"context"
	"sync/atomic"
	"time"
)

// MemorySlack is added to every limit. It leaves room for the byte that shows that an answer is too
// long.
const MemorySlack = 64 << 10

// Memory limits the bytes of buffered bodies, in total and per caller. Only empty reservations may
// wait; others are refused immediately, so that waits cannot deadlock. It is safe for concurrent
// use.
type Memory struct{ budget budget }

// NewMemory returns a limit of that many bytes, at most perCaller of them for one caller. stats may
// be nil.
func NewMemory(bytes, perCaller int64, stats *Stats) *Memory {
	m := &Memory{}
	m.budget.init(bytes+MemorySlack, perCaller+MemorySlack, stats)
	return m
}

// Reservation is the memory of one holder, charged to its caller. It must be closed.
type Reservation struct {
	memory      *Memory
	caller      string
	limit, held int64 // guarded by memory.budget.mu
}

// Reservation returns an empty reservation for a caller, which never holds more than limit.
func (m *Memory) Reservation(caller string, limit int64) *Reservation {
	return &Reservation{memory: m, caller: caller, limit: limit + MemorySlack}
}

// Free returns the number of free bytes.
func (m *Memory) Free() int64 {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	return m.budget.free - MemorySlack
}

// Grow adds n bytes. It waits only if the reservation is empty, until ctx ends. The error is
// [ErrNoRoom] or [ErrBusy], joined with [ErrCallerShare] if the caller's own share is used up.
func (r *Reservation) Grow(ctx context.Context, n int64) error {
	w, err := r.grow(n)
	if w == nil {
		return err
	}
	return r.memory.budget.wait(ctx, w)
}

// GrowWithin does what Grow does, but waits no longer than longest.
func (r *Reservation) GrowWithin(ctx context.Context, n int64, longest time.Duration) error {
	w, err := r.grow(n)
	if w == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return r.memory.budget.wait(ctx, w)
}

// grow takes n bytes, or returns an error, or a wait.
func (r *Reservation) grow(n int64) (*waiter, error) {
	b := &r.memory.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.held+n > r.limit {
		return nil, ErrNoRoom
	}
	// Empty reservations queue. Others may overtake them, because the queue moves only when those
	// release memory.
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
	return b.enqueue(r.caller, n, r), nil
}

// TryGrow adds n bytes without waiting. It also fails while others wait.
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

// ForceGrow adds n bytes even if they do not fit. Use it for small amounts that cannot be known in
// advance.
func (r *Reservation) ForceGrow(n int64) {
	r.memory.budget.mu.Lock()
	defer r.memory.budget.mu.Unlock()
	r.held += n
	r.memory.budget.adjustHeld(r.caller, n)
}

// Shrink releases n bytes.
func (r *Reservation) Shrink(n int64) {
	r.memory.budget.mu.Lock()
	defer r.memory.budget.mu.Unlock()
	r.shrink(n)
}

// Close releases all bytes held.
func (r *Reservation) Close() {
	r.memory.budget.mu.Lock()
	defer r.memory.budget.mu.Unlock()
	r.shrink(r.held)
}

func (r *Reservation) shrink(n int64) {
	r.held -= n
	r.memory.budget.adjustHeld(r.caller, -n)
}

// Size returns the number of bytes held.
func (r *Reservation) Size() int64 {
	r.memory.budget.mu.Lock()
	defer r.memory.budget.mu.Unlock()
	return r.held
}

// Stats counts waits and refusals of one or more budgets. The zero value is ready for use.
type Stats struct{ waiting, refusedShare, refusedAll atomic.Int64 }

// Waiting returns the number of current waits.
func (t *Stats) Waiting() int64 { return t.waiting.Load() }

// RefusedForShare returns the number of refusals because a caller's share was used up.
func (t *Stats) RefusedForShare() int64 { return t.refusedShare.Load() }

// RefusedForAll returns the number of refusals because the whole budget was used up.
func (t *Stats) RefusedForAll() int64 { return t.refusedAll.Load() }
