package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"portico/arm"
	"portico/inventory/deploymentrow"
	"portico/jobs/deploy/deployplan"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

// Stored is the record of a deployment as the store keeps it.
type Stored struct {
	Record
	// Within is the step that runs a nested deployment; nil for others.
	Within *Within `json:"within,omitempty"`
	// First lists the steps that depend on no other, for operators while it runs.
	First []Reference `json:"first,omitempty"`
}

// Seen returns the record of a deployment as clients see it now.
func Seen(d deploymentrow.Deployment) (record Stored, err error) {
	if err = json.Unmarshal(d.Record, &record); err != nil {
		return record, fmt.Errorf("read the record of a deployment: %w", err)
	}
	record.Properties.ProvisioningState = d.State.String()
	return record, nil
}

// Within names the step of a deployment that runs a nested one.
type Within struct {
	Deployment deploymentrow.Name `json:"deployment"`
	Step       int                `json:"step"`
}

// unfolding records the content of a nested deployment when it began, so that the content is the
// same after a takeover.
type unfolding struct {
	From    int                        `json:"from"`    // the number of its first step
	Answers map[string]json.RawMessage `json:"answers"` // to the questions of its parameters

	reserved int64 // of the attempt's memory
}

// executeNested executes an order for a nested deployment.
func (a *attempt) executeNested(ctx context.Context, s *settled) {
	if s.Act == deployplan.Follow {
		a.endNested(ctx, s)
		return
	}
	s.record.Began, s.record.Fault = a.Store.Now(), nil
	s.step.recordTarget(&s.record)
	condition, err := a.evaluate(ctx, s.step.nested.Condition)
	switch {
	case err != nil:
		s.onError(err)
	case !condition.Bool():
		s.record, s.outcome = stepRecord{LeftOut: true}, deployplan.Done
	case a.findLocation(ctx, s) && (s.step.unfolds == nil || a.unfoldNested(ctx, s)):
		a.beginNested(ctx, s)
	}
	if s.outcome != deployplan.GoesOn {
		a.undoUnfold(s)
	}
}

// findLocation evaluates the location of a nested deployment, and reports whether that succeeded. A
// deployment in a group has none of its own.
func (a *attempt) findLocation(ctx context.Context, s *settled) bool {
	d := *s.step.nested
	if d.Scope.Group != "" {
		return true
	}
	var err error
	if d.Location, err = a.evaluate(ctx, d.Location); err == nil && !d.Location.Is(expr.String) {
		err = expr.Errorf("a deployment's location is a string, and this is %s", d.Location.Kind())
	}
	if err != nil {
		s.onError(err)
		return false
	}
	s.step.nested, s.record.Location = &d, d.Location.Text()
	return true
}

// NestedVersion is the api-version of requests for nested deployments.
const NestedVersion = "2021-04-01"

// beginNested sends a nested deployment as a request of the caller. The answer shows whether it
// has begun.
func (a *attempt) beginNested(ctx context.Context, s *settled) {
	record, err := a.textOfNested(s)
	if err != nil {
		s.refuse(err)
		return
	}
	calling, cancel := context.WithTimeout(ctx, a.CallLimit)
	defer cancel()
	answer, err := a.call(calling, Call{
		Method: http.MethodPut, Target: targetOf(s.step.nested.ID, NestedVersion), Content: record, Parent: &deploymentrow.Parent{Name: a.name, Job: *a.job},
	})
	switch {
	case err != nil: // it begins once, however often it is sent
		s.outcome = deployplan.Transient
	case answer.Status >= http.StatusMultipleChoices:
		s.record.Status = answer.Status
		s.onErrorResponse(answer)
	default:
		s.outcome = deployplan.GoesOn
	}
}

// undoUnfold undoes unfoldNested for a nested deployment that does not begin, or not yet, and releases its
// room.
func (a *attempt) undoUnfold(s *settled) {
	if s.grows != nil {
		a.room.Add(resourceCount(s.grows))
	}
	if s.record.Unfolded != nil {
		a.memory.Shrink(s.record.Unfolded.reserved)
	}
	a.space.Add(int64(s.record.Kept))
	s.grows, s.record.Unfolded, s.record.Kept = nil, nil, 0
}

// refuse ends the step with an ARM error; any other error ends the attempt.
func (s *settled) refuse(err error) {
	fault, refused := errors.AsType[*arm.Error](err)
	if !refused {
		s.err = err
		return
	}
	s.record.Status, s.record.Fault, s.outcome = fault.Status, fault, deployplan.Refused
}

