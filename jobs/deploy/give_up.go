package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/deploy/deployplan"
)

// giveUp ends the step of a resource as the deployment's limit would: its provider may still
// finish the resource, and the deployment no longer waits for that.
func (d *Deployer) giveUp(ctx context.Context, job jobrow.Job, resource string) (done jobs.GivenUp, err error) {
	steps, err := d.Store.Deployments.Steps(ctx, nameOf(job), job.ID)
	if err != nil {
		return done, fmt.Errorf("read the steps of a deployment: %w", err)
	}
	i, record, err := d.unendedStep(steps, resource)
	if err == nil && record.Target == nil {
		err = d.notWaiting(ctx, job, resource)
	}
	if err != nil {
		return done, err
	}
	id := record.Target.ID
	record.Ended = d.Store.Now()
	record.Fault = arm.NewError(arm.DeploymentFailed).WithMessage("The resource '%s' had not come to an end when an operator gave it up.", id)
	text, err := json.Marshal(record)
	if err != nil {
		return done, err
	}
	step := deploymentrow.Step{State: uint8(deployplan.Failed), Record: text}
	if err := d.Store.Deployments.GiveUpStep(ctx, nameOf(job), job.ID, i, steps[i].State, step, fmt.Sprintf("An operator gave up %s.", id)); err != nil {
		return done, err
	}
	return jobs.GivenUp{
		Outcome: "The step fails. What depends on it ends, the other steps go on. Its provider may still finish the resource.",
		Next:    job.Kind, Count: func() { d.metrics.endStep(deployplan.Failed, &record) },
	}, nil
}

// unendedStep returns the step of a resource that was sent and has not ended, unless its call may
// be under way. The record has no target if there is none.
func (d *Deployer) unendedStep(steps map[int]deploymentrow.Step, resource string) (number int, record stepRecord, err error) {
	for i, s := range steps {
		var r stepRecord
		if err := json.Unmarshal(s.Record, &r); err != nil {
			return 0, r, fmt.Errorf("read the record of step %d: %w", i, err)
		}
		if i >= removalsFrom || r.Target == nil || !arm.EqualFold(r.Target.ID, resource) || r.Began.IsZero() || deployplan.State(s.State).Over() {
			continue
		}
		lands := r.Began.Add(d.CallLimit)
		switch {
		case arm.EqualFold(r.Target.ResourceType, Type):
			return 0, r, arm.NewError(arm.Conflict).WithMessage("A nested deployment ends with what it holds: give up the resources in it.")
		case deployplan.State(s.State) == deployplan.Sent && d.Store.Now().Before(lands):
			return 0, r, &inventory.ObstacleError{Obstacle: inventory.CallUnderWay, Until: lands}
		}
		return i, r, nil
	}
	return 0, record, nil
}

// notWaiting returns why there is no step of a resource to give up.
func (d *Deployer) notWaiting(ctx context.Context, job jobrow.Job, resource string) error {
	b, err := d.breakdown(ctx, job)
	switch {
	case err != nil && !errors.Is(err, jobs.ErrNoBreakdown):
		return err
	case slices.ContainsFunc(b.Steps, func(s jobs.BreakdownStep) bool {
		return arm.EqualFold(s.ID, resource) && s.State == deployplan.Waiting.String()
	}):
		return arm.NewError(arm.Conflict).WithMessage("The step was not sent yet: cancel the deployment.")
	}
	return arm.NewError(arm.Conflict).WithMessage("The deployment has no step of this resource that waits for its provider.")
}
