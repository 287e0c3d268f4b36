package contoso

import (
	"encoding/json"
	"slices"
)

// Terminal provisioning states (addendum, ProvisioningState property).
const (
	stateSucceeded = "Succeeded"
	stateFailed    = "Failed"
	stateCanceled  = "Canceled"

	// stateCancelled is not a state of the contract, but some providers write it.
	stateCancelled = "Cancelled"
)

// Provisioning states of a resource whose operation runs.
const (
	stateCreating = "Creating"
	stateUpdating = "Updating"
	stateDeleting = "Deleting"
)

// resource is one resource as it is kept. Values are never changed once they
// are in the store; a write puts a new one in their place.
type resource struct {
	ID         string          `json:"id"` // in the casing of the latest write
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Scope      string          `json:"scope"` // folded; what the type's provider part hangs on
	Location   string          `json:"location,omitempty"`
	Members    object          `json:"members"`            // tags, sku, plan, kind and what else stands at the top
	Properties object          `json:"properties"`         // without provisioningState
	Children   json.RawMessage `json:"children,omitempty"` // a member for properties, of children that came by deep insert
	SystemData json.RawMessage `json:"systemData,omitempty"`
	State      string          `json:"state"`
	ETag       string          `json:"etag"`
	Operation  string          `json:"operation,omitempty"` // the one under way
}

func (r *resource) key() string { return fold(r.ID) }

// in gives a copy in another provisioning state, with the operation that
// brings it about ("" for none).
func (r *resource) in(state, operation string) *resource {
	c := *r
	c.State, c.Operation = state, operation
	return &c
}

// Members of a resource that its owner cannot set, or that are kept apart.
var ownMembers = []string{"id", "name", "type", "location", "properties", "systemData", "etag"}

// render writes the resource as clients see it. Without etags it is the form of
// the api-version that has none.
func (r *resource) render(etags bool) []byte {
	out := object{{"id", encode(r.ID)}, {"name", encode(r.Name)}, {"type", encode(r.Type)}}
	if etags {
		out = append(out, member{"etag", encode(r.ETag)})
	}
	if r.Location != "" {
		out = append(out, member{"location", encode(r.Location)})
	}
	out = append(out, r.Members...)
	properties := slices.Concat(object{{"provisioningState", encode(r.State)}}, r.Properties, r.shownChildren())
	out = append(out, member{"properties", properties.bytes()})
	if r.SystemData != nil {
		out = append(out, member{"systemData", r.SystemData})
	}
	return out.bytes()
}

func (r *resource) shownChildren() object {
	var o object
	if r.Children == nil || json.Unmarshal(r.Children, &o) != nil {
		return nil
	}
	return o
}

// answer is a response whose body is the resource.
func (r *resource) answer(status int, etags bool) answer {
	a := bodyAnswer(status, r.render(etags))
	if etags {
		a.header.Set("ETag", r.ETag)
	}
	return a
}
