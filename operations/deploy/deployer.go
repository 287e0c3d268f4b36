package deploy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/deployments"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/limits"
	"portico/operations/deploy/plan"
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
}

// Answer is the answer to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Sender sends a call as a deployment's caller, through all that a request of its own goes
// through. An error means that nothing is known of what became of it.
type Sender func(ctx context.Context, caller json.RawMessage, c Call) (Answer, error)

// Deployer runs deployments. It is a kind of durable work.
type Deployer struct {
	Store  *inventory.Store
	Send   Sender
	Limits plan.Limits
	// Target is the request of a resource, and its endpoint; see [locate.Prober.Target].
	Target func(inventory.Resource) (*routing.Request, *regions.Endpoint, error)
	// Limit is how long a deployment may take; CallLimit how long a call may, after which
	// it cannot land any more.
	Limit, CallLimit time.Duration
	Kept             time.Duration // of its job
}

// Describe implements [jobs.Kind].
func (d *Deployer) Describe() jobs.Description {
	return jobs.Description{Cancellable: true, AfterRestore: jobs.Cancelled, Limit: d.Limit, LimitSetting: "deployments.limit",
		Problems: jobs.Problems{Subject: "A deployment"},
		Show: func(j jobrow.Job) jobs.Standing {
			var p payload
			_ = j.Read(&p) // it is this package's
			return jobs.Standing{Done: p.Progress.Done, Of: p.Progress.Of}
		}}
}

type payload struct {
	Progress progress `json:"progress"`
}

type progress struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

// Payload is that of a job with so many steps.
func Payload(done, of int) string { return jobrow.PayloadOf(payload{progress{done, of}}) }

// Caller implements [jobs.Commissioned].
func (d *Deployer) Caller(ctx context.Context, job jobrow.Job) (string, error) {
	o, err := d.order(ctx, job)
	return o.CallerName, err
}

func (d *Deployer) order(ctx context.Context, job jobrow.Job) (o Order, err error) {
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
	job     *jobrow.Job
	claim   *jobs.Claim
	name    deployments.Name
	order   Order
	input   template.Input
	planned *template.Plan
	plan    *plan.Plan
	records []stepRecord
	answers answered
	// removals are the deletions that were sent, by their resources' keys.
	removals map[string]removal
}

// Run implements [jobs.Kind].
func (d *Deployer) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	a := &attempt{Deployer: d, claim: claim, job: &claim.Job, name: nameOf(claim.Job)}
	var err error
	a.order, err = d.order(ctx, claim.Job)
	if errors.Is(err, inventory.ErrNotFound) { // its group has gone, and what it held
		return jobs.Result{End: jobrow.Failed}, nil
	}
	if err == nil {
		err = a.load(ctx)
	}
	if err == nil {
		err = a.resumeRemovals(ctx)
	}
	if err != nil {
		return jobs.Result{}, err
	}
	result, err := a.run(ctx)
	if errors.Is(err, inventory.ErrNotFound) {
		return jobs.Result{End: jobrow.Failed}, nil
	}
	return result, err
}

// load works the template out, and finds how far its steps are.
func (a *attempt) load(ctx context.Context) error {
	p, in, faults := a.order.Expand()
	if len(faults) > 0 {
		return fmt.Errorf("the template of a deployment that was accepted: %w", faults[0])
	}
	a.planned, a.input = p, in
	recorded, err := a.Store.Deployments.Steps(ctx, a.name, a.job.ID)
	if err != nil {
		return err
	}
	number := map[*template.Resource]int{}
	for i, r := range p.Resources {
		number[r] = i
	}
	steps := make([]plan.Step, len(p.Resources))
	a.records = make([]stepRecord, len(steps))
	for i, r := range p.Resources {
		for _, on := range r.DependsOn {
			steps[i].DependsOn = append(steps[i].DependsOn, number[on])
		}
		steps[i].Endpoint = endpointOf(r)
		if s, known := recorded[i]; known {
			steps[i].State = plan.State(s.State)
			if err := json.Unmarshal(s.Record, &a.records[i]); err != nil {
				return err
			}
		}
	}
	a.plan = plan.New(steps, a.Limits)
	a.plan.Complete = a.order.Complete
	if a.job.State == jobrow.Cancelling {
		a.plan.Cancel()
	}
	return nil
}

// endpointOf stands for the endpoint of a resource: its namespace and location, as far as
// they are known before it is sent.
func endpointOf(r *template.Resource) string {
	namespace, _, _ := strings.Cut(r.Type, "/")
	return arm.Fold(namespace) + " " + arm.Location(locationOf(r))
}

func locationOf(r *template.Resource) string {
	v, _ := r.Body.Member("location")
	return v.Text()
}

