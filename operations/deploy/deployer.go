package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/deployments"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/limits"
	"portico/operations/deploy/plan"
	"portico/operations/deploy/secret"
	"portico/regions"
	"portico/routing"
	"portico/template"
	"portico/template/expr"
)

// Call is a request that a step makes.
type Call struct {
	Method  string
	Target  string // path and query
	Content []byte
	Parent  *deployments.Parent // of a call that begins a nested deployment: the one that runs
}

// Sender sends a call as a deployment's caller, through all that a request of its own goes
// through. An error means that nothing is known of what became of it.
type Sender func(ctx context.Context, c Call) (Answer, error)

// Deployer runs deployments. It is a kind of durable work.
type Deployer struct {
	Store  *inventory.Store
	Sender func(caller json.RawMessage) (Sender, error) // of a deployment whose caller this is
	Limits plan.Limits
	// Target is the request of a resource, and its endpoint; see [locate.Prober.Target].
	Target func(inventory.Resource) (*routing.Request, *regions.Endpoint, error)
	// May returns why a caller may not do what an ID names.
	May func(ctx context.Context, caller json.RawMessage, action, id string) error
	// Unregistered reports whether a subscription must yet be registered for a namespace.
	Unregistered func(ctx context.Context, subscription, namespace string) (bool, error)
	// Limit is how long a deployment may take; CallLimit how long a call may, after which
	// it cannot land any more.
	Limit, CallLimit time.Duration
	Kept             time.Duration // of its job
	// Patience is how long an attempt waits with nothing under way before it gives the job
	// back, in favour of others.
	Patience time.Duration
	// Memory is for what deployments know of answers to their questions; MemoryLimit bounds
	// what one of them takes.
	Memory      *limits.Memory
	MemoryLimit int64

	metrics *metrics
	shelf   *shelf
	reads   chan struct{} // of answers at a time
}

// Describe implements [jobs.Kind].
func (d *Deployer) Describe() jobs.Description {
	return jobs.Description{Cancellable: true, Deployment: true, AfterRestore: jobs.Cancelled, Limit: d.Limit, LimitSetting: "deployments.limit",
		Problems: jobs.Problems{Subject: "A deployment"}, GiveUpPart: d.giveUp,
		Show: func(j jobrow.Job) jobs.Standing {
			var p payload
			_ = j.Read(&p) // it is this package's
			return jobs.Standing{Done: p.Progress.Done, Of: p.Progress.Of}
		}}
}

type payload struct {
	Progress progress `json:"progress"`
	// CallerName stands here too, as the content, which has it, is large and encrypted.
	CallerName string `json:"callerName,omitempty"`
}

type progress struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

// Payload returns a job payload that records whose deployment it is, and its progress.
func (o *Order) Payload(done, of int) string {
	return jobrow.PayloadOf(payload{progress{done, of}, o.CallerName})
}

// Caller implements [jobs.Commissioned].
func (d *Deployer) Caller(ctx context.Context, job jobrow.Job) (string, error) {
	var p payload
	if err := job.Read(&p); err == nil && p.CallerName != "" {
		return p.CallerName, nil
	}
	o, err := d.orderOf(ctx, job) // an earlier version wrote the payload
	return o.CallerName, err
}

func (d *Deployer) orderOf(ctx context.Context, job jobrow.Job) (o Order, err error) {
	content, err := d.Store.Deployments.Content(ctx, nameOf(job), job.ID)
	if err == nil {
		err = json.Unmarshal(content, &o)
	}
	return o, err
}

// nameOf is the deployment of a job.
func nameOf(job jobrow.Job) deployments.Name {
	var group string
	if in, inGroup := strings.CutPrefix(arm.Fold(job.Subject), "/subscriptions/"+job.Subscription+"/resourcegroups/"); inGroup {
		group, _, _ = strings.Cut(in, "/")
	}
	return deployments.Name{Subscription: job.Subscription, Group: group, Name: job.Subject[strings.LastIndexByte(job.Subject, '/')+1:]}
}