func nestedName(d *template.Deployment) deploymentrow.Name {
	return deploymentrow.Name{Subscription: d.Scope.Subscription, Group: d.Scope.Group, Name: d.Name}
}

// nestedRecord returns the record of a nested deployment that runs.
func (a *attempt) nestedRecord(t *task) Stored {
	d := t.step.nested
	record := Record{ID: d.ID, Name: d.Name, Type: Type}
	if d.Scope.Group == "" {
		record.Location = arm.Location(cmp.Or(t.record.Location, d.Location.Text()))
	}
	record.Properties = newProperties(d.Template.Hash(), d.Parameters, "Incremental", a.order.Correlation, t.record.Began)
	record.add(t.steps, t.Step)
	return Stored{record, &Within{a.name, t.Step}, firstIn(t.steps, t.Step)}
}

// unfoldNested finds out which steps a nested deployment has, and reports whether it may begin.
func (a *attempt) unfoldNested(ctx context.Context, s *settled) bool {
	s.record.Unfolded = &unfolding{Answers: map[string]json.RawMessage{}}
	p, faults, err := a.unfoldByAnswers(ctx, s.step, s.Step, s.record.Unfolded.Answers, func(q template.Question) (string, expr.Value, error) {
		key, v, err := a.fetchAnswer(ctx, q)
		if err == nil {
			err = a.reserveMemory(ctx, int64(v.Size())) // for as long as it is recorded
		}
		if err == nil {
			s.record.Unfolded.reserved += int64(v.Size())
		}
		return key, v, err
	})
	if err == nil && len(faults) == 0 {
		if s.grows = p; a.room.Add(-resourceCount(p)) < 0 {
			faults = []*document.Fault{s.step.unfolds.Deployment.Template.Fault(template.Code,
				"with the resources of this nested deployment, the deployment has more than %d", template.MaxResources)}
		}
	}
	switch {
	case err != nil:
		s.onError(err)
	case len(faults) > 0:
		s.refuse(Refusal(faults))
	default:
		s.step.nested = withPlan(s.step.nested, p)
		return true
	}
	return false
}

// resourceCount returns the number of resources of a plan that count against the limit.
func resourceCount(p *template.Plan) int64 { return int64(len(p.Resources) + len(p.Deployments)) }

// unfoldByAnswers unfolds a nested deployment by answers, and adds the answers that ask returns. The error
// tells why a question has no answer.
func (a *attempt) unfoldByAnswers(
	ctx context.Context, s step, number int, answers map[string]json.RawMessage, ask func(template.Question) (key string, v expr.Value, err error),
) (*template.Plan, []*document.Fault, error) {
	in := a.input
	in.NewGUID = a.order.guids(fmt.Sprint(number))
	var failure error
	p, faults, err := s.unfolds.Unfold(ctx, in, func(v expr.Value) (expr.Value, error) {
		return a.evaluateWith(ctx, v, in, func(q template.Question) (expr.Value, error) {
			whole, part := keysOf(q)
			text, known := answers[whole]
			if !known {
				text, known = answers[part]
			}
			if !known {
				key, v, err := ask(q)
				if err != nil {
					failure = err
					return v, err
				}
				text = v.AppendJSON(nil)
				answers[key] = text
			}
			v := asAnswered(q, valueOf(text))
			a.known.hide("answer to "+whole, v)
			return partOf(q, v), nil
		})
	})
	if len(faults) > 0 {
		if p != nil {
			a.known.hide("plan "+arm.Fold(s.unfolds.Deployment.ID), p.Secrets...)
		}
		a.known.secrets().Faults(faults)
	}
	if err != nil {
		failure = errUnanswered
	}
	return p, faults, failure
}

var errUnknown = errors.New("the answer to a question is not recorded")

// addNestedSteps adds the steps in a nested deployment.
func (a *attempt) addNestedSteps(number int, p *template.Plan) (added []deployplan.PlannedStep, holds []int) {
	from := len(a.steps)
	all := stepsOf(p, from, number)
	for i := range all {
		if all[i].within == number {
			holds = append(holds, from+i)
		}
	}
	a.steps = append(slices.Clone(a.steps), all...) // orders under way use the former slice
	a.steps[number].nested = withPlan(a.steps[number].nested, p)
	a.known.addPlan(a.steps[number].nested.ID, p)
	a.records = append(a.records, make([]stepRecord, len(all))...)
	return plannedSteps(all, from), holds
}

