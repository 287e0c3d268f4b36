package deploy

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"portico/arm"
	"portico/operations/deploy/secret"
	"portico/template"
	"portico/template/expr"
)

// known is what an attempt has learned of its deployment's values, and so which are secrets:
// the parameters that it and its nested deployments were given, the answers to questions, and
// the outputs of nested deployments by their folded IDs. It is safe for concurrent use.
type known struct {
	mu      sync.Mutex
	given   []template.Parameter
	answers map[string]expr.Value
	outputs map[string][]template.Output
}

// note adds what a plan is given, and what its nested deployments return.
func (k *known) note(p *template.Plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.given = append(k.given, p.Parameters...)
	for _, d := range p.Deployments {
		k.given = append(k.given, d.Parameters...)
		k.noteOutputs(d.ID, d.Outputs)
	}
}

// unfolded adds what a nested deployment turned out to hold.
func (k *known) unfolded(id string, p *template.Plan) {
	k.note(p)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noteOutputs(id, p.Outputs)
}

func (k *known) noteOutputs(id string, outputs []template.Output) {
	if k.outputs == nil {
		k.outputs = map[string][]template.Output{}
	}
	k.outputs[arm.Fold(id)] = outputs
}

func (k *known) outputsOf(id string) (outputs []template.Output, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	outputs, known = k.outputs[arm.Fold(id)]
	return outputs, known
}

func (k *known) noteAnswer(key string, v expr.Value) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answers == nil {
		k.answers = map[string]expr.Value{}
	}
	k.answers[key] = v
}

func (k *known) answer(key string) (v expr.Value, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, known = k.answers[key]
	return v, known
}

// secrets are those that the deployment was given, all that list* functions have answered,
// and those in values.
func (k *known) secrets(in ...expr.Value) secret.Secrets {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := slices.Clone(in)
	for _, p := range k.given {
		all = append(all, p.Value)
	}
	for key, v := range k.answers {
		if strings.HasPrefix(key, http.MethodPost) {
			all = append(all, v.AsSecure())
		}
	}
	return secret.In(all...)
}

// complete works a value of the plan out. Outputs of nested deployments are answered by the
// answers that they wait for themselves.
func (a *attempt) complete(v expr.Value, in template.Input, ask func(template.Question) (expr.Value, error)) (expr.Value, error) {
	return template.Finish(v, in, func(q template.Question) (expr.Value, error) {
		if !q.OfOutputs() {
			return ask(q)
		}
		outputs, known := a.known.outputsOf(q.ID)
		if !known {
			return expr.Value{}, expr.Errorf("the secure outputs of '%s' are known to the deployment that has it alone", q.ID)
		}
		return a.complete(template.OutputValues(outputs), in, ask)
	})
}