// attempt is one attempt at a deployment.
type attempt struct {
	*Deployer
	*worked
	job     *jobrow.Job
	claim   *jobs.Claim
	name    deployments.Name
	call    Sender
	plan    *plan.Plan
	records []stepRecord
	space   atomic.Int64  // how many bytes more may be kept of what is nested in it
	expired []int         // the steps that ran when its time was over
	places  chan struct{} // of questions side by side: nested deployments take no room of the plan
	record  recorder
	turn    sync.Mutex // to grow the memory, which one at a time may wait for
	// removals are the deletions that were sent, by their resources' keys.
	removals map[string]removal
	// shelved is the room on the shelf of an attempt that goes on later.
	shelved *limits.Reservation
}

// Run implements [jobs.Kind].
func (d *Deployer) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	defer d.metrics.live.Forget(claim.Job.ID)
	a := &attempt{Deployer: d, claim: claim, job: &claim.Job, name: nameOf(claim.Job), places: make(chan struct{}, d.Limits.PerDeployment)}
	recording := context.WithoutCancel(ctx) // also while the attempt is ending
	a.record.seal = func(number int, s deployments.Step) (deployments.Progress, error) {
		return d.Store.Deployments.Progress(recording, a.name, a.job.ID, number, s)
	}
	a.record.put = func(progress func() []deployments.Progress) error {
		ctx, cancel := context.WithTimeout(recording, jobs.RecordTime)
		defer cancel()
		return d.Store.Deployments.PutSteps(ctx, a.name, *a.job, progress)
	}
	recorded, err := d.Store.Deployments.Steps(ctx, a.name, a.job.ID)
	if err != nil {
		return jobs.Result{}, err
	}
	if len(recorded) > 0 { // else the deployment may be gone with its records
		a.worked = d.shelf.take(a.job.ID)
	}
	if a.worked == nil {
		a.worked, err = d.workOut(ctx, claim.Job)
	}
	if errors.Is(err, inventory.ErrNotFound) {
		return a.abandon(ctx)
	}
	if err != nil {
		return jobs.Result{}, err
	}
	defer a.leave()
	send, err := d.Sender(a.order.Caller)
	if err == nil {
		a.call = a.known.masked(send)
		err = a.load(ctx, recorded)
	}
	if err == nil && len(a.removals) > 0 { // that an earlier attempt began
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

// leave keeps what was worked out for the next attempt, if there is room for it.
func (a *attempt) leave() {
	if a.shelved == nil {
		a.memory.Close()
		return
	}
	a.forget()
	a.shelf.put(a.job.ID, a.worked, a.shelved)
}

// abandon ends a deployment whose group has gone, and what it held.
func (a *attempt) abandon(ctx context.Context) (jobs.Result, error) {
	if err := a.Store.Deployments.Abandon(ctx, *a.job); err != nil {
		return jobs.Result{}, err
	}
	return jobs.Result{End: jobrow.Failed}, nil
}

// load finds how far the steps are by what is recorded of them.
func (a *attempt) load(ctx context.Context, recorded map[int]deployments.Step) error {
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
			return err
		}
		records[i] = r
	}
	a.space.Store(NestedBytes)
	a.records = make([]stepRecord, len(a.steps))
	steps, err := a.regrow(ctx, records, planned(a.steps, 0))
	if err != nil {
		return err
	}
	for i, r := range records {
		a.records[i], steps[i].State = r, plan.State(recorded[i].State)
		a.space.Add(-int64(r.Kept))
		a.known.recall(i, &a.steps[i], &a.records[i])
	}
	a.plan = plan.New(steps, a.Limits)
	a.plan.Complete = a.order.Complete
	if a.job.State == jobrow.Cancelling {
		a.plan.Cancel()
	}
	return nil
}

// task is an order with what it takes to carry it out, which nothing that goes on meanwhile
// changes.
type task struct {
	plan.Order
	step   step
	record stepRecord
	steps  []step
	ending *ending // of a nested deployment whose steps have ended
}

