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

// Sent is a resource as a template would send it. What needs an answer, or is a secret, is an
// expression in the body.
type Sent struct {
	ID, Path, Type, Name, APIVersion string
	Body                             []byte
	OnlyIfNotExists                  bool // it is sent if it does not exist
	Nested                           bool // it is a deployment, whose body is what clients see of it
}

// nested are the deployments that a template is known to begin.
func nested(deployments []*template.Deployment) (sent []Sent) {
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

// sentBy are the resources that a template is known to send before it is deployed.
func sentBy(resources []*template.Resource) (sent []Sent) {
	for _, planned := range resources {
		if certain(planned) {
			sent = append(sent, Sent{
				ID: planned.ID, Path: pathOf(planned.ID), Type: planned.Type, Name: planned.Name, APIVersion: planned.APIVersion,
				Body: secret.Conceal(planned.Body).AppendJSON(nil), OnlyIfNotExists: planned.Options.OnlyIfNotExists,
			})
		}
	}
	return sent
}

// kind is what tells planned ones apart that are judged alike: by where the template declares
// them and where they are.
type kind struct {
	at       *document.Node
	scope    expr.Scope
	location string
}

// samples returns what is sent without those that a loop makes in a place where it makes
// another one: judging one costs half as much as sending it, and by loops they are many.
func (of *proposal) samples() []Sent {
	nestings := oneOfEach(of.Nested(), func(d *template.Deployment) kind {
		return kind{d.Template, d.Scope, arm.Location(d.Location.Text())}
	})
	resources := oneOfEach(of.Resources, func(r *template.Resource) kind {
		location, _ := r.Body.Member("location")
		return kind{r.At, r.Scope, arm.Location(location.Text())}
	})
	return append(nested(nestings), sentBy(resources)...)
}

func oneOfEach[T any](all []T, kindOf func(T) kind) (chosen []T) {
	seen := map[kind]bool{}
	for _, planned := range all {
		if k := kindOf(planned); !seen[k] {
			seen[k] = true
			chosen = append(chosen, planned)
		}
	}
	return chosen
}

// Judge returns the refusals of resources that a template would send, in their order,
// each as if those before it existed; nil: no judge refuses it. Without write, it is enough that
// the caller may read them.
type Judge func(r *http.Request, x *exchange.Exchange, subscription string, sent []Sent, withoutWrite bool) ([]*arm.Error, error)

// check refuses a deployment of a name if any of its resources would be refused, as far as the
// validation level has them judged.
func (judge Judge) check(r *http.Request, x *exchange.Exchange, scope expr.Scope, name string, sent []Sent, level string) error {
	if len(sent) == 0 || level == ofTemplate {
		return nil
	}
	faults, err := judge(r, x, scope.Subscription, sent, level == withoutRbac)
	if err != nil {
		return err
	}
	var refusals []arm.Error
	for i, fault := range faults {
		if fault != nil {
			refusals = append(refusals, fault.DetailOf(sent[i].ID))
		}
	}
	return invalid(name, refusals)
}

// invalid refuses a deployment of a name for all that would be refused of it; nil: nothing.
func invalid(name string, refusals []arm.Error) error {
	if len(refusals) == 0 {
		return nil
	}
	refusal := arm.NewError(arm.InvalidTemplateDeployment, name)
	refusal.Details = refusals
	return refusal
}
