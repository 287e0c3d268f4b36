package deployments

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/jobs/deploy"
	"portico/jobs/deploy/secret"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

// Sent is a resource as a template would send it. A part of the body that needs an
// answer, or is a secret, is an expression.
type Sent struct {
	ID, Path, Type, Name, APIVersion string
	Body                             []byte
	OnlyIfNotExists                  bool // it is sent only if it does not exist
	Nested                           bool // it is a deployment, whose body is its record for clients
}

// nestedSent returns the deployments that a template is known to begin.
func nestedSent(deployments []*template.Deployment) (sent []Sent) {
	for _, d := range deployments {
		if !d.Condition.Is(expr.Bool) {
			continue
		}
		body := expr.ObjectOf()
		if d.Scope.Group == "" {
			body = expr.ObjectOf(expr.Member{Name: "location", Value: d.Location})
		}
		sent = append(sent, Sent{
			ID: d.ID, Path: pathOf(d.ID), Type: deploy.Type, Name: d.Name, APIVersion: deploy.NestedVersion,
			Body: secret.Conceal(body).AppendJSON(nil), Nested: true,
		})
	}
	return sent
}

// resourcesSent returns the resources that a template is known to send before it is
// deployed.
func resourcesSent(resources []*template.Resource) (sent []Sent) {
	for _, planned := range resources {
		if certainlySent(planned) {
			sent = append(sent, Sent{
				ID: planned.ID, Path: pathOf(planned.ID), Type: planned.Type, Name: planned.Name, APIVersion: planned.APIVersion,
				Body: secret.Conceal(planned.Body).AppendJSON(nil), OnlyIfNotExists: planned.Options.OnlyIfNotExists,
			})
		}
	}
	return sent
}

// sampleKey identifies resources that are checked alike: by their place in the template,
// and their scope and location.
type sampleKey struct {
	at       *document.Node
	scope    expr.Scope
	location string
}

// samples returns the sent resources with only one of each loop for each scope and
// location: a check costs half as much as sending, and loops make many resources.
func (p *proposal) samples() []Sent {
	nestings := oneOfEach(p.Nested(), func(d *template.Deployment) sampleKey {
		return sampleKey{d.Template, d.Scope, arm.Location(d.Location.Text())}
	})
	resources := oneOfEach(p.Resources, func(r *template.Resource) sampleKey {
		location, _ := r.Body.Member("location")
		return sampleKey{r.At, r.Scope, arm.Location(location.Text())}
	})
	return append(nestedSent(nestings), resourcesSent(resources)...)
}

func oneOfEach[T any](all []T, kindOf func(T) sampleKey) (chosen []T) {
	seen := map[sampleKey]bool{}
	for _, planned := range all {
		if k := kindOf(planned); !seen[k] {
			seen[k] = true
			chosen = append(chosen, planned)
		}
	}
	return chosen
}

// Checker returns the refusals of resources that a template would send, in their order,
// each as if those before it existed; nil for a resource that is not refused. With
// withoutWrite, the caller needs only read access.
type Checker func(r *http.Request, x *exchange.Exchange, subscription string, sent []Sent, withoutWrite bool) ([]*arm.Error, error)

// check refuses a deployment if any of its resources would be refused, by the checks of
// the validation level.
func (c Checker) check(r *http.Request, x *exchange.Exchange, scope expr.Scope, name string, sent []Sent, level string) error {
	if len(sent) == 0 || level == levelTemplate {
		return nil
	}
	faults, err := c(r, x, scope.Subscription, sent, level == levelProviderNoRBAC)
	if err != nil {
		return err
	}
	var refusals []arm.Error
	for i, fault := range faults {
		if fault != nil {
			refusals = append(refusals, fault.DetailOf(sent[i].ID))
		}
	}
	return invalidDeployment(name, refusals)
}

// invalidDeployment returns the error for a deployment with all its refusals, nil if
// there are none.
func invalidDeployment(name string, refusals []arm.Error) error {
	if len(refusals) == 0 {
		return nil
	}
	refusal := arm.NewError(arm.InvalidTemplateDeployment, name)
	refusal.Details = refusals
	return refusal
}