func (a *attempt) task(o plan.Order) task {
	t := task{Order: o, step: a.steps[o.Step], record: a.records[o.Step], steps: a.steps}
	if t.step.nested != nil && o.Act == plan.Follow {
		t.ending = a.ending(&t)
	}
	return t
}

// settled is what became of an order.
type settled struct {
	task
	outcome plan.Outcome
	after   time.Duration
	grows   *template.Plan // what the nested deployment that began turned out to hold
	answer  []byte         // in which the resource is finished
	created *deployments.Deployed
	err     error // the attempt ends
}

// longestStay bounds the pause for which an attempt stays because there is no room on the shelf.
const longestStay = time.Minute

// leaves reports whether an attempt that can only wait gives its job back meanwhile. If there is
// no room to keep what was worked out, a short pause is cheaper than to work it out again.
func (a *attempt) leaves(pause time.Duration) bool {
	if pause <= a.Patience {
		return false
	}
	a.shelved = a.shelf.reserve(a.order.CallerName, a.bytes())
	return a.shelved != nil || pause > longestStay
}

func (a *attempt) run(ctx context.Context) (jobs.Result, error) {
	results, records := make(chan settled), make(chan noted)
	running := 0 // orders, and records of what became of them
	var failure error
	for {
		now := a.Store.Now()
		if failure == nil {
			failure = ctx.Err()
		}
		switch late := now.Sub(a.order.Now) > a.Limit; {
		case failure != nil, late && running > 0: // what is under way ends first
		case late:
			a.expire(now)
		default:
			for _, o := range a.plan.Next(now) {
				running++
				t := a.task(o)
				go func() { results <- a.guarded(ctx, t) }()
			}
		}
		a.measure()
		if running == 0 {
			if failure != nil {
				return jobs.Result{}, failure
			}
			if a.plan.Removes() || a.plan.Removal() != nil {
				return a.remove(ctx)
			}
			if end, over := a.plan.Over(); over {
				return jobs.Result{Recorded: true}, a.finish(ctx, end)
			}
		}
		due, waits := a.plan.Wake(now)
		pause := due.Sub(now)
		if running == 0 && waits && a.leaves(pause) {
			return jobs.Result{Again: pause, Payload: a.order.Payload(a.plan.Counts())}, nil
		}
		var wake <-chan time.Time
		if waits && failure == nil {
			wake = time.After(pause)
		}
		select {
		case s := <-results:
			running--
			if s.err != nil {
				failure = cmp.Or(failure, s.err)
				continue
			}
			n, err := a.settle(s)
			if err != nil {
				failure = cmp.Or(failure, err)
				continue
			}
			running++
			go func() { records <- n.wait() }()
		case n := <-records:
			running--
			if failure = cmp.Or(failure, n.err); n.err == nil {
				a.countEnds(n.ends)
			}
		case <-wake:
		case <-done(ctx, failure):
			failure = ctx.Err()
		}
	}
}

// done is the end of ctx, unless that is known.
func done(ctx context.Context, failure error) <-chan struct{} {
	if failure != nil {
		return nil
	}
	return ctx.Done()
}

// guarded carries an order out. A panic in it is an error of the attempt.
func (a *attempt) guarded(ctx context.Context, t task) (s settled) {
	if p := limits.CatchPanic(func() { s = a.carry(ctx, t) }); p != nil {
		return settled{task: t, outcome: plan.Lost, err: p}
	}
	return s
}

// noted is progress that is being recorded.
type noted struct {
	ends     []int // the steps that end with it
	recorded func() error
	err      error // once it is
}

// wait returns when the progress is recorded. What follows from it is sent meanwhile: that
// is recorded no sooner.
func (n noted) wait() noted {
	n.err = n.recorded()
	failpoint.Pass(failpoint.DeploySettleAfter)
	return n
}