// settled is what became of an order.
type settled struct {
	plan.Order
	record  stepRecord
	outcome plan.Outcome
	after   time.Duration
	err     error // the attempt ends
}

// longestWait is how long an attempt waits with nothing under way before it gives the job
// back.
const longestWait = 5 * time.Second

func (a *attempt) run(ctx context.Context) (jobs.Result, error) {
	results := make(chan settled)
	running := 0
	var failure error
	for {
		now := a.Store.Now()
		if failure == nil {
			failure = ctx.Err()
		}
		if failure == nil && running == 0 && now.Sub(a.order.Now) > a.Limit {
			a.expire(now)
		}
		if failure == nil {
			for _, o := range a.plan.Next(now) {
				running++
				go func() { results <- a.guarded(ctx, o, a.records[o.Step]) }()
			}
		}
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
		if running == 0 && waits && pause > longestWait {
			return jobs.Result{Again: pause, Payload: Payload(a.plan.Counts())}, nil
		}
		var wake <-chan time.Time
		if waits && failure == nil {
			wake = time.After(pause)
		}
		select {
		case s := <-results:
			running--
			if err := a.settle(ctx, s); failure == nil {
				failure = err
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
func (a *attempt) guarded(ctx context.Context, o plan.Order, r stepRecord) (s settled) {
	if p := limits.CatchPanic(func() { s = a.carry(ctx, o, r) }); p != nil {
		return settled{Order: o, record: r, outcome: plan.Lost, err: p}
	}
	return s
}

// settle tells the plan what became of an order, and records it.
func (a *attempt) settle(ctx context.Context, s settled) error {
	if s.err != nil {
		return s.err
	}
	now := a.Store.Now()
	ended := a.plan.Settle(s.Order, s.outcome, s.after, now)
	a.records[s.Step] = s.record
	failpoint.Pass(failpoint.DeploySettleBefore)
	for _, i := range append([]int{s.Step}, ended...) { // its own end first: theirs follows from it
		if a.plan.Steps[i].State.Over() {
			a.records[i].Ended = now
		}
		if err := a.record(ctx, i, a.plan.Steps[i].State, a.records[i]); err != nil {
			return err
		}
	}
	failpoint.Pass(failpoint.DeploySettleAfter)
	return nil
}

// record durably records the progress of a step, also while its attempt is ending.
func (a *attempt) record(ctx context.Context, step int, state plan.State, r stepRecord) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobs.RecordTime)
	defer cancel()
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return a.Store.Deployments.PutStep(ctx, a.name, *a.job, step, deployments.Step{State: uint8(state), Record: text})
}

// expire ends a deployment that has taken too long.
func (a *attempt) expire(now time.Time) {
	for _, i := range a.plan.Expire() {
		a.records[i].Ended = now
		a.records[i].Fault = arm.NewError(arm.DeploymentFailed).Saying("The resource '%s' had not come to an end when the deployment's time of %s was over.", a.planned.Resources[i].ID, a.Limit.String())
	}
}

// finish records how the deployment has ended.
func (a *attempt) finish(ctx context.Context, end plan.State) error {
	now := a.Store.Now()
	record := a.order.Record(a.planned)
	p := &record.Properties
	var fault *arm.Error
	if end == plan.Succeeded {
		p.Outputs, fault = a.outputs(ctx)
	}
	switch {
	case end == plan.Canceled:
		fault = arm.NewError(arm.DeploymentCanceled, a.order.Name)
	case end == plan.Failed:
		fault = a.failure()
	}
	state := map[plan.State]deployments.State{plan.Succeeded: deployments.Succeeded, plan.Failed: deployments.Failed, plan.Canceled: deployments.Canceled}[end]
	if fault != nil && state == deployments.Succeeded {
		state = deployments.Failed
	}
	p.Error, p.ProvisioningState, p.Timestamp, p.Duration = fault, state.String(), now, duration(now.Sub(a.order.Now))
	for i, r := range a.planned.Resources {
		if a.plan.Steps[i].State == plan.Succeeded && !r.Existing && !a.records[i].LeftOut {
			p.OutputResources = append(p.OutputResources, Reference{ID: r.ID})
		}
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	operations, err := json.Marshal(a.operations())
	if err != nil {
		return err
	}
	failpoint.Pass(failpoint.DeployEndBefore)
	err = a.Store.Deployments.End(ctx, a.name, *a.job, deployments.Ended{
		State: state, Record: text, Operations: operations, Template: a.input.Template.Literal().AppendJSON(nil), Payload: Payload(a.plan.Counts()), Kept: a.Kept,
	})
	failpoint.Pass(failpoint.DeployEndAfter)
	return err
}

// failure is the error of a deployment some of whose steps have failed: a detail for each.
func (a *attempt) failure() *arm.Error {
	fault := arm.NewError(arm.DeploymentFailed).About(a.order.ID())
	for i := range a.records {
		if f := a.records[i].Fault; f != nil && a.plan.Steps[i].State == plan.Failed {
			detail := *f
			if detail.Target == "" {
				detail.Target = a.planned.Resources[i].ID
			}
			fault.Details = append(fault.Details, detail)
		}
	}
	for _, r := range a.sentRemovals() {
		if r.Fault != nil && r.state == plan.Failed {
			detail := *r.Fault
			detail.Target = cmp.Or(detail.Target, r.Target.ID)
			fault.Details = append(fault.Details, detail)
		}
	}
	return fault
}

// outputs are the deployment's outputs, of which secure ones have no value.
func (a *attempt) outputs(ctx context.Context) (map[string]Parameter, *arm.Error) {
	outputs := map[string]Parameter{}
	for _, o := range a.planned.Outputs {
		both, err := template.Finish(expr.ArrayOf(o.Condition, o.Value), a.input, func(q template.Question) (expr.Value, error) { return a.answer(ctx, q) })
		if err != nil {
			return nil, withoutSecrets(arm.NewError(arm.DeploymentOutputEvaluationFailed, o.Name, err.Error()), a.secrets(expr.Value{}))
		}
		if both.Element(0).Bool() {
			outputs[o.Name] = Shown(o.Type, both.Element(1))
		}
	}
	return outputs, nil
}

// secrets are those that the deployment was given, and those in a value.
func (a *attempt) secrets(v expr.Value) []string {
	var all []string
	for _, p := range a.planned.Parameters {
		all = secretsIn(p.Value, strings.HasPrefix(strings.ToLower(p.Type), "secure"), all)
	}
	all = secretsIn(v, false, all)
	slices.SortFunc(all, func(x, y string) int { return len(y) - len(x) }) // the longest first, of which others may be parts
	return slices.Compact(all)
}

// operations are the steps as clients see them.
func (a *attempt) operations() []Operation {
	all := make([]Operation, 0, len(a.records))
	for i := range a.records {
		if r := &a.records[i]; !r.Began.IsZero() {
			all = append(all, r.operation(a.order.ID(), a.job.ID, i, a.plan.Steps[i].State))
		}
	}
	for _, r := range a.sentRemovals() {
		all = append(all, r.operation(a.order.ID(), a.job.ID, r.number, r.state))
	}
	return all
}

// Record is what clients see of a deployment that begins.
func (o *Order) Record(p *template.Plan) Record {
	record := Record{ID: o.ID(), Name: o.Name, Type: deploymentType}
	if o.Scope.Group == "" {
		record.Location = o.Location
	}
	hash := sha256.Sum256(o.Content)
	record.Properties = Properties{TemplateHash: fmt.Sprint(binary.BigEndian.Uint64(hash[:])),
		Parameters: map[string]Parameter{}, Mode: o.mode(), ProvisioningState: "Accepted", Timestamp: o.Now, Duration: duration(0),
		CorrelationID: o.Correlation, Providers: []Provider{}, Dependencies: []Dependency{}}
	for _, v := range p.Parameters {
		record.Properties.Parameters[v.Name] = Shown(v.Type, v.Value)
	}
	for _, r := range p.Resources {
		if !r.Existing {
			record.add(r)
		}
	}
	return record
}

func (record *Record) add(r *template.Resource) {
	p := &record.Properties
	if len(r.DependsOn) > 0 {
		d := Dependency{Reference: Reference{r.ID, r.Type, r.Name}}
		for _, on := range r.DependsOn {
			d.DependsOn = append(d.DependsOn, Reference{on.ID, on.Type, on.Name})
		}
		p.Dependencies = append(p.Dependencies, d)
	}
	namespace, name, _ := strings.Cut(r.Type, "/")
	i := slices.IndexFunc(p.Providers, func(known Provider) bool { return arm.EqualFold(known.Namespace, namespace) })
	if i < 0 {
		i = len(p.Providers)
		p.Providers = append(p.Providers, Provider{Namespace: namespace})
	}
	types := &p.Providers[i].ResourceTypes
	k := slices.IndexFunc(*types, func(known ResourceType) bool { return arm.EqualFold(known.ResourceType, name) })
	if k < 0 {
		k = len(*types)
		*types = append(*types, ResourceType{ResourceType: name, Locations: []string{}})
	}
	if at := arm.Location(locationOf(r)); at != "" && !slices.Contains((*types)[k].Locations, at) {
		(*types)[k].Locations = append((*types)[k].Locations, at)
	}
}

// duration is a time as ISO 8601 has it.
func duration(d time.Duration) string {
	return fmt.Sprintf("PT%gS", max(0, d).Truncate(time.Millisecond).Seconds())
}
