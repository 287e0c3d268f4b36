package polling

import (
	"context"
	"time"

	"portico/gateway/exchange"
	"portico/inventory/jobrow"
	"portico/limits"
)

// Jobs work on operations of Portico's own alongside the requests.
type Jobs interface {
	Nudge(kind string)
	WatchEnd(job [16]byte) (ended <-chan struct{}, stop func())
}

// Waits bound the requests that wait for the end of what they began.
type Waits struct {
	places *limits.Concurrency
	over   <-chan struct{}
	// End ends all waits, and those to come: the gateway drains.
	End func()
}

// NewWaits returns the waits of so many requests, perCaller of them of one caller.
func NewWaits(n, perCaller int) *Waits {
	ctx, end := context.WithCancel(context.Background())
	return &Waits{limits.NewConcurrency(n, perCaller, nil), ctx.Done(), end}
}

// begin takes a place for a wait, if there is one. Nil waits have none.
func (w *Waits) begin(caller string) bool { return w != nil && w.places.TryAcquire(caller) }

// firstRead is the time after which a job's row is read first. Each further read comes
// after twice the time.
const firstRead = 250 * time.Millisecond

// Await has the job of an operation that a request began worked on at once, and waits for
// its end, which the runner of this process reports; a few reads show what another replica
// ended. It returns the ended job. A part of a batch or a deployment does not wait, as that has
// others to send, nor does one whose caller has as many waits as it may have.
func (o *Operations) Await(ctx context.Context, x *exchange.Exchange, job jobrow.Job) (now jobrow.Job, ended bool) {
	signal, stop := o.Jobs.WatchEnd(job.ID)
	defer stop()
	o.Jobs.Nudge(job.Kind)
	caller, longest := x.Caller(), o.Settings.FirstAnswer
	if longest <= 0 || x.Inner() || !o.Waits.begin(caller) {
		return job, false
	}
	defer o.Waits.places.Release(caller)
	began := time.Now()
	defer func() { x.Waited += time.Since(began) }()
	for waited := time.Duration(0); waited < longest; {
		pause := min(max(waited, firstRead), longest-waited)
		select {
		case <-ctx.Done():
			return job, false
		case <-o.Waits.over:
			return job, false
		case <-signal:
			waited = longest
		case <-time.After(pause):
			waited += pause
		}
		now, err := o.Store.Jobs.Job(ctx, job.Subscription, job.ID)
		if err != nil {
			x.Warn("the end of an operation was not waited for", err)
			return job, false
		}
		if now.State.Ended() {
			return now, true
		}
	}
	return job, false
}
