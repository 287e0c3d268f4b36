package jobs

import (
	"context"
	"sync"
	"time"

	"portico/internal/timing"
	"portico/inventory/jobrow"
)

// notClaimed is the log message for failed queries or claims.
const notClaimed = "jobs could not be claimed"

// worker works on the jobs of one kind. It claims when it is nudged, by watchDue or by
// the creator of a job, and when a slot is freed while more jobs are due.
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
	more := false // more may be due than could be claimed
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
			w.slots.take(job.Region)
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
	c.jobs, c.more, err = w.Store.Jobs.ClaimByRegion(ctx, w.Owner, w.Lease, w.name, w.slots.room())
	return c, err
}
