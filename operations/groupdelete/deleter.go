// Package groupdelete deletes the resources of a group, and then the group.
//
// A [plan.Plan] decides which resource is next, and what a refusal of one means for the
// others. An attempt drives the plan: it makes the calls, each an intent in the
// inventory like a client's write. Another replica can take the deletion over at any
// point, because rows, strays and intents alone say what is left.
//
// A caller who may delete the group may delete all that it holds, as in ARM: no right to
// a single resource is checked, and the deletion goes on when its caller loses the right.
// It was accepted as a whole, half a group is of no use, and its resources were closed to
// writes from the beginning.
package groupdelete

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/arm"
	"portico/events"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/limits"
	"portico/locate"
	"portico/operations/groupdelete/plan"
	"portico/routing"
	"portico/tracing/spans"
)

// EmptinessCheck asks a group's providers whether the group is empty; see
// [inventory.DeleteGroupConditions].
type EmptinessCheck interface {
	// Judge allows the group to go if every place was looked at. It runs in the
	// closing transaction.
	Judge(inventory.Group, []inventory.WrittenRegion) error
	// Look lists the places that a refusal of Judge names, and adopts the resources
	// there. It reports whether the refusal was Judge's. An error means that a provider
	// gave no answer.
	Look(ctx context.Context, refusal error) (bool, error)
}

// Deleter deletes groups (arm.ResourceGroupDeletionBlocked and its kin say how a
// deletion can end).
//
// Each attempt makes a plan from the inventory and drives it until it can only wait.
// Rows, strays and intents say what is left; the job and its members only record
// failures.
type Deleter struct {
	Prober         locate.Prober
	EmptinessCheck func(Payload) EmptinessCheck
	Sender         string // which replica sends
	Region         string // of the front door, for the ids of its calls
	PerEndpoint    int    // calls under way per endpoint, of one caller's deletions on this replica
	AtEndpoint     int    // and of all callers'; at least PerEndpoint
	PerJob         int    // calls under way of one deletion
	Budget         time.Duration
	Limit          time.Duration // of a deletion as a whole
	// SendWithin and CallLimit are the times after its intent within which a call may
	// begin, and may still send.
	SendWithin, CallLimit time.Duration

	Floor time.Duration // the least time between two calls for the same member
	Log   *zap.Logger

	metrics *metrics
	slots   *limits.Endpoints
}

// Start implements [jobs.Lasting].
func (d *Deleter) Start(registry prometheus.Registerer) {
	d.metrics, d.slots = newMetrics(registry), limits.NewEndpoints(d.AtEndpoint, d.PerEndpoint)
}

// Succeed implements [jobs.Lasting].
func (d *Deleter) Succeed(before jobs.Kind) {
	b := before.(*Deleter)
	d.metrics, d.slots = b.metrics, b.slots
	if d.PerEndpoint != b.PerEndpoint || d.AtEndpoint != b.AtEndpoint {
		d.slots = limits.NewEndpoints(d.AtEndpoint, d.PerEndpoint)
	}
}

// Caller implements [jobs.Commissioned].
func (d *Deleter) Caller(_ context.Context, job jobrow.Job) (string, error) {
	c, err := jobs.CommissionOf(job)
	return c.Caller.Caller(), err
}

// longestWait bounds the pause before a member is tried again, unless its provider
// asked for one.
const longestWait = 15 * time.Second

func (d *Deleter) limits() plan.Limits {
	return plan.Limits{PerEndpoint: d.PerEndpoint, PerJob: d.PerJob, Budget: d.Budget, Pause: d.Floor, Longest: longestWait}
}

// Progress is the progress of a deletion.
type Progress = plan.Progress

// Wait is one thing that a deletion waits for.
type Wait = plan.Wait

