package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"portico/internal/timing"
	"portico/inventory/jobrow"
)

// notClaimed is the log message for failed queries or claims.
const notClaimed = "jobs could not be claimed"

// worker works on the jobs of one kind. It claims when it is nudged, by the scheduler or
// by the creator of a job, and when a slot is freed while more jobs are due.
type worker struct {
	*Runner
	name   string
	nudges chan struct{}
	shares *shares // nil unless the kind is Commissioned
	slots  *regionSlots
}

func newWorker(r *Runner, name string, kind Kind) *worker {
	w := &worker{Runner: r, name: name, nudges: make(chan struct{}, 1), slots: newRegionSlots(slots)}
	if _, ok := kind.(Commissioned); ok {
		w.shares = newShares(r.CallerShare, max(r.Floor, shareRecheck))
		w.slots = newRegionSlots(w.shares.all)
	}
	return w
}

func (w *worker) run(ctx context.Context) {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	warning := throttledWarning{log: w.Log, what: notClaimed}
	more := false // more jobs may be due than found a slot
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.slots.freed:
			if !more {
				continue
			}
		case <-w.nudges:
		}
		due, err := w.claim(ctx)
		more = due.more
		for _, job := range due.jobs {
			w.slots.occupy(job.Region)
			attempts.Go(func() {
				defer w.slots.release(job.Region)
				w.attempt(ctx, job, due.since)
			})
		}
		if pause := warning.after(ctx, err); pause > 0 && timing.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// claimed are the jobs of one claim. Their leases count from before the claim was sent.
type claimed struct {
	jobs  []jobrow.Job
	more  bool // jobs may be due that found no slot
	since time.Time
}

// claim claims the due jobs that find a slot. The lease bounds its time: jobs claimed
// later would be lost already.
func (w *worker) claim(ctx context.Context) (c claimed, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.Lease)
	defer cancel()
	c.since = time.Now()
	c.jobs, c.more, err = w.Store.Jobs.ClaimByRegion(ctx, w.Owner, w.Lease, w.name, w.slots.roomCheck())
	return c, err
}

var errLeaseLost = errors.New("the lease was lost")

// lease is a holder's view of its lease on a job. It counts from before the claim or
// renewal was sent, so that the holder stops before another replica may claim the job.
// Stopping the work has to end the context of renewUntilDone.
type lease struct {
	store  *jobrow.Jobs
	length time.Duration
	job    jobrow.Job // for renewals; the kind has its own copy
	since  time.Time  // from when the lease counts
}

// renewUntilDone renews the lease at a third of its length until ctx ends. It stops the work when
// the lease is lost, or runs out before a renewal succeeded.
func (l *lease) renewUntilDone(ctx context.Context, stop context.CancelCauseFunc) {
	interval := max(l.length/10, time.Millisecond)
	tick(ctx, interval, interval, func() {
		passed := timing.Elapsed(l.since, time.Now())
		if passed >= l.length {
			stop(errLeaseLost)
			return
		}
		if passed >= l.length/3 && errors.Is(l.renew(ctx, l.length-passed), jobrow.ErrLeaseLost) {
			stop(errLeaseLost)
		}
	})
}

// renew tries to renew the lease once, while it lasts.
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
