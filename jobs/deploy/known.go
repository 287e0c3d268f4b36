package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"portico/arm"
	"portico/events"
	"portico/jobs/deploy/secret"
	"portico/template"
	"portico/template/expr"
)

// known holds the values of a deployment that an attempt has learned, and which of them are
// secrets. It is safe for concurrent use.
type known struct {
	answers sync.Map // to questions, as remembered by their keys
	outputs sync.Map // of deployments of the plan, by folded IDs
	hidden  sync.Map // the texts of secrets, by the place where they came up
	// forgotten: an earlier attempt had secrets that this one does not know.
	forgotten atomic.Bool
}

// addPlan adds the outputs and secrets in the plan of the deployment with an ID.
func (k *known) addPlan(id string, p *template.Plan) {
	for _, d := range append([]*template.Deployment{{ID: id, Outputs: p.Outputs}}, p.Deployments...) {
		k.outputs.Store(arm.Fold(d.ID), d.Outputs)
	}
	k.hide("plan "+arm.Fold(id), p.Secrets...)
}

// hide hides the secrets in values from now on. They replace earlier ones of the same place.
func (k *known) hide(where string, values ...expr.Value) {
	if texts := secret.Texts(values...); len(texts) > 0 {
		k.hidden.Store(where, texts)
	}
}

// secrets returns all secrets that are known: of parameters and expressions, of the results of
// list* functions, and of bodies that were sent.
func (k *known) secrets() secret.Secrets {
	if k.forgotten.Load() {
		return secret.Unknown()
	}
	var all []string
	for _, texts := range k.hidden.Range {
		all = append(all, texts.([]string)...)
	}
	return secret.Of(all)
}

// mask hides the secrets in an error that are known by now.
func (k *known) mask(fault *arm.Error) *arm.Error { return k.secrets().Error(fault) }

// masked returns a sender whose calls have their errors masked wherever they are recorded.
func (k *known) masked(send Sender) Sender {
	return func(ctx context.Context, c Call) (Response, error) {
		for range k.hidden.Range {
			return send(events.WithMask(ctx, k.mask), c)
		}
		return send(ctx, c)
	}
}

// recordedSecrets bounds the secrets that a step's record keeps, in bytes.
const recordedSecrets = 64 << 10

// recordable returns the secrets in the body of a resource; nil if they are too long to be recorded.
func (k *known) recordable(id string) []string {
	found, _ := k.hidden.Load("sent " + id)
	texts, _ := found.([]string)
	if secret.Size(texts) > recordedSecrets {
		return nil
	}
	return append([]string{}, texts...)
}

// addRecorded adds the secrets in a step's record, as they come from answers and cannot be
// evaluated again.
func (k *known) addRecorded(number int, s *step, r *stepRecord) {
	if r.Began.IsZero() || s.resource == nil || s.resource.Existing || !dependsOnAnswers(s.resource) {
		return
	}
	if _, had := k.hidden.Load("sent " + s.resource.ID); r.Secrets == nil && !had {
		k.forgotten.Store(true)
	}
	if r.Secrets != nil {
		k.hidden.Store(fmt.Sprint("record ", number), r.Secrets)
	}
}

// dependsOnAnswers reports whether the body of a resource depends on answers.
func dependsOnAnswers(r *template.Resource) bool { return !r.Body.Known() || !r.Condition.Known() }

// evaluate evaluates a value of the plan with the present answers to its questions. It does not
// mark results of list* functions as secrets: if a template makes an output of one, it is shown.
func (a *attempt) evaluate(ctx context.Context, v expr.Value) (expr.Value, error) {
	ask := func(q template.Question) (expr.Value, error) { return a.answerQuestion(ctx, q) }
	done, err := a.evaluateWith(ctx, v, a.input, ask)
	if _, refused := errors.AsType[*arm.Error](err); err != nil && !refused && !errors.Is(err, errUnanswered) { // its text may contain answers
		_, hiding := a.evaluateWith(ctx, v, a.input, func(q template.Question) (expr.Value, error) {
			v, err := ask(q)
			return asAnswered(q, v), err
		})
		err = cmp.Or(hiding, err)
	}
	return done, err
}

// evaluateWith evaluates a value of the plan. It evaluates the outputs of each deployment once; an
// output that refers to itself sees null there. The error is errUnanswered if the attempt ends
// before.
func (a *attempt) evaluateWith(ctx context.Context, v expr.Value, in template.Input, ask func(template.Question) (expr.Value, error)) (expr.Value, error) {
	worked := map[string]expr.Value{}
	var answer func(template.Question) (expr.Value, error)
	answer = func(q template.Question) (expr.Value, error) {
		if !q.AsksForOutputs() {
			a.known.hide("values of "+callOf(q).key(), q.Values)
			v, err := ask(q)
			if fault, is := errors.AsType[*arm.Error](err); is {
				err = a.known.mask(fault)
			}
			return v, err
		}
		id := arm.Fold(q.ID)
		if v, begun := worked[id]; begun {
			return v, nil
		}
		outputs, known := a.known.outputs.Load(id)
		if !known {
			return expr.Value{}, expr.Errorf("the secure outputs of '%s' are known to the deployment that has it alone", q.ID)
		}
		worked[id] = expr.Value{}
		v, err := template.Finish(ctx, template.OutputValues(outputs.([]template.Output)), in, answer)
		worked[id] = v
		return v, err
	}
	v, err := template.Finish(ctx, v, in, answer)
	if err != nil && ctx.Err() != nil {
		err = errUnanswered
	}
	return v, err
}
