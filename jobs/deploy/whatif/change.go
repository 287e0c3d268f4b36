// Package whatif compares the resources that a deployment would send with the current ones, and
// returns the changes as Azure Resource Manager does. It is pure.
//
// A property counts as changed only if the template's value differs from the one that was
// sent last, or the provider's from the one in its response then. So nothing that a provider
// adds, reorders, writes in another casing or hides counts as a change. If no deployment has
// sent a resource, the template's members are compared with the current ones.
package whatif

import (
	"encoding/json"

	"portico/jobs/deploy/secret"
	"portico/template/expr"
)

// Type is the kind of change of a resource.
type Type string

// The types of changes. Deploy replaces Modify and NoChange if only IDs are requested.
const (
	Create      Type = "Create"
	Modify      Type = "Modify"
	NoChange    Type = "NoChange"
	Deploy      Type = "Deploy"
	Ignore      Type = "Ignore"
	Delete      Type = "Delete"
	Unsupported Type = "Unsupported"
)

// Change is the change of one resource.
type Change struct {
	ID     string           `json:"resourceId"`
	Type   Type             `json:"changeType"`
	Reason string           `json:"unsupportedReason,omitempty"`
	Before json.RawMessage  `json:"before,omitempty"`
	After  json.RawMessage  `json:"after,omitempty"`
	Delta  []PropertyChange `json:"delta,omitempty"`
}

// PropertyType is the kind of change of a property.
type PropertyType string

// The types of changes of properties. An Array has its changes as Children.
const (
	PropertyCreate PropertyType = "Create"
	PropertyDelete PropertyType = "Delete"
	PropertyModify PropertyType = "Modify"
	PropertyArray  PropertyType = "Array"
)

// PropertyChange is the change of one property. The path of a child begins at its parent. The path
// of an array's element is its index in the template, or its present index if it is removed.
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
	OnlyIfNotExists            bool // a resource that exists is left as it is
}

// Record has the body of a resource that was sent last, as [secret.Keep] returns it, and its
// provider's last response.
type Record struct{ Sent, Answered expr.Value }

// Compare returns the change of a planned resource. current is null if there is none. last is nil
// if no deployment has sent it; digest is the function that last was recorded with. If that is
// nil, the change does not depend on the secrets in last.
func Compare(p *Planned, current expr.Value, last *Record, digest secret.Digest) Change {
	c := Change{ID: p.ID, Type: Create, After: p.document()}
	if !current.Is(expr.Object) {
		return c
	}
	steps := mostSteps
	d := differ{recorded: last != nil, digest: digest, secrets: secret.In(p.Body), steps: &steps}
	shown := d.secrets.Value(current)
	s := sides{planned: p.Body, sent: current, answered: current, now: current}
	if last != nil {
		s = sides{planned: p.Body, sent: last.Sent, answered: last.Answered, now: shown} // masked, as Answered is
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

// Holds reports whether the current resource contains everything that was sent. It compares as
// [Compare] does without a record.
func Holds(current, sent expr.Value) bool {
	steps := mostSteps
	d := differ{steps: &steps}
	d.members("", sides{planned: sent, sent: current, answered: current, now: current})
	return len(d.found) == 0
}

// Gone returns the change of a resource that is not in the template: it is deleted in complete
// mode, and otherwise ignored.
func Gone(id string, current expr.Value, complete bool) Change {
	c := Change{ID: id, Type: Ignore, Before: text(current)}
	if complete {
		c.Type = Delete
	}
	return c
}

// NotCompared returns the change of a resource that cannot be compared.
func NotCompared(p *Planned, reason string) Change {
	return Change{ID: p.ID, Type: Unsupported, Reason: reason, After: p.document()}
}

// WithoutPayload returns the change with only the ID of its resource.
func (c Change) WithoutPayload() Change {
	if c.Type == Modify || c.Type == NoChange {
		c.Type = Deploy
	}
	return Change{ID: c.ID, Type: c.Type, Reason: c.Reason}
}

// document returns the resource as it would be afterwards.
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

// text returns a value with its secrets masked, or nil for null.
func text(v expr.Value) json.RawMessage {
	if v.Is(expr.Null) {
		return nil
	}
	return secret.Masked(v).AppendJSON(nil)
}