// Payload is the payload of a group deletion's job.
type Payload struct {
	Group       string   `json:"group"` // as it was written
	Incarnation [16]byte `json:"incarnation"`
	jobs.Commission
	Progress plan.Progress `json:"progress"`
	Waits    []plan.Wait   `json:"waits,omitempty"`
	// Canceling: Waits are what a deletion that is being canceled waits for.
	Canceling bool `json:"canceling,omitempty"`
	// Saved is when Progress was recorded: it does not include later members.
	Saved time.Time `json:"saved,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Fault is the error that the deletion ended with, as clients get it.
	Fault json.RawMessage `json:"fault,omitempty"`
}

// String returns the payload as it is stored.
func (p Payload) String() string { return jobrow.PayloadOf(p) }

// ReadPayload reads the payload of a deletion's job.
func ReadPayload(j jobrow.Job) (p Payload, err error) {
	err = j.Read(&p)
	if j.State == jobrow.Cancelling && !p.Canceling { // it waits no longer for what it waited for before
		p.Waits, p.Progress.WaitingFor = nil, nil
	}
	return p, err
}

// Describe implements [jobs.Kind].
func (d *Deleter) Describe() jobs.Description {
	return jobs.Description{
		Cancellable: true, AfterRestore: jobs.Cancelled, Parts: true,
		Limit: d.Limit, LimitSetting: "groupDelete.limit",
		Problems: jobs.Problems{TooLong: "groupDeleteTooLong", Waiting: "groupDeleteWaiting", Slow: "groupDeleteSlow", Subject: "The deletion of a group"},
		Reason:   "deletionUnderWay", Message: "The group is being deleted with all that it holds.",
		Refusals: []arm.Code{arm.ResourceGroupBeingDeleted}, HeldAt: d.heldAt, Show: show,
	}
}

// heldAt finds the deletion of the group that a path lies in.
func (d *Deleter) heldAt(ctx context.Context, path *arm.Path) ([]jobs.Hold, error) {
	if path.Group() == "" {
		return nil, nil
	}
	group, err := d.Prober.Store.Group(ctx, path.Subscription(), path.Group())
	if errors.Is(err, inventory.ErrNotFound) || err == nil && group.State != index.GroupDeleting {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return jobs.HoldOf(ctx, d.Prober.Store, group.Subscription, group.Generation, routing.GroupID(path.Subscription(), group.Name))
}

func show(j jobrow.Job) jobs.Standing {
	p, err := ReadPayload(j)
	if err != nil {
		return jobs.Standing{} // the job's attempts report the fault
	}
	progress := p.Progress
	s := jobs.Standing{
		On: routing.GroupID(j.Subscription, p.Group), Done: progress.Deleted, Of: progress.Total, WaitingFor: progress.WaitingFor,
		Outcome: fmt.Sprintf("%d of %d resources are deleted.", progress.Deleted, progress.Total),
		Left:    fmt.Sprintf("%d of %d resources are left, %d of them refused to go", progress.Total-progress.Deleted, progress.Total, progress.Parked),
	}
	if n := progress.Parked; n > 0 {
		s.Outcome += fmt.Sprintf(" %d were refused by their providers.", n)
	}
	return s
}

// ErrNoDeletion refuses a job that is no group's deletion.
var ErrNoDeletion = errors.New("the job deletes no group")

// Caused reports whether the deletion of a group caused the change that an event
// reports.
func Caused(e events.Event) bool { return e.Cause.Job == inventory.GroupDeleteJob }

// Run works on the deletion until it can only wait.
func (d *Deleter) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	p, err := ReadPayload(claim.Job)
	if err != nil {
		return jobs.Result{End: jobrow.Failed}, err
	}
	group, err := d.Prober.Store.Group(ctx, claim.Job.Subscription, claim.Job.Subject)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && group.Generation != claim.Job.ID:
		p.Ended = d.Prober.Store.Now()
		return jobs.Result{End: jobrow.Done, Payload: p.String()}, nil
	case err != nil:
		return jobs.Result{}, err
	}
	w := &attempt{Deleter: d, claim: claim, payload: &p, group: group, strays: map[string]inventory.Stray{}, spelt: map[string]string{}}
	defer d.metrics.live.Forget(claim.Job.ID)
	if claim.Job.State == jobrow.Cancelling {
		return w.cancel(ctx)
	}
	if err := w.load(ctx); err != nil {
		return jobs.Result{}, err
	}
	return w.run(ctx)
}

// attempt is one attempt at a deletion.
type attempt struct {
	*Deleter
	claim   *jobs.Claim
	payload *Payload
	group   inventory.Group
	plan    *plan.Plan
	strays  map[string]inventory.Stray // by member
	spelt   map[string]string          // the IDs of those that were named in the status, by member
	errors  map[string]string          // of members, not recorded yet
	// gone are the generations of rows whose resource is gone, and rechecked those that
	// were verified once more, both by key.
	gone, rechecked map[string][16]byte
	writing         map[string]string // the open writes of resources by key, without an answer yet
	open            []plan.Wait       // writes that hold the group back
	came            int               // how many members are younger than the recorded progress
	answers         chan answer
	calls           sync.WaitGroup
	saved           time.Time
	stale           bool // the plan has to be refreshed from the inventory
	checks          int  // for members that came back
	lost            bool // the group no longer belongs to this job
}

// answer is the outcome of one member's call.
type answer struct {
	key    string
	result plan.Result
	text   string // of a failure
	stale  bool   // the inventory has changed meanwhile
	lost   bool
	// absent is the row's generation if the resource is absent but the row stays until
	// the group goes.
	absent [16]byte
}

// run makes calls and handles their answers until the deletion can only wait, or has
// ended.
func (w *attempt) run(ctx context.Context) (jobs.Result, error) {
	w.answers = make(chan answer, w.PerJob)
	calling, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer w.calls.Wait()
	defer cut()
	tick := time.NewTicker(w.watch())
	defer tick.Stop()
	for {
		over := w.over()
		if !over && !w.lost {
			w.send(ctx, calling)
		}
		w.measure()
		if w.plan.In(plan.InFlight) == 0 {
			if result, ended, err := w.onIdle(ctx, calling, over); ended || err != nil {
				return result, err
			}
			continue
		}
		select {
		case a := <-w.answers:
			w.onAnswer(a)
		case <-tick.C:
			if err := w.watchOver(ctx); err != nil {
				w.finish(cut)
				return jobs.Result{}, err
			}
		case <-ctx.Done():
			w.finish(cut)
			return jobs.Result{}, context.Cause(ctx)
		}
	}
}

func (w *attempt) now() time.Time { return w.Prober.Store.Now() }

// over reports whether the deletion as a whole has taken too long.
func (w *attempt) over() bool { return w.now().Sub(w.claim.Job.Created) > w.Limit }

// watch is the interval at which the plan is refreshed with the findings of other jobs.
func (w *attempt) watch() time.Duration { return max(w.Floor, 10*time.Millisecond) }

// send makes the calls that can be made now. None starts once ctx has ended; calls that
// have started run on under calling.
func (w *attempt) send(ctx, calling context.Context) (sent bool) {
	orders := w.plan.Next(w.now())
	for _, m := range orders {
		w.launch(ctx, calling, m)
	}
	return len(orders) > 0
}

func (w *attempt) launch(ctx, calling context.Context, m *plan.Member) {
	key := m.Key
	stray, isStray := w.strays[key]
	id := key
	if isStray {
		id = stray.Key
	}
	w.calls.Go(func() {
		var a answer
		ctx, span := spans.Begin(ctx, spans.JobStep, "step delete")
		calling := spans.With(calling, span)
		p := limits.CatchPanic(func() {
			if isStray {
				a = w.callStray(ctx, calling, stray)
			} else {
				a = w.callRow(ctx, calling, key)
			}
		})
		span.Text(spans.Resource, id)
		if span != nil {
			span.Text(spans.Outcome, a.result.Outcome.String())
		}
		span.End()
		if p != nil { // run waits for an answer all the same
			w.Log.Error("panic", zap.String("job", w.claim.Job.Name()), zap.String("member", key), zap.Error(p))
			a = answer{result: plan.Result{Outcome: plan.OutcomeUnsent}, stale: true}
		}
		a.key = key
		w.answers <- a
	})
}

func (w *attempt) onAnswer(a answer) {
	w.metrics.calls.WithLabelValues(a.result.Outcome.String()).Inc()
	w.stale, w.lost = w.stale || a.stale, w.lost || a.lost
	if a.text != "" {
		w.errors[a.key] = a.text
	}
	w.noteAbsent(a)
	if a.result.Outcome == plan.OutcomeRefused {
		a.result.Blockers, a.result.Named = w.blockers(a.key, a.text)
	}
	w.plan.OnResult(a.key, a.result, w.now())
}

// noteAbsent notes a row that may go with the group.
func (w *attempt) noteAbsent(a answer) {
	if a.absent != [16]byte{} {
		w.gone[a.key] = a.absent
	}
}

// finish waits a while for the calls under way: cutting one off would leave its outcome
// open, and the group would have to wait for that.
func (w *attempt) finish(cut context.CancelFunc) {
	patience := time.AfterFunc(jobs.RecordTime, cut)
	defer patience.Stop()
	for w.plan.In(plan.InFlight) > 0 {
		w.onAnswer(<-w.answers)
	}
}

// watchOver now and then reads what other jobs found, and records progress.
func (w *attempt) watchOver(ctx context.Context) error {
	if w.awaitsOthers() || w.stale {
		if err := w.refresh(ctx); err != nil {
			return err
		}
	}
	if time.Since(w.saved) < saveEvery {
		return nil
	}
	return w.save(ctx)
}

// onIdle decides what to do when no call is under way: end, go on, or wait.
func (w *attempt) onIdle(ctx, calling context.Context, over bool) (result jobs.Result, ended bool, err error) {
	if w.lost { // see Run
		return jobs.Result{Again: w.Floor}, true, nil
	}
	if err := w.refresh(ctx); err != nil {
		return jobs.Result{}, true, err
	}
	end := w.plan.End()
	switch {
	case end == plan.EndEmpty:
		result, err = w.close(ctx, over)
		return result, true, err
	case over:
		result, err = w.fail(ctx, arm.ResourceGroupDeletionTimeout, ", ")
		return result, true, err
	case end == plan.EndBlocked:
		came, undecided, err := w.lookAround(ctx)
		switch {
		case came, err != nil:
			return jobs.Result{}, false, err
		case undecided:
			result, err = w.again(ctx, w.watch())
			return result, true, err
		}
		result, err = w.fail(ctx, arm.ResourceGroupDeletionBlocked, ",")
		return result, true, err
	case w.send(ctx, calling):
		return jobs.Result{}, false, nil
	}
	if w.setWaits(ctx, w.waiting()) {
		if err := w.save(ctx); err != nil {
			return jobs.Result{}, true, err
		}
	}
	pause := w.pause()
	if pause <= longestStay && !w.awaitsOthers() {
		return jobs.Result{}, false, timing.Sleep(ctx, pause)
	}
	result, err = w.again(ctx, pause)
	return result, true, err
}

// longestStay is the longest pause that an attempt waits out. Ending it makes the next
// attempt read everything again, but a waiting attempt occupies a slot.
const longestStay = time.Second

// saveEvery is the least time between two records of progress.
const saveEvery = time.Second

// awaitsOthers reports whether what other jobs find out lets the deletion go on.
func (w *attempt) awaitsOthers() bool { return w.plan.In(plan.Accepted)+w.plan.Busy() > 0 }

// pause returns how long there is nothing to do.
func (w *attempt) pause() time.Duration {
	pause := longestWait
	if at, waits := w.plan.Wake(); waits {
		pause = max(w.watch(), min(pause, at.Sub(w.now())))
	}
	if w.awaitsOthers() {
		pause = w.watch()
	}
	left := w.claim.Job.Created.Add(w.Limit).Sub(w.now())
	return max(min(pause, left), time.Millisecond)
}
