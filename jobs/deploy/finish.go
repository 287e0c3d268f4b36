package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory/deploymentrow"
	"portico/jobs/deploy/deployplan"
	"portico/jobs/deploy/secret"
	"portico/template"
	"portico/template/expr"
)

// finish records how the deployment has ended.
func (a *attempt) finish(ctx context.Context, end deployplan.State) error {
	if err := a.expireNested(ctx); err != nil {
		return err
	}
	ctx, release := a.withHeldAnswers(ctx)
	defer release()
	now := a.Store.Now()
	record := a.order.Record(a.input.Template, a.planned)
	p := &record.Properties
	var fault *arm.Error
	if end == deployplan.Succeeded {
		name, err := a.outputs(ctx, &record, a.planned.Outputs, nil)
		switch {
		case errors.Is(err, errUnanswered):
			return err
		case err != nil:
			fault = outputFault(a.known.secrets(), name, err)
		}
	}
	switch {
	case end == deployplan.Canceled:
		fault = arm.NewError(arm.DeploymentCanceled, a.order.Name)
	case end == deployplan.Failed:
		fault = a.failure(outermost, a.order.ID())
	}
	state := deploymentState[end]
	if fault != nil && state == deploymentrow.Succeeded {
		state = deploymentrow.Failed
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
	if err != nil {
		return fmt.Errorf("record the end of a deployment: %w", err)
	}
	a.metrics.end(ended.Error, now.Sub(a.order.Now))
	return nil
}

// deploymentState maps the states of plans to states of deployments.
var deploymentState = map[deployplan.State]deploymentrow.State{deployplan.Succeeded: deploymentrow.Succeeded, deployplan.Failed: deploymentrow.Failed, deployplan.Canceled: deploymentrow.Canceled}

// outputResources returns the resources that a deployment created, nested deployments included.
func (a *attempt) outputResources(within int) []Reference {
	references := []Reference{}
	for _, i := range stepsWithin(a.steps, within) {
		if r := a.steps[i].resource; r != nil && a.plan.Steps[i].State == deployplan.Succeeded && !r.Existing && !a.records[i].LeftOut && !a.records[i].Existed {
			references = append(references, Reference{ID: r.ID})
		}
	}
	return references
}

// failure returns the error of a failed deployment, with a detail for each step that failed.
func (a *attempt) failure(within int, id string) *arm.Error {
	fault := arm.NewError(arm.DeploymentFailed).WithTarget(id)
	for i := range a.records {
		if f := a.records[i].Fault; f != nil && a.steps[i].within == within && a.plan.Steps[i].State == deployplan.Failed {
			detail := *f
			detail.Target = cmp.Or(detail.Target, a.steps[i].reference().ID)
			fault.Details = append(fault.Details, detail)
		}
	}
	for _, r := range a.sentRemovals() {
		if r.Fault != nil && r.state == deployplan.Failed && within == outermost {
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

// outputs evaluates outputs and adds them to a record, secure ones without values. A result of a
// list* function is shown if the template declares its output with a type that is not secure, as
// in ARM. After an error, name is the output that failed. nested is the task of a nested
// deployment, nil for others.
func (a *attempt) outputs(ctx context.Context, record *Stored, of []template.Output, nested *settled) (name string, err error) {
	outputs := map[string]Parameter{}
	for _, o := range of {
		condition, err := a.evaluate(ctx, o.Condition)
		if err == nil && !condition.Bool() {
			continue
		}
		var value expr.Value
		if err == nil {
			value, err = a.evaluate(ctx, o.Value)
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
			if err := a.reserveSpace(nested, n); err != nil {
				return o.Name, err
			}
		}
	}
	record.Properties.Outputs = outputs
	return "", nil
}

// outputFault returns the error of an output that cannot be evaluated, with the error of the
// response that it needs as a detail.
func outputFault(secrets secret.Secrets, name string, err error) *arm.Error {
	fault := arm.NewError(arm.DeploymentOutputEvaluationFailed, name, err.Error())
	if refused, is := errors.AsType[*arm.Error](err); is {
		fault.Details = []arm.Error{*refused}
	}
	return secrets.Error(fault)
}

// operations returns all steps as clients see them.
func (a *attempt) operations() []Operation {
	all := a.operationsIn(outermost, a.order.ID())
	for _, r := range a.sentRemovals() {
		all = append(all, r.operation(a.order.ID(), a.job.ID, r.number, r.state))
	}
	return all
}

// operationsIn returns the steps directly in a deployment, which has the given ID, as clients see
// them.
func (a *attempt) operationsIn(within int, id string) []Operation {
	all := make([]Operation, 0, len(a.records))
	for i := range a.records {
		if r := &a.records[i]; !r.Began.IsZero() && a.steps[i].within == within {
			all = append(all, r.operation(id, a.job.ID, i, a.plan.Steps[i].State))
		}
	}
	return all
}
