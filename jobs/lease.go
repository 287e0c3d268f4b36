package jobs

import (
	"context"
	"errors"
	"time"

	"portico/internal/timing"
	"portico/inventory/jobrow"
)

var errLeaseLost = errors.New("the lease was lost")

// lease is a holder's view of its lease. It counts from before the claim or renewal was
// sent, so that the holder gives it up before others consider it over.
type lease struct {
	store  *jobrow.Jobs
	length time.Duration
	job    jobrow.Job // for renewals; the kind has its own copy
	since  time.Time  // from when the lease counts
}

// keep renews the lease at a third of its length until ctx ends. When the
// lease is lost, or is over before a renewal worked, it stops the work.
func (l *lease) keep(ctx context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(max(l.length/10, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		passed := timing.Elapsed(l.since, time.Now())
		if passed >= l.length {
			stop(errLeaseLost)
			return
		}
		if passed < l.length/3 {
			continue
		}
		if errors.Is(l.renew(ctx, l.length-passed), jobrow.ErrLeaseLost) {
			stop(errLeaseLost)
			return
		}
	}
}

// renew tries once, for no longer than the lease lasts.
func (l *lease) renew(ctx context.Context, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	before := time.Now()
	err := l.store.Renew(ctx, &l.job, l.length)
	if err == nil {
		l.since = before
	}
	return err
}
