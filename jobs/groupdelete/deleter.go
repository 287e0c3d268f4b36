// Package groupdelete deletes the resources of a group, and then the group.
//
// It uses a [deletion.Driver]. Each DELETE is an intent in the inventory, like a client's write.
// Only rows, strays and intents show what is left.
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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/arm"
	"portico/events"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/deletion/deletionplan"
	"portico/limits"
	"portico/probe"
	"portico/routing"
)

// EmptinessCheck finds out from a group's providers whether the group is empty; see
// [inventory.DeleteGroupConditions].
type EmptinessCheck interface {
	// Allow allows the group to go if every place was looked at. It runs in the
	// closing transaction.
	Allow(inventory.Group, []inventory.WrittenRegion) error
	// Scan lists the places that a refusal of Allow names, and adopts the resources
	// there. It reports whether the refusal was Judge's. An error means that a provider
	// gave no answer.
	Scan(ctx context.Context, refusal error) (bool, error)
}

// Deleter deletes groups. arm.ResourceGroupDeletionBlocked and the codes next to it are the
// errors that a deletion can end with.
//
// Each attempt makes a plan from the inventory and drives it until it can only wait. The job
// and its resources only record failures.
type Deleter struct {
	Prober         probe.Prober
	EmptinessCheck func(Payload) EmptinessCheck
	Sender         string // which replica sends
	Region         string // of the front door, for the ids of its calls
	PerEndpoint    int    // calls under way per endpoint, for one caller's deletions on this replica
	AtEndpoint     int    // and for all callers' deletions; at least PerEndpoint
	PerJob         int    // calls under way for one deletion
	Budget         time.Duration
	Limit          time.Duration // for a deletion as a whole
	// SendWithin and CallLimit are the times after its intent within which a call may
	// begin, and may still send.
	SendWithin, CallLimit time.Duration

	Floor time.Duration // the least time between two calls for the same resource
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
	if err != nil {
		return "", fmt.Errorf("read the commission of a deletion: %w", err)
	}
	return c.Caller.Caller(), nil
}

func (d *Deleter) limits() deletionplan.Limits {
	return deletionplan.Limits{PerEndpoint: d.PerEndpoint, PerJob: d.PerJob, Budget: d.Budget, Pause: d.Floor, Longest: deletionplan.LongestWait}
}

// Payload is the payload of a group deletion's job.
type Payload struct {
	Group       string   `json:"group"` // as it was written
	Incarnation [16]byte `json:"incarnation"`
	jobs.Commission
	Progress deletionplan.Summary `json:"progress"`
	Waits    []deletionplan.Wait  `json:"waits,omitempty"`
	// Canceling: the deletion is being canceled, and waits for Waits before it ends.
	Canceling bool `json:"canceling,omitempty"`
	// Drained is for how long it had waited for drained regions when it was saved.
	Drained time.Duration `json:"drained,omitempty"`
	// Saved is when Progress was recorded: it does not include later resources.
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
	if j.State == jobrow.Cancelling && !p.Canceling { // its earlier waits are over
		p.Waits, p.Progress.WaitingFor = nil, nil
	}
	return p, err
}

// Describe implements [jobs.Kind].
func (d *Deleter) Describe() jobs.Description {
	return jobs.Description{
		Cancellable: true, AfterRestore: jobs.Cancelled, Canceled: "What is deleted stays so. The group can be used again, with what is left.",
		Limit: d.Limit, LimitSetting: "groupDelete.limit",
		Problems: jobs.Problems{TooLong: "groupDeleteTooLong", Waiting: "groupDeleteWaiting", Slow: "groupDeleteSlow", Subject: "The deletion of a group"},
		Reason:   "deletionUnderWay", Message: "The group is being deleted with all that it holds.",
		Refusals: []arm.Code{arm.ResourceGroupBeingDeleted}, HoldsAt: d.holdsAt, Show: show, Remaining: d.remaining,
	}
}

// holdsAt finds the deletion of the group that a path lies in.
func (d *Deleter) holdsAt(ctx context.Context, path *arm.Path) ([]jobs.Hold, error) {
	group, job, err := d.Prober.Store.Deletions.Of(ctx, path.Subscription(), path.Group())
	if errors.Is(err, inventory.ErrNotFound) || err == nil && job.State.Ended() {
		return nil, nil
	}
	return []jobs.Hold{{Job: job, On: routing.GroupID(path.Subscription(), group.Name)}}, err
}

func show(j jobrow.Job) jobs.ProgressReport {
	p, err := ReadPayload(j)
	if err != nil {
		return jobs.ProgressReport{} // the job's attempts report the fault
	}
	progress := p.Progress
	s := jobs.ProgressReport{
		On: routing.GroupID(j.Subscription, p.Group), Done: progress.Deleted, Of: progress.Total, WaitingFor: progress.WaitingFor, Drained: p.Drained,
		Outcome: fmt.Sprintf("%d of %d resources are deleted.", progress.Deleted, progress.Total),
		Left:    fmt.Sprintf("%d of %d resources are left, %d of them refused to go", progress.Total-progress.Deleted, progress.Total, progress.Parked),
	}
	if n := progress.Parked; n > 0 {
		s.Outcome += fmt.Sprintf(" %d were refused by their providers.", n)
	}
	return s
}

// Caused reports whether the deletion of a group caused the change that an event
// reports.
func Caused(e events.Event) bool { return e.Cause.Job == inventory.GroupDeleteJob }

// errLost means that the group no longer belongs to the job.
var errLost = errors.New("the group is no longer the job's")

// Run works on the deletion until it can only wait.
func (d *Deleter) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	p, err := ReadPayload(claim.Job)
	if err != nil {
		return jobs.Result{End: jobrow.Failed}, fmt.Errorf("read the payload of a deletion: %w", err)
	}
	group, err := d.Prober.Store.Group(ctx, claim.Job.Subscription, claim.Job.Subject)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && group.Generation != claim.Job.ID:
		p.Ended = d.Prober.Store.Now()
		return jobs.Result{End: jobrow.Done, Payload: p.String()}, nil
	case err != nil:
		return jobs.Result{}, fmt.Errorf("read the group: %w", err)
	}
	w := d.attempt(claim, &p, group)
	defer d.metrics.live.Remove(claim.Job.ID)
	if claim.Job.State == jobrow.Cancelling {
		return w.cancel(ctx)
	}
	if err := w.load(ctx); err != nil {
		return jobs.Result{}, fmt.Errorf("load the deletion: %w", err)
	}
	result, err := w.driver.Run(ctx)
	if errors.Is(err, errLost) { // the next attempt finds it gone
		return jobs.Result{Again: d.Floor}, nil
	}
	return result, err
}
