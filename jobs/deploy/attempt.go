package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/deletion"
	"portico/jobs/deploy/deployplan"
	"portico/limits"
	"portico/template"
)

// attempt is one attempt at a deployment.
type attempt struct {
	*Deployer
	*expansion
	job     *jobrow.Job
	claim   *jobs.Claim
	name    deploymentrow.Name
	call    Sender
	plan    *deployplan.Graph
	records []stepRecord
	space   atomic.Int64  // bytes of NestedBytes that are left
	expired []int         // the steps that ran when its time ran out
	places  chan struct{} // for parallel questions, as the limits of the plan do not bound them
	record  recorder
	turn    sync.Mutex // lets one goroutine at a time wait for memory
	// removals are the deletions that were sent, by their resources' keys.
	removals map[string]removal
	driver   *deletion.Driver // of the deletions; nil until they begin
	// shelved is the reservation on the shelf of an attempt that continues later.
	shelved *limits.Reservation
}

// Run implements [jobs.Kind].
func (d *Deployer) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	defer d.metrics.live.Remove(claim.Job.ID)
	a := &attempt{Deployer: d, claim: claim, job: &claim.Job, name: nameOf(claim.Job), places: make(chan struct{}, d.Limits.PerDeployment)}
	recording := context.WithoutCancel(ctx) // also while the attempt is ending
	a.record.seal = func(number int, s deploymentrow.Step) (deploymentrow.StepUpdate, error) {
		return d.Store.Deployments.EncryptStep(recording, a.name, a.job.ID, number, s)
	}
	a.record.put = func(progress func() []deploymentrow.StepUpdate) error {
		ctx, cancel := context.WithTimeout(recording, jobs.RecordTime)
		defer cancel()
		return d.Store.Deployments.PutSteps(ctx, a.name, *a.job, progress)
	}
	recorded, err := d.Store.Deployments.Steps(ctx, a.name, a.job.ID)
	if err != nil {
		return jobs.Result{}, fmt.Errorf("read the steps of a deployment: %w", err)
	}
	if len(recorded) > 0 { // else the deployment may be gone with its records
		a.expansion = d.shelf.remove(a.job.ID)
	}
	if a.expansion == nil {
		a.expansion, err = d.expand(ctx, claim.Job)
	}
	if errors.Is(err, inventory.ErrNotFound) {
		return a.abandon(ctx)
	}
	if err != nil {
		return jobs.Result{}, err
	}
	defer a.shelveExpansion()
	send, err := d.Sender(a.order.Caller)
	if err == nil {
		a.call = a.known.masked(send)
		err = a.load(ctx, recorded)
	}
	if err == nil && len(a.removals) > 0 { // an earlier attempt began them
		err = a.planRemovals(ctx)
	}
	if err != nil {
		return jobs.Result{}, err
	}
	a.registerFirst(ctx)
	result, err := a.run(ctx)
	if errors.Is(err, inventory.ErrNotFound) {
		return a.abandon(ctx)
	}
	return result, err
}

// shelveExpansion puts the expansion on the shelf for the next attempt, if there is room for it.
func (a *attempt) shelveExpansion() {
	if a.shelved == nil {
		a.memory.Close()
		return
	}
	a.forgetAnswers()
	a.shelf.put(a.job.ID, a.expansion, a.shelved)
}

// abandon ends a deployment whose group has gone, and the deployments nested in it.
func (a *attempt) abandon(ctx context.Context) (jobs.Result, error) {
	if err := a.Store.Deployments.Abandon(ctx, *a.job); err != nil {
		return jobs.Result{}, fmt.Errorf("abandon a deployment: %w", err)
	}
	return jobs.Result{End: jobrow.Failed}, nil
}

// load builds the plan, with the states of the steps that are recorded.
func (a *attempt) load(ctx context.Context, recorded map[int]deploymentrow.Step) error {
	records := map[int]stepRecord{}
	a.removals = map[string]removal{}
	for i, s := range recorded {
		if i >= removalsFrom {
			if err := a.loadRemoval(i, s); err != nil {
				return err
			}
			continue
		}
		var r stepRecord
		if err := json.Unmarshal(s.Record, &r); err != nil {
			return fmt.Errorf("read the record of step %d: %w", i, err)
		}
		records[i] = r
	}
	a.space.Store(NestedBytes)
	a.records = make([]stepRecord, len(a.steps))
	steps, err := a.restoreNestedSteps(ctx, records, plannedSteps(a.steps, 0))
	if err != nil {
		return err
	}
	for i, r := range records {
		a.records[i], steps[i].State = r, deployplan.State(recorded[i].State)
		a.space.Add(-int64(r.Kept))
		a.known.addRecorded(i, &a.steps[i], &a.records[i])
	}
	a.plan = deployplan.New(steps, a.Limits)
	a.plan.Complete = a.order.Complete
	if a.job.State == jobrow.Cancelling {
		a.plan.Cancel()
	}
	return nil
}

// task is an order with copies of all that its execution needs, which other orders do not change.
type task struct {
	deployplan.Order
	step   step
	record stepRecord
	steps  []step
	ending *ending // of a nested deployment whose steps have ended
}

func (a *attempt) task(o deployplan.Order) task {
	t := task{Order: o, step: a.steps[o.Step], record: a.records[o.Step], steps: a.steps}
	if t.step.nested != nil && o.Act == deployplan.Follow {
		t.ending = a.endingOf(&t)
	}
	return t
}

// settled is the result of an order.
type settled struct {
	task
	outcome deployplan.Outcome
	after   time.Duration
	grows   *template.Plan // the content of the nested deployment that began
	answer  []byte         // the last response, which shows the finished resource
	created *deploymentrow.Deployed
	err     error // ends the attempt
}

// longestStay bounds the pause that an attempt waits for because there is no room on the shelf.
const longestStay = time.Minute

// givesJobBack reports whether an attempt that can only wait gives its job back meanwhile. If the shelf
// has no room for the expansion, waiting for a short pause is cheaper than expanding again.
func (a *attempt) givesJobBack(pause time.Duration) bool {
	if pause <= a.Patience {
		return false
	}
	a.shelved = a.shelf.reserve(a.order.CallerName, a.bytes())
	return a.shelved != nil || pause > longestStay
}
