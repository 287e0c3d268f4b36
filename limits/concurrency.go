package limits

import (
	"context"
	"errors"
)

// Concurrency lets a number of holders in at a time, and of each caller's at most a
// share of them. It is safe for concurrent use.
type Concurrency struct{ budget budget }

// NewConcurrency returns a limit of n holders, of which one caller has at most so
// many; numbers below 1 count as 1. tally may be nil.
func NewConcurrency(n, perCaller int, tally *Stats) *Concurrency {
	n = max(1, n)
	c := &Concurrency{}
	c.budget.init(int64(n), int64(max(1, min(perCaller, n))), tally)
	return c
}

// Acquire waits for a slot, as long as ctx lasts. Without an error the caller owes a
// Release. The error is that of ctx and, where there was a wait, [ErrShare] or
// [ErrBusy] beside it.
func (c *Concurrency) Acquire(ctx context.Context, caller string) error {
	if err := ctx.Err(); err != nil {
		return err // also where a slot is free
	}
	c.budget.mu.Lock()
	w := c.budget.queue(caller, 1, nil)
	c.budget.mu.Unlock()
	if err := c.budget.wait(ctx, w); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// Try takes a slot if there is one for the caller, and nobody waits for it. If so the
// caller owes a Release.
func (c *Concurrency) TryAcquire(caller string) bool {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	w := c.budget.queue(caller, 1, nil)
	if !w.granted {
		c.budget.remove(w)
		c.budget.forget(w.account)
	}
	return w.granted
}

// Release gives a slot back that the caller has.
func (c *Concurrency) Release(caller string) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	c.budget.add(caller, -1)
}
