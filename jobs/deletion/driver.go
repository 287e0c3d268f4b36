// Package deletion deletes many resources in the order that a [deletionplan.Queue] decides.
//
// A [Driver] reads the resources from the inventory, sends the DELETEs that are next, applies
// their results to the queue, and reads from the inventory what other jobs find out. The rows
// and intents there show what is left, so another replica can take the deletion over at any
// point. A [Kind] sends the DELETEs, records progress, and ends the deletion.
package deletion

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/internal/timing"
	"portico/inventory"
	"portico/jobs"
	"portico/jobs/deletion/deletionplan"
	"portico/limits"
	"portico/regions"
	"portico/routing"
	"portico/tracing/spans"
)

// Kind has the parts of a deletion that differ between its kinds.
type Kind interface {
	// Call returns the sender of a resource's DELETE.
	Call(*deletionplan.Resource) Sender
	// Answered records a result that was applied to the queue. Its error, or the result's, ends
	// the attempt.
	Answered(CallResult) error
	// Rows reads the resources to delete, as rows.
	Rows(ctx context.Context, each func(inventory.Resource) error) error
	// Unknown reports whether the queue must not be updated from a resource's row, because the
	// outcome of a call is still unknown, or was applied already.
	Unknown(context.Context, *deletionplan.Resource, inventory.Resource) (bool, error)
	// Failure returns the provider's error for an accepted deletion that failed.
	Failure(ctx context.Context, key string) (text string, err error)
	// Save records progress while calls are under way.
	Save(context.Context) error
	// End ends the deletion or its attempt, if it is over. late reports that its time has run
	// out. No call is under way.
	End(ctx context.Context, end deletionplan.End, late bool) (result jobs.Result, ended bool, err error)
	// Rest is called before a pause with nothing to do. It ends the attempt, unless the attempt is
	// to wait.
	Rest(ctx context.Context, pause time.Duration) (result jobs.Result, ended bool, err error)
}

// Sender sends one DELETE; senders run concurrently. It starts nothing once ctx has ended; a
// request that was sent goes on under calling.
type Sender func(ctx, calling context.Context) CallResult

// Driver is an attempt at a deletion.
type Driver struct {
	Kind
	Queue  *deletionplan.Queue
	Store  *inventory.Store
	Target func(inventory.Resource) (*routing.Request, *regions.Endpoint, error)

	Subscription, Group string
	// Fixed: resources that are found later are not deleted.
	Fixed bool
	Until time.Time // nothing is sent later
	Floor time.Duration
	// Watch returns the pause before the inventory is read again, after a number of pauses
	// without an answer.
	Watch  func(idle int) time.Duration
	PerJob int // calls under way
	Log    *zap.Logger
	Job    string // in the log

	writing map[string]string // the open writes of resources by key, without an answer yet
	stale   bool              // the queue has to be refreshed from the inventory
	answers chan CallResult
	calls   sync.WaitGroup
}

// CallResult is the result of a resource's call.
type CallResult struct {
	deletionplan.Result
	Key  string
	Text string // of a failure
	// Stale: the inventory has changed meanwhile.
	Stale bool
	// Apply records facts about the call for the kind, on the goroutine of Run; it may be nil.
	Apply func()
	Err   error // ends the attempt
}

// Result returns a result with only an outcome.
func Result(o deletionplan.Outcome) CallResult {
	return CallResult{Result: deletionplan.Result{Outcome: o}}
}

// Run makes calls and applies their results until the deletion can only wait, or has ended.
func (d *Driver) Run(ctx context.Context) (jobs.Result, error) {
	d.answers = make(chan CallResult, d.PerJob)
	calling, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer d.calls.Wait()
	defer cut()
	var failure error
	fail := func(err error) {
		if failure == nil && err != nil {
			failure = err
			// Cutting a call off leaves its outcome open, so that others would have to wait for it.
			time.AfterFunc(jobs.RecordTime, cut)
		}
	}
	idle, watch := 0, time.Now().Add(d.Watch(0))
	for {
		if fail(context.Cause(ctx)); failure == nil {
			d.send(ctx, calling)
		}
		if d.Queue.In(deletionplan.InFlight) == 0 {
			if failure != nil {
				return jobs.Result{}, failure
			}
			if result, ended, err := d.onIdle(ctx, calling, idle); ended || err != nil {
				return result, err
			}
			idle++
			continue
		}
		var ended <-chan struct{}
		if failure == nil {
			ended = ctx.Done()
		}
		select {
		case a := <-d.answers:
			if soon := time.Now().Add(d.Watch(0)); soon.Before(watch) {
				watch = soon
			}
			idle = 0
			fail(d.onAnswer(a))
		case <-time.After(time.Until(watch)):
			if failure == nil {
				fail(d.watchOver(ctx))
			}
			idle++
			watch = time.Now().Add(d.Watch(idle))
		case <-ended:
		}
	}
}

