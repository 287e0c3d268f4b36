// Package whatif compares what a deployment would send with what stands, and answers the
// changes as Azure Resource Manager does. It is pure.
//
// A property counts as changed only if the template's value differs from the one that was
// sent last, or the provider's from the one that it answered then: what a provider adds,
// reorders, writes in another casing or hides is no change. Of a resource that no deployment
// has sent, the members that the template names are compared with what the provider holds.
package whatif

import (
	"encoding/json"

	"portico/jobs/deploy/secret"
	"portico/template/expr"
)

// Type is what becomes of a resource.
type Type string

// The types of changes. Deploy stands for Modify and NoChange where only ids are asked for.
const (
	Create      Type = "Create"
	Modify      Type = "Modify"
	NoChange    Type = "NoChange"
	Deploy      Type = "Deploy"
	Ignore      Type = "Ignore"
	Delete      Type = "Delete"
	Unsupported Type = "Unsupported"
)

// Change is what becomes of one resource.
type Change struct {
	ID     string           `json:"resourceId"`
	Type   Type             `json:"changeType"`
	Reason string           `json:"unsupportedReason,omitempty"`
	Before json.RawMessage  `json:"before,omitempty"`
	After  json.RawMessage  `json:"after,omitempty"`
	Delta  []PropertyChange `json:"delta,omitempty"`
}

// PropertyType is what becomes of a property.
type PropertyType string

// The types of changes of properties. An Array has its changes as Children.
const (
	PropertyCreate PropertyType = "Create"
	PropertyDelete PropertyType = "Delete"
	PropertyModify PropertyType = "Modify"
	PropertyArray  PropertyType = "Array"
)

// PropertyChange is what becomes of one property. The path of a child begins at its parent:
// of an element it is the index that the template gives it, or of one that goes its present
// index.
type PropertyChange struct {
	Path     string           `json:"path"`
	Type     PropertyType     `json:"propertyChangeType"`
	Before   json.RawMessage  `json:"before,omitempty"`
	After    json.RawMessage  `json:"after,omitempty"`
	Children []PropertyChange `json:"children,omitempty"`
}

// Planned is a resource that a template sends. Parts of its body may be Pending, or Secure.
type Planned struct {
	ID, Type, Name, APIVersion string
	Body                       expr.Value
	OnlyIfNotExists            bool // what stands is left as it is
}

// Record is what was sent last of a resource, as [secret.Keep] keeps it, and what its provider
// answered in the end.
type Record struct{ Sent, Answered expr.Value }

// Compare says what becomes of a planned resource. The current resource is null where
// there is none. last is nil where no deployment has sent it; digest is the one that last was
// recorded with. Without it, nothing in the change depends on what the secrets in last are.
func Compare(p *Planned, stands expr.Value, last *Record, digest secret.Digest) Change {
	c := Change{ID: p.ID, Type: Create, After: p.document()}
	if !stands.Is(expr.Object) {
		return c
	}
	steps := mostSteps
	d := differ{recorded: last != nil, digest: digest, secrets: secret.In(p.Body), steps: &steps}
	shown := d.secrets.Value(stands)
	s := sides{planned: p.Body, sent: stands, answered: stands, now: stands}
	if last != nil {
		s = sides{planned: p.Body, sent: last.Sent, answered: last.Answered, now: shown} // as what was answered
	}
	c.Before = text(withVersion(p.APIVersion, secret.Hidden(shown, s.sent)))
	if p.OnlyIfNotExists {
		c.Type, c.After = NoChange, c.Before
		return c
	}
	d.members("", s)
	c.Type, c.Delta = NoChange, d.found
	if len(d.found) > 0 {
		c.Type = Modify
	}
	return c
}

// Holds reports whether the current resource contains everything that was sent, by the
// comparison that [Compare] makes without a record.
func Holds(stands, sent expr.Value) bool {
	steps := mostSteps
	d := differ{steps: &steps}
	d.members("", sides{planned: sent, sent: stands, answered: stands, now: stands})
	return len(d.found) == 0
}

// Gone is the change of a resource that the template does not name: it is deleted in
// complete mode, and else ignored.
func Gone(id string, stands expr.Value, complete bool) Change {
	c := Change{ID: id, Type: Ignore, Before: text(stands)}
	if complete {
		c.Type = Delete
	}
	return c
}

// NotCompared is the change of a resource that cannot be compared.
func NotCompared(p *Planned, reason string) Change {
	return Change{ID: p.ID, Type: Unsupported, Reason: reason, After: p.document()}
}

// WithoutPayload is the change by its resource's ID alone.
func (c Change) WithoutPayload() Change {
	if c.Type == Modify || c.Type == NoChange {
		c.Type = Deploy
	}
	return Change{ID: c.ID, Type: c.Type, Reason: c.Reason}
}

// document is the resource as it would stand.
func (p *Planned) document() json.RawMessage {
	members := []expr.Member{
		{Name: "apiVersion", Value: expr.StringOf(p.APIVersion)}, {Name: "id", Value: expr.StringOf(p.ID)},
		{Name: "type", Value: expr.StringOf(p.Type)}, {Name: "name", Value: expr.StringOf(p.Name)},
	}
	return text(expr.ObjectOf(append(members, p.Body.Members()...)...))
}

func withVersion(version string, v expr.Value) expr.Value {
	return expr.ObjectOf(append([]expr.Member{{Name: "apiVersion", Value: expr.StringOf(version)}}, v.Members()...)...)
}

// text is a value as it may be shown; nil of null.
func text(v expr.Value) json.RawMessage {
	if v.Is(expr.Null) {
		return nil
	}
	return secret.Masked(v).AppendJSON(nil)
}