// settle tells the plan what became of an order, and has it recorded.
func (a *attempt) settle(s settled) (n noted, _ error) {
	now := a.Store.Now()
	if s.grows != nil && s.outcome == plan.GoesOn {
		s.record.Unfolded.From = len(a.steps)
		added, holds := a.grow(s.Step, s.grows)
		a.plan.Grow(s.Step, added, holds)
	}
	changed := append([]int{s.Step}, a.plan.Settle(s.Order, s.outcome, s.after, now)...)
	s.record.Fault = s.record.Fault.Within(a.errorBytes())
	a.records[s.Step] = s.record
	failpoint.Pass(failpoint.DeploySettleBefore)
	progress := map[int]deployments.Step{}
	for _, i := range changed {
		state, r := a.plan.Steps[i].State, &a.records[i]
		if state.Over() {
			r.Ended = now
			n.ends = append(n.ends, i)
		}
		if i != s.Step && state == plan.Succeeded {
			r.LeftOut = true // with the nested deployment that holds it
		}
		if r.Target == nil && !a.steps[i].existing() {
			a.steps[i].target(r)
		}
		step, err := recorded(state, r)
		if err != nil {
			return n, err
		}
		if i == s.Step {
			step.Created = s.created
		}
		progress[i] = step
	}
	n.recorded = a.record.add(progress)
	return n, nil
}

func (a *attempt) countEnds(steps []int) {
	for _, i := range steps {
		a.metrics.endStep(a.plan.Steps[i].State, &a.records[i])
	}
}

// recorded is the progress of a step or a deletion as it is stored.
func recorded(state plan.State, r any) (deployments.Step, error) {
	text, err := json.Marshal(r)
	return deployments.Step{State: uint8(state), Record: text}, err
}

// recordOne records the progress of one step or deletion.
func (a *attempt) recordOne(number int, state plan.State, r any) error {
	step, err := recorded(state, r)
	if err != nil {
		return err
	}
	return a.record.add(map[int]deployments.Step{number: step})()
}

// expire ends a deployment that has taken too long.
func (a *attempt) expire(now time.Time) {
	a.expired = append(a.expired, a.plan.Expire()...)
	for _, i := range a.expired {
		a.records[i].Ended = now
		a.records[i].Fault = arm.NewError(arm.DeploymentFailed).Saying("The resource '%s' had not come to an end when the deployment's time of %s was over.", a.steps[i].reference().ID, a.Limit.String())
		a.metrics.endStep(plan.Failed, &a.records[i])
	}
}

// finish records how the deployment has ended.
func (a *attempt) finish(ctx context.Context, end plan.State) error {
	if err := a.expireNested(ctx); err != nil {
		return err
	}
	ctx, release := a.holding(ctx)
	defer release()
	now := a.Store.Now()
	record := a.order.Record(a.input.Template, a.planned)
	p := &record.Properties
	var fault *arm.Error
	if end == plan.Succeeded {
		name, err := a.outputs(ctx, &record, a.planned.Outputs, nil)
		switch {
		case errors.Is(err, errUnanswered):
			return err
		case err != nil:
			fault = outputFault(a.known.secrets(), name, err)
		}
	}
	switch {
	case end == plan.Canceled:
		fault = arm.NewError(arm.DeploymentCanceled, a.order.Name)
	case end == plan.Failed:
		fault = a.failure(outermost, a.order.ID())
	}
	state := ends[end]
	if fault != nil && state == deployments.Succeeded {
		state = deployments.Failed
	}
	p.Timestamp, p.Duration = now, duration(now.Sub(a.order.Now))
	p.OutputResources = a.outputResources(outermost)
	ended, err := record.end(state, fault, a.operations())
	if err != nil {
		return err
	}
	ended.Template, ended.Payload, ended.Kept = a.input.Template.Value.AppendJSON(nil), a.order.Payload(a.plan.Counts()), a.Kept
	failpoint.Pass(failpoint.DeployEndBefore)
	err = a.Store.Deployments.End(ctx, a.name, *a.job, ended)
	failpoint.Pass(failpoint.DeployEndAfter)
	if err == nil {
		a.metrics.end(ended.Error, now.Sub(a.order.Now))
	}
	return err
}

// ends are the states of deployments by those of plans.
var ends = map[plan.State]deployments.State{plan.Succeeded: deployments.Succeeded, plan.Failed: deployments.Failed, plan.Canceled: deployments.Canceled}

