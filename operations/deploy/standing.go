package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/deployments"
	"portico/inventory/jobrow"
	"portico/operations/deploy/plan"
)

// ErrNoDeployment means that a job runs no deployment, or that its deployment is there no more.
var ErrNoDeployment = errors.New("deploy: the job has no deployment")

// NotSent is the state of a step that ended without being sent: its condition left it out, or
// something that it depends on has not succeeded.
const NotSent = "NotSent"

// Standing is how far a deployment and its steps are. There are no secrets in it.
type Standing struct {
	Record Record
	Steps  []StepStanding
}

// StepStanding is how far a step is.
type StepStanding struct {
	Reference
	State     string // that of the plan, or NotSent
	Removes   bool   // it is a deletion
	Within    string // the ID of the nested deployment that holds it
	DependsOn []string
	Began     time.Time // when it was last sent; zero: never
	Ended     time.Time // zero: it has not ended
	Status    string    // of the provider's last answer
	Fault     *arm.Error
	WaitsFor  string // why a deletion that was refused is tried again, if its resource's own write is the reason
}

// StandingOf reads how far the deployment of a job is. Once it has ended, those of its steps
// are left that were sent or depended on others. Its errors include [ErrNoDeployment].
func StandingOf(ctx context.Context, store *inventory.Store, job jobrow.Job) (s Standing, err error) {
	if job.Kind != deployments.Job {
		return s, ErrNoDeployment
	}
	found, err := store.Deployments.Deployment(ctx, nameOf(job))
	if errors.Is(err, inventory.ErrNotFound) || err == nil && found.Job != job.ID {
		return s, ErrNoDeployment
	}
	if err != nil {
		return s, err
	}
	stored, err := Seen(found)
	if err != nil {
		return s, err
	}
	s.Record = stored.Record
	if found.State == deployments.Running {
		d := &Deployer{Store: store}
		if s.Steps, err = d.stepStandings(ctx, job); !errors.Is(err, inventory.ErrNotFound) {
			return s, err // else it has ended just now
		}
	}
	e := endedSteps{store: store, job: job.ID, seen: map[string]bool{}}
	err = e.read(ctx, job.Subject, "")
	return Standing{s.Record, e.all}, err
}

// progress is how far a deployment that runs is, without carrying it on.
func (d *Deployer) progress(ctx context.Context, job jobrow.Job) (a *attempt, err error) {
	a = &attempt{Deployer: d, job: &job, name: nameOf(job)}
	if a.order, err = d.order(ctx, job); err == nil {
		err = a.load(ctx)
	}
	return a, err
}

// stepStandings are those of a deployment that runs.
func (d *Deployer) stepStandings(ctx context.Context, job jobrow.Job) (all []StepStanding, err error) {
	a, err := d.progress(ctx, job)
	if err != nil {
		return nil, err
	}
	for i := range a.steps {
		s := &a.steps[i]
		if s.existing() {
			continue
		}
		shown := a.records[i].standing(s.reference(), a.plan.Steps[i].State)
		for _, on := range s.dependsOn {
			if !a.steps[on].existing() {
				shown.DependsOn = append(shown.DependsOn, a.steps[on].reference().ID)
			}
		}
		if s.within != outermost {
			shown.Within = a.steps[s.within].reference().ID
		}
		all = append(all, shown)
	}
	for _, r := range a.sentRemovals() {
		shown := r.standing(*r.Target, r.state)
		if r.state == plan.Waiting {
			shown.WaitsFor = r.Plan.WaitsFor()
		}
		all = append(all, shown)
	}
	return all, nil
}

func (s *stepRecord) standing(of Reference, state plan.State) StepStanding {
	shown := StepStanding{Reference: of, State: state.String(), Removes: s.Removes, Began: s.Began, Ended: s.Ended}
	if state.Over() && s.Began.IsZero() {
		shown.State = NotSent
	}
	op := s.operation("", [16]byte{}, 0, state).Properties
	shown.Status = op.StatusCode
	if op.StatusMessage != nil {
		shown.Fault = op.StatusMessage.Error
	}
	return shown
}

// endedSteps are those of a deployment that has ended, and of those nested in it.
type endedSteps struct {
	store *inventory.Store
	job   [16]byte
	seen  map[string]bool // deployments, by their IDs
	all   []StepStanding
}

// read adds the steps of the deployment of an ID, if it is one of the job.
func (e *endedSteps) read(ctx context.Context, id, within string) error {
	if e.seen[arm.Fold(id)] {
		return nil
	}
	e.seen[arm.Fold(id)] = true
	parts := strings.SplitN(arm.Fold(id), "/", 4) // "", subscriptions, its ID, the rest
	if len(parts) < 4 {
		return nil
	}
	name := nameOf(jobrow.Job{Subscription: parts[2], Subject: id})
	found, err := e.store.Deployments.Deployment(ctx, name)
	if errors.Is(err, inventory.ErrNotFound) || err == nil && found.Job != e.job {
		return nil
	}
	if err != nil {
		return err
	}
	var record Record
	if err := json.Unmarshal(found.Record, &record); err != nil {
		return err
	}
	sent, err := endedOperations(ctx, e.store.Deployments, name, e.job)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return err
	}
	return e.add(ctx, within, sent, record.Properties.Dependencies)
}

// add adds steps that were sent, and those that depended on others and were not.
func (e *endedSteps) add(ctx context.Context, within string, sent []Operation, dependencies []Dependency) error {
	steps := make([]StepStanding, 0, len(sent))
	for _, o := range sent {
		if o.Properties.TargetResource != nil {
			steps = append(steps, o.standing(within))
		}
	}
	for _, d := range dependencies {
		at := slices.IndexFunc(steps, func(s StepStanding) bool { return arm.EqualFold(s.ID, d.ID) && !s.Removes })
		if at < 0 {
			at = len(steps)
			steps = append(steps, StepStanding{Reference: d.Reference, State: NotSent, Within: within})
		}
		for _, on := range d.DependsOn {
			steps[at].DependsOn = append(steps[at].DependsOn, on.ID)
		}
	}
	e.all = append(e.all, steps...)
	for _, s := range steps {
		if s.ResourceType != Type {
			continue
		}
		if err := e.read(ctx, s.ID, s.ID); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operation) standing(within string) StepStanding {
	p := o.Properties
	s := StepStanding{Reference: *p.TargetResource, State: p.ProvisioningState, Removes: p.ProvisioningOperation == "Delete", Within: within, Ended: p.Timestamp, Status: p.StatusCode}
	if took, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(p.Duration, "PT"))); err == nil {
		s.Began = s.Ended.Add(-took)
	}
	if p.StatusMessage != nil {
		s.Fault = p.StatusMessage.Error
	}
	return s
}
