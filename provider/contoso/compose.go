package contoso

import (
	"encoding/json"
	"slices"
)

// replacement returns the resource that a PUT requests, with the children in its body.
// Apart from members that no client sets, it depends only on the URL and the body.
func (p *Provider) replacement(c *call, x *tx, t *resourceType, body object, current *resource) (*resource, []*resource, error) {
	properties, err := body.object("properties")
	if err != nil {
		return nil, nil, err
	}
	if err := x.checkState(properties, current); err != nil && !t.free {
		return nil, nil, err
	}
	place, err := p.placement(x, c.address, t, body, current)
	if err != nil {
		return nil, nil, err
	}
	properties, children, err := p.deepInsert(c, x, t, properties)
	if err != nil {
		return nil, nil, err
	}
	if err := c.breaks.refuseUnknown(body); err != nil {
		return nil, nil, err
	}
	members := object{}
	for _, m := range body {
		if !isNull(m.value) && !slices.Contains(ownMembers, m.key) {
			members = append(members, m)
		}
	}
	next := &resource{Location: place, Members: c.breaks.staying(members, current), Properties: properties}
	if current != nil {
		next.SystemData = current.SystemData
	}
	if err := next.complete(c, c.address, t); err != nil {
		return nil, nil, err
	}
	if name, err := body.text("name"); err == nil && name != "" && c.breaks[nameFromBody] {
		next.Name = name
	}
	return next, children, t.checkSku(next, current)
}

// patched returns the resource that a PATCH requests: tags are replaced as a
// whole, everything else is merged (RFC 7396).
func (p *Provider) patched(c *call, x *tx, t *resourceType, body object, current *resource) (*resource, []*resource, error) {
	if err := x.checkImmutable(body, current); err != nil {
		return nil, nil, err
	}
	next := *current
	if place, _ := body.text("location"); place != "" && c.breaks[mutableLocation] {
		next.Location = place
	}
	patch := body.without(ownMembers...)
	if _, sent := patch.present("sku"); sent && c.breaks[skuPatchClearsRest] {
		next.Members, next.Properties = object{}, object{}
	}
	children, err := p.patchProperties(c, x, t, body, &next)
	if err != nil {
		return nil, nil, err
	}
	if err := next.patchMembers(patch, c.breaks); err != nil {
		return nil, nil, err
	}
	if err := next.complete(c, c.address, t); err != nil {
		return nil, nil, err
	}
	return &next, children, t.checkSku(&next, current)
}

func (p *Provider) patchProperties(c *call, x *tx, t *resourceType, body object, next *resource) ([]*resource, error) {
	v, sent := body.get("properties")
	if !sent {
		return nil, nil
	}
	if isNull(v) && c.breaks[propertiesNull500] {
		return nil, errBroken
	}
	patch, err := body.object("properties")
	if err != nil {
		return nil, err
	}
	if err := x.checkState(patch, next); err != nil {
		return nil, err
	}
	patch, children, err := p.deepInsert(c, x, t, patch)
	if err != nil {
		return nil, err
	}
	if isNull(v) || c.breaks[propertiesReplacedOnPatch] {
		next.Properties = object{}
	}
	next.Properties = next.Properties.merge(patch)
	return children, nil
}

func (r *resource) patchMembers(patch object, b breaks) error {
	if v, sent := patch.present("tags"); sent && !b[tagsMergedOnPatch] {
		r.Members = r.Members.with("tags", v)
		patch = patch.without("tags")
	}
	if _, sent := patch.present("sku"); sent {
		wanted, err := patch.object("sku")
		if err != nil {
			return err
		}
		old, err := r.Members.object("sku")
		if err != nil {
			return err
		}
		r.Members = r.Members.with("sku", mergeSku(old, wanted).bytes())
		patch = patch.without("sku")
	}
	r.Members = r.Members.merge(patch)
	return nil
}

// complete sets the members that depend on the URL, the header and the
// content, and checks the content.
func (r *resource) complete(c *call, a address, t *resourceType) error {
	if c.breaks[normalisedCasing] {
		a = a.lowered()
	}
	r.ID, r.Name, r.Type, r.Scope = a.id(), a.name(), t.name(), a.scopeKey()
	r.Properties = c.habits.object(r.Properties.without("provisioningState"))
	c.breaks.spoilEnvelope(r)
	switch {
	case t.kind == proxyOnly && c.breaks[proxyChildHasTags]:
		if _, given := r.Members.present("tags"); !given {
			r.Members = r.Members.with("tags", object{}.bytes())
		}
	case !t.located():
		r.Members = r.Members.without("tags") // such resources have no tags
	}
	if t.free {
		r.assign()
	} else if err := checkMembers(r.Members); err != nil {
		return err
	}
	var err error
	if r.SystemData, err = mergeSystemData(r.SystemData, c.header.Get("x-ms-arm-resource-system-data")); err != nil {
		return err
	}
	if c.breaks[systemDataDropped] {
		r.SystemData = nil
	}
	return r.tag(c.breaks)
}

// placement checks the body's location and returns the resource's: "" if the
// type shows none.
func (p *Provider) placement(x *tx, a address, t *resourceType, body object, current *resource) (string, error) {
	given, err := body.text("location")
	if err != nil {
		return "", err
	}
	if given == "" && t.free {
		return "", nil
	}
	if given == "" && t.kind == tracked && !t.nested() {
		return "", badRequest("LocationRequired", "The location property is required for this definition.")
	}
	if given != "" && current != nil && t.located() && x.breaks[mutableLocation] {
		return given, nil
	}
	if given != "" && location(given) != p.region {
		if current != nil {
			return "", badRequest("InvalidResourceLocation", "The resource '%s' already exists in location '%s'. Its location cannot be changed to '%s'.",
				a.name(), p.region, given)
		}
		return "", badRequest("LocationNotAvailableForResourceType",
			"The provided location '%s' is not available for resource type '%s'. List of available regions for the resource type is '%s'.", given,
			t.name(), p.region)
	}
	switch {
	case !t.located():
		return "", nil
	case current != nil:
		return current.Location, nil
	case given == "":
		parent, _ := a.instanceAbove()
		return x.resource(parent.key()).Location, nil
	}
	return given, nil
}

// checkState keeps provisioningState read-only (addendum, ProvisioningState
// property): a matching one is ignored, any other refused.
func (t *tx) checkState(properties object, current *resource) error {
	v, given := properties.present("provisioningState")
	if !given || t.breaks[provisioningStateAccepted] {
		return nil
	}
	var s string
	if json.Unmarshal(v, &s) == nil && current != nil && same(s, current.State) {
		return nil
	}
	return badRequest("InvalidProvisioningState", "The property provisioningState is read-only and differs from the resource's own.")
}

// checkImmutable refuses a PATCH of members that identify a resource.
func (t *tx) checkImmutable(body object, current *resource) error {
	for _, m := range []struct{ key, now string }{{"id", current.ID}, {"name", current.Name}, {"type", current.Type}, {"location", current.Location}} {
		v, sent := body.get(m.key)
		if !sent || m.key == "location" && t.breaks[mutableLocation] {
			continue
		}
		var s string
		if json.Unmarshal(v, &s) != nil || !same(s, m.now) && (m.key != "location" || location(s) != location(m.now)) {
			return badRequest("PropertyChangeNotAllowed", "The member '%s' of a resource cannot be changed.", m.key)
		}
	}
	return nil
}
