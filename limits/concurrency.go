package limits

import (
	"context"
	"errors"
)

// Concurrency is a semaphore with a limit per caller. It is safe for concurrent use.
type Concurrency struct{ budget budget }

// NewConcurrency returns a semaphore of n slots, at most perCaller of them for one caller. Numbers
// below 1 count as 1. stats may be nil.
func NewConcurrency(n, perCaller int, stats *Stats) *Concurrency {
	n = max(1, n)
	c := &Concurrency{}
	c.budget.init(int64(n), int64(max(1, min(perCaller, n))), stats)
	return c
}

// Queue limits the number of waits, in total and per caller.
type Queue struct{ All, PerCaller int }

// Acquire waits for a slot until ctx ends. On success the caller must call Release. If ctx ended,
// the error is its error, joined with [ErrBusy] or [ErrCallerShare] after a wait.
func (c *Concurrency) Acquire(ctx context.Context, caller string) error {
	return c.acquire(ctx, caller, nil)
}

// AcquireWithin acts as Acquire with a limit for the queue. If the queue is full, the latest wait of the
// caller with the most waits ends. A wait that ends so, or that the queue rejects, returns
// [ErrNoRoom], with [ErrCallerShare] if its caller had too many waits.
func (c *Concurrency) AcquireWithin(ctx context.Context, caller string, q Queue) error {
	return c.acquire(ctx, caller, &q)
}

func (c *Concurrency) acquire(ctx context.Context, caller string, q *Queue) error {
	if err := ctx.Err(); err != nil {
		return err // even if a slot is free
	}
	c.budget.mu.Lock()
	if c.budget.takeUncontended(caller, 1) {
		c.budget.mu.Unlock()
		return nil
	}
	w := c.budget.enqueue(caller, 1, nil)
	if q != nil && !w.granted {
		c.budget.trimQueue(w, *q)
	}
	c.budget.mu.Unlock()
	if err := c.budget.wait(ctx, w); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// TryAcquire takes a slot if one is free and no other call waits for it. On success the caller must
// call Release.
func (c *Concurrency) TryAcquire(caller string) bool {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	if c.budget.takeUncontended(caller, 1) {
		return true
	}
	w := c.budget.enqueue(caller, 1, nil)
	if !w.granted {
		c.budget.remove(w)
		c.budget.dropIfUnused(w.account)
	}
	return w.granted
}

// Release returns a slot of the caller.
func (c *Concurrency) Release(caller string) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	c.budget.adjustHeld(caller, -1)
}
