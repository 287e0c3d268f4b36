package jobs

import (
	"context"
	"time"

	"portico/limits"
)

// shareRecheck is the least pause before the next attempt at a job that found its
// caller's share taken.
const shareRecheck = time.Second

// shares bounds the jobs of a Commissioned kind that one replica works on for one
// caller. A job beyond the bound gives its slot back and is tried again later.
type shares struct {
	all     int // jobs at a time, of all callers
	callers *limits.Concurrency
	recheck time.Duration
}

// newShares gives one caller as many jobs as a replica works on of other kinds. The
// number for all callers is so large that this is the given part of it.
func newShares(part float64, recheck time.Duration) *shares {
	all := limits.FullBudget(slots, part)
	return &shares{all, limits.NewConcurrency(all, slots, nil), recheck}
}

// run makes an attempt if the job's caller has room left in its share.
func (s *shares) run(ctx context.Context, kind Kind, claim *Claim) (Result, error) {
	commissioned, ok := kind.(Commissioned)
	if s == nil || !ok {
		return kind.Run(ctx, claim)
	}
	caller, err := commissioned.Caller(ctx, claim.Job)
	if err != nil {
		return kind.Run(ctx, claim)
	}
	if !s.callers.TryAcquire(caller) {
		return Result{Again: s.recheck}, nil
	}
	defer s.callers.Release(caller)
	return kind.Run(ctx, claim)
}
