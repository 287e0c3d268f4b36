package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/jobrow"
	"portico/jobs/deploy/deployplan"
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

// StandingOf reads how far the deployment of a job is, by what is recorded of it: nothing is
// worked out. While it runs, what a nested deployment holds is shown once that has begun. Once
// it has ended, those of its steps are left that were sent or depended on others. Its errors
// include [ErrNoDeployment].
func StandingOf(ctx context.Context, store *deploymentrow.Deployments, job jobrow.Job) (s Standing, err error) {
	if job.Kind != deploymentrow.Job {
		return s, ErrNoDeployment
	}
	r := recordedSteps{store: store, job: job, seen: map[string]bool{}}
	if r.running, err = store.Steps(ctx, nameOf(job), job.ID); err != nil { // before the deployment, which may end meanwhile
		return s, fmt.Errorf("read the steps of a deployment: %w", err)
	}
	found, err := store.Deployment(ctx, nameOf(job))
	if errors.Is(err, inventory.ErrNotFound) || err == nil && found.Job != job.ID {
		return s, ErrNoDeployment
	}
	if err != nil {
		return s, fmt.Errorf("read a deployment: %w", err)
	}
	stored, err := Seen(found)
	if err != nil {
		return s, err
	}
	err = r.read(ctx, job.Subject, "")
	return Standing{stored.Record, r.all}, err
}

func (s *stepRecord) standing(of Reference, state deployplan.State) StepStanding {
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

// recordedSteps are the steps of a deployment, and of those nested in it, as they are recorded.
type recordedSteps struct {
	store   *deploymentrow.Deployments
	job     jobrow.Job
	running map[int]deploymentrow.Step
	seen    map[string]bool // deployments, by their IDs
	all     []StepStanding
}

// read adds the steps of the deployment of an ID, if it is one of the job.
func (e *recordedSteps) read(ctx context.Context, id, within string) error {
	if e.seen[arm.Fold(id)] {
		return nil
	}
	e.seen[arm.Fold(id)] = true
	parts := strings.SplitN(arm.Fold(id), "/", 4) // "", subscriptions, its ID, the rest
	if len(parts) < 4 {
		return nil
	}
	name := nameOf(jobrow.Job{Subscription: parts[2], Subject: id})
	found, err := e.store.Deployment(ctx, name)
	if errors.Is(err, inventory.ErrNotFound) || err == nil && found.Job != e.job.ID {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a nested deployment: %w", err)
	}
	var record Stored
	if err := json.Unmarshal(found.Record, &record); err != nil {
		return fmt.Errorf("read the record of a nested deployment: %w", err)
	}
	if found.State == deploymentrow.Running {
		sent, err := e.stepsOf(record, within)
		if err != nil {
			return err
		}
		unsent := deployplan.Waiting.String()
		if e.job.State == jobrow.Cancelling {
			unsent = NotSent
		}
		return e.add(ctx, within, sent, record, unsent)
	}
	operations, err := endedOperations(ctx, e.store, name, e.job.ID)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return err
	}
	var sent []StepStanding
	for _, o := range operations {
		if o.Properties.TargetResource != nil {
			sent = append(sent, o.standing(within))
		}
	}
	return e.add(ctx, within, sent, record, NotSent)
}

// stepsOf returns the steps of a deployment that runs which were sent, or have ended.
func (e *recordedSteps) stepsOf(record Stored, within string) (steps []StepStanding, err error) {
	holder := 0
	if record.Within != nil {
		holder = record.Within.Step + 1
	}
	for _, number := range slices.Sorted(maps.Keys(e.running)) {
		var r removal // or a step, which has the record that it begins with
		if err := json.Unmarshal(e.running[number].Record, &r); err != nil {
			return nil, fmt.Errorf("read the record of step %d: %w", number, err)
		}
		if r.Target == nil || r.stepRecord.Within != holder || r.Removes && r.Began.IsZero() {
			continue
		}
		state := deployplan.State(e.running[number].State)
		shown := r.standing(*r.Target, state)
		if shown.Within = within; r.Removes && state == deployplan.Waiting {
			shown.WaitsFor = r.Plan.WaitsFor()
		}
		steps = append(steps, shown)
	}
	return steps, nil
}

// add adds steps that were sent, and those that are known of the deployment's record alone, as
// in the state unsent.
func (e *recordedSteps) add(ctx context.Context, within string, steps []StepStanding, record Stored, unsent string) error {
	place := func(of Reference) (at int) {
		at = slices.IndexFunc(steps, func(s StepStanding) bool { return arm.EqualFold(s.ID, of.ID) && !s.Removes })
		if at < 0 {
			at = len(steps)
			steps = append(steps, StepStanding{Reference: of, State: unsent, Within: within})
		}
		return at
	}
	for _, first := range record.First {
		place(first)
	}
	for _, d := range record.Properties.Dependencies {
		at := place(d.Reference)
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
	s := StepStanding{
		Reference: *p.TargetResource, State: p.ProvisioningState, Removes: p.ProvisioningOperation == "Delete", Within: within, Ended: p.Timestamp,
		Status: p.StatusCode,
	}
	if took, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(p.Duration, "PT"))); err == nil {
		s.Began = s.Ended.Add(-took)
	}
	if p.StatusMessage != nil {
		s.Fault = p.StatusMessage.Error
	}
	return s
}