// outputResources are what a deployment has made, also by what is nested in it.
func (a *attempt) outputResources(within int) []Reference {
	references := []Reference{}
	for _, i := range held(a.steps, within) {
		if r := a.steps[i].resource; r != nil && a.plan.Steps[i].State == plan.Succeeded && !r.Existing && !a.records[i].LeftOut && !a.records[i].Existed {
			references = append(references, Reference{ID: r.ID})
		}
	}
	return references
}

// failure is the error of a deployment some of whose steps have failed: a detail for each.
func (a *attempt) failure(within int, id string) *arm.Error {
	fault := arm.NewError(arm.DeploymentFailed).About(id)
	for i := range a.records {
		if f := a.records[i].Fault; f != nil && a.steps[i].within == within && a.plan.Steps[i].State == plan.Failed {
			detail := *f
			detail.Target = cmp.Or(detail.Target, a.steps[i].reference().ID)
			fault.Details = append(fault.Details, detail)
		}
	}
	for _, r := range a.sentRemovals() {
		if r.Fault != nil && r.state == plan.Failed && within == outermost {
			detail := *r.Fault
			detail.Target = cmp.Or(detail.Target, r.Target.ID)
			fault.Details = append(fault.Details, detail)
		}
	}
	if hidden := a.hiddenFault(); hidden != nil && within == outermost {
		fault.Details = append(fault.Details, *hidden)
	}
	if left := len(fault.Details) - mostDetails; left > 0 {
		fault.Details = fault.Details[:mostDetails]
		fault.Message += fmt.Sprintf(" Details of %d further failures are left out.", left)
	}
	for i := range fault.Details {
		fault.Details[i] = *fault.Details[i].Within(failureBytes / len(fault.Details))
	}
	return fault
}

// outputs adds the values of outputs, of which secure ones have none. What a list* function
// answers is shown where the template declares that it is no secret, as in ARM. The error is
// that of the output of a name. The task is that of a nested deployment.
func (a *attempt) outputs(ctx context.Context, record *Stored, of []template.Output, nested *settled) (name string, err error) {
	outputs := map[string]Parameter{}
	for _, o := range of {
		condition, err := a.finished(ctx, o.Condition)
		if err == nil && !condition.Bool() {
			continue
		}
		var value expr.Value
		if err == nil {
			value, err = a.finished(ctx, o.Value)
		}
		if err != nil {
			return o.Name, err
		}
		outputs[o.Name] = Shown(o.Type, value)
		n := len(o.Name) + len(outputs[o.Name].Value)
		if !record.Properties.fits(n) {
			return o.Name, record.tooLarge()
		}
		if nested != nil {
			if err := a.keep(nested, n); err != nil {
				return o.Name, err
			}
		}
	}
	record.Properties.Outputs = outputs
	return "", nil
}

// outputFault is why the output of a name cannot be worked out, with the whole error of an answer
// that it needs.
func outputFault(secrets secret.Secrets, name string, err error) *arm.Error {
	fault := arm.NewError(arm.DeploymentOutputEvaluationFailed, name, err.Error())
	if refused, is := errors.AsType[*arm.Error](err); is {
		fault.Details = []arm.Error{*refused}
	}
	return secrets.Error(fault)
}

// operations are the steps as clients see them.
func (a *attempt) operations() []Operation {
	all := a.operationsIn(outermost, a.order.ID())
	for _, r := range a.sentRemovals() {
		all = append(all, r.operation(a.order.ID(), a.job.ID, r.number, r.state))
	}
	return all
}

// operationsIn are the steps of a deployment of an ID, or of one that is nested in it.
func (a *attempt) operationsIn(within int, id string) []Operation {
	all := make([]Operation, 0, len(a.records))
	for i := range a.records {
		if r := &a.records[i]; !r.Began.IsZero() && a.steps[i].within == within {
			all = append(all, r.operation(id, a.job.ID, i, a.plan.Steps[i].State))
		}
	}
	return all
}
