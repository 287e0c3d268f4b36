package deploy

import (
	"context"
	"slices"
	"sync"

	"portico/arm"
	"portico/operations/deploy/secret"
	"portico/template"
	"portico/template/expr"
)

// known is what an attempt has learned of its deployment's values, and so which are secrets.
// It is safe for concurrent use.
type known struct {
	answers sync.Map // to questions, as remembered by their keys
	outputs sync.Map // of deployments of the plan, by folded IDs
	mu      sync.Mutex
	given   []expr.Value // to all deployments of the plan
}

// note adds what the deployment of an ID holds.
func (k *known) note(id string, p *template.Plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range append([]*template.Deployment{{ID: id, Outputs: p.Outputs, Parameters: p.Parameters}}, p.Deployments...) {
		k.outputs.Store(arm.Fold(d.ID), d.Outputs)
		for _, parameter := range d.Parameters {
			k.given = append(k.given, parameter.Value)
		}
	}
}

// secrets are those that the deployment was given, all that list* functions have answered,
// and those in values.
func (k *known) secrets(in ...expr.Value) secret.Secrets {
	k.mu.Lock()
	all := slices.Concat(in, k.given)
	k.mu.Unlock()
	for key, r := range k.answers.Range {
		if holdsSecrets(key.(string)) {
			all = append(all, r.(remembered).read().AsSecure())
		}
	}
	return secret.In(all...)
}

// finished works a value of the plan out by the answers that its questions have now.
func (a *attempt) finished(ctx context.Context, v expr.Value) (expr.Value, error) {
	return a.complete(v, a.input, func(q template.Question) (expr.Value, error) { return a.answer(ctx, q) })
}

// complete works a value of the plan out. Outputs of its deployments are worked out once, by
// answers to what they wait for; those that need themselves are null to themselves.
func (a *attempt) complete(v expr.Value, in template.Input, ask func(template.Question) (expr.Value, error)) (expr.Value, error) {
	worked := map[string]expr.Value{}
	var answer func(template.Question) (expr.Value, error)
	answer = func(q template.Question) (expr.Value, error) {
		if !q.OfOutputs() {
			return ask(q)
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
		v, err := template.Finish(template.OutputValues(outputs.([]template.Output)), in, answer)
		worked[id] = v
		return v, err
	}
	return template.Finish(v, in, answer)
}
