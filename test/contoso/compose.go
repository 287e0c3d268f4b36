package contoso

import (
	"encoding/json"
	"slices"
)

// replacement makes the resource that a PUT asks for, from its URL and body
// alone but for what no client sets.
func (p *Provider) replacement(c *call, x *tx, t *resourceType, body object, current *resource) (*resource, error) {
	properties, err := body.object("properties")
	if err != nil {
		return nil, err
	}
	if err := checkState(properties, current); err != nil {
		return nil, err
	}
	place, err := p.placement(x, c.address, t, body, current)
	if err != nil {
		return nil, err
	}
	members := object{}
	for _, m := range body {
		if !isNull(m.value) && !slices.Contains(ownMembers, m.key) {
			members = append(members, m)
		}
	}
	next := &resource{Location: place, Members: members, Properties: properties}
	if current != nil {
		next.SystemData = current.SystemData
	}
	err = next.complete(c, t)
	return next, err
}

// patched makes the resource that a PATCH asks for: tags are replaced whole,
// everything else is merged (RFC 7396).
func patched(c *call, t *resourceType, body object, current *resource) (*resource, error) {
	if err := checkImmutable(body, current); err != nil {
		return nil, err
	}
	next := *current
	if v, sent := body.get("properties"); sent {
		patch, err := body.object("properties")
		if err != nil {
			return nil, err
		}
		if err := checkState(patch, current); err != nil {
			return nil, err
		}
		next.Properties = current.Properties.merge(patch)
		if isNull(v) {
			next.Properties = object{}
		}
	}
	patch := body.without(ownMembers...)
	if v, sent := patch.given("tags"); sent {
		next.Members = next.Members.with("tags", v)
		patch = patch.without("tags")
	}
	next.Members = next.Members.merge(patch)
	err := next.complete(c, t)
	return &next, err
}

// complete sets what follows from the URL, the header and the content, and
// judges the content.
func (r *resource) complete(c *call, t *resourceType) error {
	r.ID, r.Name, r.Type, r.Scope = c.address.id(), c.address.name(), t.name(), c.address.scopeKey()
	r.Properties = r.Properties.without("provisioningState")
	if !t.located() {
		r.Members = r.Members.without("tags") // not applicable to such resources
	}
	if err := checkMembers(r.Members); err != nil {
		return err
	}
	var err error
	if r.SystemData, err = mergeSystemData(r.SystemData, c.header.Get("x-ms-arm-resource-system-data")); err != nil {
		return err
	}
	r.ETag, err = entityTag(r)
	return err
}

// placement judges the body's location and gives the one to keep: "" for
// resources that show none.
func (p *Provider) placement(x *tx, a address, t *resourceType, body object, current *resource) (string, error) {
	given, err := body.text("location")
	if err != nil {
		return "", err
	}
	if given == "" && t.kind == tracked && !t.nested() {
		return "", badRequest("LocationRequired", "The location property is required for this definition.")
	}
	if given != "" && location(given) != p.region {
		if current != nil {
			return "", badRequest("InvalidResourceLocation", "The resource '%s' already exists in location '%s'. Its location cannot be changed to '%s'.", a.name(), p.region, given)
		}
		return "", badRequest("LocationNotAvailableForResourceType", "The provided location '%s' is not available for resource type '%s'. List of available regions for the resource type is '%s'.", given, t.name(), p.region)
	}
	switch {
	case !t.located():
		return "", nil
	case current != nil:
		return current.Location, nil
	case given == "":
		parent, _ := a.above()
		return x.resource(parent.key()).Location, nil
	}
	return given, nil
}

// checkState keeps provisioningState read-only (addendum, ProvisioningState
// property): one that matches is ignored, any other refused.
func checkState(properties object, current *resource) error {
	v, given := properties.given("provisioningState")
	if !given {
		return nil
	}
	var s string
	if json.Unmarshal(v, &s) == nil && current != nil && same(s, current.State) {
		return nil
	}
	return badRequest("InvalidProvisioningState", "The property provisioningState is read-only and differs from the resource's own.")
}

// checkImmutable refuses a PATCH of what identifies a resource.
func checkImmutable(body object, current *resource) error {
	for _, m := range []struct{ key, now string }{{"id", current.ID}, {"name", current.Name}, {"type", current.Type}, {"location", current.Location}} {
		v, sent := body.get(m.key)
		if !sent {
			continue
		}
		var s string
		if json.Unmarshal(v, &s) != nil || !same(s, m.now) && (m.key != "location" || location(s) != location(m.now)) {
			return badRequest("PropertyChangeNotAllowed", "The member '%s' of a resource cannot be changed.", m.key)
		}
	}
	return nil
}
