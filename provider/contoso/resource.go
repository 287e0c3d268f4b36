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

// resource is a stored resource. Values in the store are immutable; a write
// stores a new one.
type resource struct {
	ID         string          `json:"id"` // in the casing of the latest write
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Scope      string          `json:"scope"` // folded; the part before the last provider part
	Location   string          `json:"location,omitempty"`
	Members    object          `json:"members"`            // tags, sku, plan, kind and other top-level members
	Properties object          `json:"properties"`         // without provisioningState
	Children   json.RawMessage `json:"children,omitempty"` // a member for properties, with the children of deep inserts
	SystemData json.RawMessage `json:"systemData,omitempty"`
	State      string          `json:"state"`
	ETag       string          `json:"etag"`
	Operation  string          `json:"operation,omitempty"` // the running one
}

func (r *resource) key() string { return fold(r.ID) }

// inState returns a copy in another provisioning state, with the operation
// that leads to it ("" for none).
func (r *resource) inState(state, operation string) *resource {
	c := *r
	c.State, c.Operation = state, operation
	return &c
}

// ownMembers lists the members that a resource's owner cannot set, or that
// have their own fields.
var ownMembers = []string{"id", "name", "type", "location", "properties", "systemData", "etag"}

// render writes the resource as clients see it; etags is false for the
// api-version without ETags.
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

// answer returns an answer with the resource as its body.
func (r *resource) answer(status int, etags bool) answer {
	a := bodyAnswer(status, r.render(etags))
	if etags {
		a.header.Set("ETag", r.ETag)
	}
	return a
}
