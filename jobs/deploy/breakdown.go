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
	"portico/jobs"
	"portico/jobs/deploy/deployplan"
)

// notSent is the state of a step that ended without being sent: its condition left it out, or
// something that it depends on has not succeeded.
const notSent = "NotSent"

// breakdown implements Breakdown of [jobs.Description]. It only reads records: parameters and
// expressions are not evaluated. While the deployment runs, it lists the steps of a nested
// deployment once that has begun. Once the deployment has ended, it lists the steps that were
// sent or depended on others.
func (d *Deployer) breakdown(ctx context.Context, job jobrow.Job) (b jobs.Breakdown, err error) {
	r := recordedSteps{store: d.Store.Deployments, job: job, seen: map[string]bool{}}
	if r.running, err = d.Store.Deployments.Steps(ctx, nameOf(job), job.ID); err != nil { // before the deployment, which may end meanwhile
		return b, fmt.Errorf("read the steps of a deployment: %w", err)
	}
	found, err := d.Store.Deployments.Deployment(ctx, nameOf(job))
	if errors.Is(err, inventory.ErrNotFound) || err == nil && found.Job != job.ID {
		return b, jobs.ErrNoBreakdown
	}
	if err != nil {
		return b, fmt.Errorf("read a deployment: %w", err)
	}
	stored, err := Seen(found)
	if err != nil {
		return b, err
	}
	err = r.read(ctx, job.Subject, "")
	p := stored.Record.Properties
	return jobs.Breakdown{
		ID: stored.Record.ID, State: p.ProvisioningState, Mode: p.Mode, CorrelationID: p.CorrelationID, Fault: p.Error, Steps: r.all,
	}, err
}

func (s *stepRecord) breakdown(of Reference, state deployplan.State) jobs.BreakdownStep {
	shown := jobs.BreakdownStep{
		ID: of.ID, Type: of.ResourceType, State: state.String(), Removes: s.Removes, Began: s.Began, Ended: s.Ended,
	}
	if state.Over() && s.Began.IsZero() {
		shown.State = notSent
	}
	op := s.operation("", [16]byte{}, 0, state).Properties
	shown.Status = op.StatusCode
	if op.StatusMessage != nil {
		shown.Fault = op.StatusMessage.Error
	}
	return shown
}

// recordedSteps reads the records of the steps of a deployment, and of deployments nested in it.
type recordedSteps struct {
	store   *deploymentrow.Deployments
	job     jobrow.Job
	running map[int]deploymentrow.Step
	seen    map[string]bool // deployments, by their IDs
	all     []jobs.BreakdownStep
}

// read adds the steps of the deployment with an ID, if it belongs to the job.
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
			unsent = notSent
		}
		return e.add(ctx, within, sent, record, unsent)
	}
	operations, err := endedOperations(ctx, e.store, name, e.job.ID)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return err
	}
	var sent []jobs.BreakdownStep
	for _, o := range operations {
		if o.Properties.TargetResource != nil {
			sent = append(sent, o.breakdown(within))
		}
	}
	return e.add(ctx, within, sent, record, notSent)
}

// stepsOf returns the steps of a running deployment that were sent, or have ended.
func (e *recordedSteps) stepsOf(record Stored, within string) (steps []jobs.BreakdownStep, err error) {
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
		shown := r.breakdown(*r.Target, state)
		if shown.Within = within; r.Removes && state == deployplan.Waiting {
			shown.WaitsFor = r.Plan.WaitsFor()
		}
		steps = append(steps, shown)
	}
	return steps, nil
}

// add adds steps that were sent, and, in the state unsent, those that only the deployment's
// record names.
func (e *recordedSteps) add(ctx context.Context, within string, steps []jobs.BreakdownStep, record Stored, unsent string) error {
	place := func(of Reference) (at int) {
		at = slices.IndexFunc(steps, func(s jobs.BreakdownStep) bool { return arm.EqualFold(s.ID, of.ID) && !s.Removes })
		if at < 0 {
			at = len(steps)
			steps = append(steps, jobs.BreakdownStep{ID: of.ID, Type: of.ResourceType, State: unsent, Within: within})
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
		if s.Type != Type {
			continue
		}
		if err := e.read(ctx, s.ID, s.ID); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operation) breakdown(within string) jobs.BreakdownStep {
	p := o.Properties
	s := jobs.BreakdownStep{
		ID: p.TargetResource.ID, Type: p.TargetResource.ResourceType, State: p.ProvisioningState, Removes: p.ProvisioningOperation == "Delete", Within: within, Ended: p.Timestamp,
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
