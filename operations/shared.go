package operations

import (
	"context"
	"time"

	"portico/inventory"
	"portico/limits"
)

// Shared is a kind of durable work that clients have made for them, and of which one
// caller has at most so many jobs under way on one replica: a job beyond them gives
// its slot back and comes again.
type Shared struct {
	Kind
	Shares *Shares
	// Caller names the one for whom a job is. Where it fails the job is nobody's, and
	// the kind will say what is wrong with it.
	Caller func(context.Context, inventory.Job) (string, error)
	Pause  time.Duration // until a job comes again
}

// Shares bounds the jobs of one kind, through all configurations.
type Shares struct {
	all   int
	slots *limits.Concurrency
}

// NewShares returns shares of one kind's jobs: as many for one caller as a replica
// works on of other kinds, and for all callers what part of the whole that is.
func NewShares(part float64) *Shares {
	all := int(slots / part)
	return &Shares{all, limits.NewConcurrency(all, slots, nil)}
}

// Run implements [Kind].
func (k Shared) Run(ctx context.Context, h *Held) (Verdict, error) {
	caller, err := k.Caller(ctx, h.Job)
	if err != nil {
		return k.Kind.Run(ctx, h)
	}
	if !k.Shares.slots.TryAcquire(caller) {
		return Verdict{Again: k.Pause}, nil
	}
	defer k.Shares.slots.Release(caller)
	return k.Kind.Run(ctx, h)
}

// Measure implements [Measured].
func (k Shared) Measure(ctx context.Context) error {
	if measured, ok := k.Kind.(Measured); ok {
		return measured.Measure(ctx)
	}
	return nil
}

// slotsOf is how many jobs of a kind one replica works on at a time in each region.
func slotsOf(k Kind) int {
	if shared, ok := k.(Shared); ok {
		return shared.Shares.all
	}
	return slots
}