func withPlan(d *template.Deployment, p *template.Plan) *template.Deployment {
	unfolded := *d
	unfolded.Parameters, unfolded.Outputs = p.Parameters, p.Outputs
	return &unfolded
}

// restoreNestedSteps adds the steps that nested deployments had when they began, in the order of their
// beginnings.
func (a *attempt) restoreNestedSteps(ctx context.Context, records map[int]stepRecord, steps []deployplan.PlannedStep) ([]deployplan.PlannedStep, error) {
	began := slices.DeleteFunc(slices.Collect(maps.Keys(records)), func(i int) bool { return records[i].Unfolded == nil })
	slices.SortFunc(began, func(x, y int) int { return records[x].Unfolded.From - records[y].Unfolded.From })
	for _, i := range began {
		if records[i].Unfolded.From < len(a.steps) {
			continue // they are there already
		}
		p, faults, err := a.unfoldByAnswers(ctx, a.steps[i], i, records[i].Unfolded.Answers, func(template.Question) (string, expr.Value, error) {
			return "", expr.Value{}, errUnknown
		})
		if len(faults) > 0 {
			err = cmp.Or(err, error(faults[0]))
		}
		if err != nil {
			return nil, fmt.Errorf("a nested deployment that had begun: %w", err)
		}
		for _, text := range records[i].Unfolded.Answers {
			a.memory.ForceGrow(int64(len(text)))
		}
		a.room.Add(-resourceCount(p))
		added, holds := a.addNestedSteps(i, p)
		steps[i].Holds = holds
		steps = append(steps, added...)
	}
	return steps, nil
}

// ending is the end of a nested deployment.
type ending struct {
	state      deployplan.State
	record     Stored
	operations []Operation
}

// endingOf returns the end of a task's nested deployment, which follows from its steps.
func (a *attempt) endingOf(t *task) *ending {
	e := &ending{record: a.nestedRecord(t), operations: a.operationsIn(t.Step, t.step.nested.ID)}
	e.state, _ = a.plan.NestedEnd(t.Step)
	p := &e.record.Properties
	switch e.state {
	case deployplan.Failed:
		p.Error = a.failure(t.Step, t.step.nested.ID)
	case deployplan.Canceled:
		p.Error = arm.NewError(arm.DeploymentCanceled, t.step.nested.Name)
	}
	p.OutputResources = a.outputResources(t.Step)
	return e
}

// endNested records the end of a nested deployment.
func (a *attempt) endNested(ctx context.Context, s *settled) {
	e := s.ending
	p := &e.record.Properties
	s.outcome = deployplan.Done
	if e.state == deployplan.Succeeded {
		before := s.record.Kept
		if name, err := a.outputs(ctx, &e.record, s.step.nested.Outputs, s); err != nil {
			a.space.Add(int64(s.record.Kept - before))
			s.record.Kept = before
			s.onError(err)
			if s.outcome != deployplan.Refused {
				return
			}
			e.state, p.Error = deployplan.Failed, outputFault(a.known.secrets(), name, err)
		}
	}
	var ended deploymentrow.Ended
	if ended, s.err = a.writeEnd(ctx, &s.task); ended.State != deploymentState[e.state] {
		s.outcome = deployplan.Refused // it is too large
	}
	if s.record.Status, s.record.Fault = http.StatusOK, ended.Error; ended.Error != nil {
		s.record.Status = http.StatusConflict // as in ARM
	}
}

// writeEnd records the ending of a nested deployment, also while its attempt is ending.
func (a *attempt) writeEnd(ctx context.Context, t *task) (deploymentrow.Ended, error) {
	e, now := t.ending, a.Store.Now()
	p := &e.record.Properties
	p.Timestamp, p.Duration = now, duration(now.Sub(t.record.Began))
	ended, err := e.record.end(deploymentState[e.state], p.Error, e.operations)
	if err == nil {
		err = a.Store.Deployments.EndNested(ctx, nestedName(t.step.nested), *a.job, ended)
	}
	return ended, err
}

// expireNested ends the nested deployments that had begun when the deployment's time ran out.
func (a *attempt) expireNested(ctx context.Context) error {
	for _, i := range a.expired {
		if a.steps[i].nested == nil || a.records[i].Began.IsZero() {
			continue
		}
		t := a.task(deployplan.Order{Step: i, Act: deployplan.Follow})
		t.ending.state, t.ending.record.Properties.Error = deployplan.Failed, a.records[i].Fault
		if _, err := a.writeEnd(ctx, &t); err != nil {
			return fmt.Errorf("record the end of a nested deployment: %w", err)
		}
	}
	return nil
}