// late reports whether the deletion has taken too long.
func (d *Driver) late() bool { return d.Store.Now().After(d.Until) }

// send makes the calls that can be made now.
func (d *Driver) send(ctx, calling context.Context) (sent bool) {
	if d.late() {
		return false
	}
	members := d.Queue.Next(d.Store.Now())
	for _, m := range members {
		d.launch(ctx, calling, m, d.Call(m))
	}
	return len(members) > 0
}

func (d *Driver) launch(ctx, calling context.Context, m *deletionplan.Resource, send Sender) {
	key, id := m.Key, arm.Fold(m.ID)
	d.calls.Go(func() {
		a := Result(deletionplan.OutcomeUnsent)
		ctx, span := spans.Begin(ctx, spans.JobStep, "step delete")
		calling := spans.NewContext(calling, span)
		if p := limits.CatchPanic(func() { a = send(ctx, calling) }); p != nil { // Run waits for an answer all the same
			d.Log.Error("panic", zap.String("job", d.Job), zap.String("member", key), zap.Error(p))
			a.Stale = true
		}
		span.Text(spans.Resource, id)
		if span != nil {
			span.Text(spans.Outcome, a.Outcome.String())
		}
		span.End()
		a.Key = key
		d.answers <- a
	})
}

func (d *Driver) onAnswer(a CallResult) error {
	d.stale = d.stale || a.Stale
	if a.Outcome == deletionplan.OutcomeRefused {
		a.Blockers, a.Named = d.blockers(a.Key, a.Text)
	}
	if m := d.Queue.Resources[a.Key]; m != nil && a.Outcome == deletionplan.OutcomeTransient && d.Store.Drains.Is(m.Region) {
		a.Outcome = deletionplan.OutcomeUnreachable // which uses up no budget
	}
	if a.Apply != nil {
		a.Apply()
	}
	d.Queue.OnResult(a.Key, a.Result, d.Store.Now())
	return d.Answered(a)
}

// watchOver reads what other jobs have found, if that matters, and records progress.
func (d *Driver) watchOver(ctx context.Context) error {
	if d.AwaitsOthers() || d.stale {
		if err := d.Refresh(ctx); err != nil {
			return err
		}
	}
	return d.Save(ctx)
}

// onIdle decides what to do when no call is under way: end, go on, or wait.
func (d *Driver) onIdle(ctx, calling context.Context, idle int) (result jobs.Result, ended bool, err error) {
	if !d.Fixed || d.AwaitsOthers() || d.stale {
		if err := d.Refresh(ctx); err != nil {
			return jobs.Result{}, true, err
		}
	}
	result, ended, err = d.End(ctx, d.Queue.End(), d.late())
	if ended || err != nil || d.send(ctx, calling) {
		return result, ended, err
	}
	pause := d.pause(idle)
	if result, ended, err = d.Rest(ctx, pause); ended || err != nil {
		return result, ended, err
	}
	return jobs.Result{}, false, timing.Sleep(ctx, pause)
}

// AwaitsOthers reports whether the deletion waits for the findings of other jobs.
func (d *Driver) AwaitsOthers() bool { return d.Queue.In(deletionplan.Accepted)+d.Queue.Busy() > 0 }

// pause returns how long there is nothing to do.
func (d *Driver) pause(idle int) time.Duration {
	pause := deletionplan.LongestWait
	if d.AwaitsOthers() {
		pause = d.Watch(idle)
	}
	if at, waits := d.Queue.Wake(); waits {
		pause = max(d.Floor, min(pause, at.Sub(d.Store.Now())))
	}
	return max(min(pause, d.Until.Sub(d.Store.Now())), time.Millisecond)
}
