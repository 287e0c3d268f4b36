package contoso

import (
	"errors"
	"slices"
)

// errBroken has no answer of its own, so it becomes a 500.
var errBroken = errors.New("broken on purpose")

// known lists the members that may stand next to properties.
var known = []string{
	"id", "name", "type", "location", "tags", "properties", "kind", "sku", "plan", "managedBy", "identity", "zones", "etag",
	"systemData", "extendedLocation",
}

// refuseUnknown returns the error of a body with unknown members.
func (b breaks) refuseUnknown(body object) error {
	if b[unknownMember500] && slices.ContainsFunc(body, func(m member) bool { return !slices.Contains(known, m.key) }) {
		return errBroken
	}
	return nil
}

// staying returns the members of a PUT with the old managedBy and tags that breaks keep.
func (b breaks) staying(members object, current *resource) object {
	if current == nil {
		return members
	}
	if tags, there := current.Members.present("tags"); there && b[tagsKeptByPut] {
		if _, given := members.present("tags"); !given {
			members = members.with("tags", tags)
		}
	}
	old, was := current.Members.present("managedBy")
	_, given := members.present("managedBy")
	if was && (given && b[managedByFixed] || !given && b[managedByKept]) {
		return members.with("managedBy", old)
	}
	return members
}

// spoilEnvelope adds members in wrong places.
func (b breaks) spoilEnvelope(r *resource) {
	if b[envelopeRepeated] {
		r.Properties = r.Properties.with("name", encode(r.Name))
	}
	if b[memberOutsideProperties] {
		r.Members = r.Members.with("health", encode("good"))
	}
}

// createdFor returns the tags of a resource that is created for another one.
func (b breaks) createdFor(c *call) map[string]string {
	patched := c.method == "PATCH"
	if patched && b[createdForPatchUntagged] || !patched && b[createdForPutUntagged] {
		return map[string]string{}
	}
	return map[string]string{createdForTag: c.address.id()}
}

// falsify returns the operation with the status that a break shows.
func (b breaks) falsify(o *operation) *operation {
	if !b[deleteStatusFails] || o.Kind != deleteOperation || o.Status != stateSucceeded {
		return o
	}
	lie := *o
	lie.Status, lie.Error = stateFailed, &errorDetail{Code: "OperationFailed", Message: "The operation failed."}
	return &lie
}

// misreadAddress returns the address that a break takes for the call's.
func (b breaks) misreadAddress(a address, all catalog) address {
	if !a.isInstance() {
		return a
	}
	t, ok := all.lookup(a.namespace, a.typePath())
	if !ok || !(b[typeCasing] && t.path != a.typePath() || b[subscriptionCasing] && fold(a.subscription) != a.subscription) {
		return a
	}
	a.segments, a.names = slices.Clone(a.segments), slices.Clone(a.names)
	a.names[len(a.names)-1] += "~"
	a.segments[len(a.segments)-1] += "~"
	return a
}
