package limits

import "context"

// Concurrency lets a number of holders in at a time. It is safe for concurrent
// use.
type Concurrency struct{ slots chan struct{} }

// NewConcurrency returns a limit of n holders; n below 1 counts as 1.
func NewConcurrency(n int) *Concurrency {
	return &Concurrency{make(chan struct{}, max(1, n))}
}

// Acquire waits for a slot, as long as ctx lasts. Without an error the caller
// owes a Release.
func (c *Concurrency) Acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // also where a slot is free
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release gives a slot back.
func (c *Concurrency) Release() { <-c.slots }
