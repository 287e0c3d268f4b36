package deploy

import (
	"context"
	"encoding/json"
	"fmt"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/deployments"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/operations/deploy/plan"
)

// giveUp ends the step of a resource as the deployment's limit would: its provider may still
// finish the resource, and the deployment no longer waits for that.
func (d *Deployer) giveUp(ctx context.Context, job jobrow.Job, resource string) (done jobs.GivenUp, err error) {
	a, err := d.progress(ctx, job)
	if err != nil {
		return done, err
	}
	i, err := a.hanging(resource)
	if err != nil {
		return done, err
	}
	id, before, record := a.steps[i].reference().ID, a.plan.Steps[i].State, a.records[i]
	record.Ended = d.Store.Now()
	record.Fault = arm.NewError(arm.DeploymentFailed).Saying("The resource '%s' had not come to an end when an operator gave it up.", id)
	text, err := json.Marshal(record)
	if err != nil {
		return done, err
	}
	step := deployments.Step{State: uint8(plan.Failed), Record: text}
	if err := d.Store.Deployments.GiveUpStep(ctx, a.name, job.ID, i, uint8(before), step, fmt.Sprintf("An operator gave up %s.", id)); err != nil {
		return done, err
	}
	if !engine.Rehearsed(ctx) {
		d.metrics.endStep(plan.Failed, &record)
	}
	return jobs.GivenUp{Outcome: "The step fails. What depends on it ends, the other steps go on. Its provider may still finish the resource.", Next: job.Kind}, nil
}

// hanging is the step of a resource that was sent and has not ended, unless its call may be
// under way.
func (a *attempt) hanging(resource string) (number int, err error) {
	err = arm.NewError(arm.Conflict).Saying("The deployment has no step of this resource that waits for its provider.")
	for i := range a.steps {
		s := &a.steps[i]
		if !arm.EqualFold(s.reference().ID, resource) || a.plan.Steps[i].State.Over() {
			continue
		}
		lands := a.records[i].Began.Add(a.CallLimit)
		switch {
		case s.nested != nil:
			err = arm.NewError(arm.Conflict).Saying("A nested deployment ends with what it holds: give up the resources in it.")
		case a.records[i].Began.IsZero():
			err = arm.NewError(arm.Conflict).Saying("The step was not sent yet: cancel the deployment.")
		case a.plan.Steps[i].State == plan.Sent && a.Store.Now().Before(lands):
			err = &inventory.ObstacleError{Obstacle: inventory.CallUnderWay, Until: lands}
		default:
			return i, nil
		}
	}
	return 0, err
}
