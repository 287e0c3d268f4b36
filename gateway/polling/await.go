package polling

import (
	"context"
	"time"

	"portico/gateway/exchange"
	"portico/inventory/jobrow"
	"portico/limits"
)

// Jobs runs Portico's own operations alongside the requests.
type Jobs interface {
	Nudge(kind string)
	WatchEnd(job [16]byte) (ended <-chan struct{}, stop func())
}

// Waits bounds the requests that wait for the end of the operations they began.
type Waits struct {
	slots *limits.Concurrency
	ended <-chan struct{}
	// End ends all waits, present and future, as the gateway drains.
	End func()
}

// NewWaits returns Waits for n requests, at most perCaller of one caller.
func NewWaits(n, perCaller int) *Waits {
	ctx, end := context.WithCancel(context.Background())
	return &Waits{limits.NewConcurrency(n, perCaller, nil), ctx.Done(), end}
}

// tryAcquire reports whether the caller may wait, and takes a slot if so. Nil Waits have
// none.
func (w *Waits) tryAcquire(caller string) bool { return w != nil && w.slots.TryAcquire(caller) }

// firstRead is the time before a job's row is read for the first time. The interval
// doubles with each further read.
const firstRead = 250 * time.Millisecond

// Await has the job of a request's operation run at once, and waits for its end. The
// runner of this process signals the end; a few reads of the store detect jobs that
// another replica ended. Await returns the ended job. A part of a batch or a deployment
// does not wait, as the batch has others to send, nor does a caller that has as many
// waits as it may.
func (o *Operations) Await(ctx context.Context, x *exchange.Exchange, job jobrow.Job) (now jobrow.Job, ended bool) {
	signal, stop := o.Jobs.WatchEnd(job.ID)
	defer stop()
	o.Jobs.Nudge(job.Kind)
	caller, longest := x.Caller(), o.Settings.FirstAnswer
	if longest <= 0 || x.Inner() || !o.Waits.tryAcquire(caller) {
		return job, false
	}
	defer o.Waits.slots.Release(caller)
	began := time.Now()
	defer func() { x.Waited += time.Since(began) }()
	for waited := time.Duration(0); waited < longest; {
		pause := min(max(waited, firstRead), longest-waited)
		select {
		case <-ctx.Done():
			return job, false
		case <-o.Waits.ended:
			return job, false
		case <-signal:
			waited = longest
		case <-time.After(pause):
			waited += pause
		}
		now, err := o.Store.Jobs.Get(ctx, job.Subscription, job.ID)
		if err != nil {
			x.Warn("could not wait for the end of an operation", err)
			return job, false
		}
		if now.State.Ended() {
			return now, true
		}
	}
	return job, false
}
