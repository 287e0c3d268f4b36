package contoso

import (
	"net/http"
	"strings"
)

// route dispatches the call by the position of its segments.
func (p *Provider) route(c *call) (answer, error) {
	a := c.address
	if a.action != "" {
		return p.move(c)
	}
	if a.namespace == "" {
		if a.subscription != "" && len(a.segments) == 2 {
			return p.subscriptionNotice(c)
		}
		return answer{}, notFound("NotFound", "There is nothing at this path.")
	}
	if _, err := p.namespace(a.namespace); err != nil {
		return answer{}, err
	}
	// Polling URLs are contoso's own and need no api-version.
	if form, ok := pollForm(a); ok {
		return p.poll(c, form)
	}
	if isPreflight(c) {
		return p.preflight(c)
	}
	if err := p.checkVersion(c); err != nil {
		return answer{}, err
	}
	if len(a.types) == 0 {
		return answer{}, notFound("NotFound", "There is nothing at this path.")
	}
	if a.subscription == "" {
		return p.routeTenant(c)
	}
	if len(a.scope) == 2 && !a.extends {
		if same(a.types[0], "locations") {
			return p.routeLocation(c)
		}
		if same(a.typePath(), "checkNameAvailability") && len(a.names) == 0 {
			return p.checkName(c)
		}
	}
	if a.isInstance() {
		return p.routeInstance(c)
	}
	if c.method == http.MethodPost {
		return p.runAction(c)
	}
	return p.routeCollection(c)
}

func (p *Provider) routeTenant(c *call) (answer, error) {
	if !same(c.address.typePath(), "operations") || c.address.isInstance() || c.address.extends {
		return answer{}, notFound("NotFound", "There is nothing at this path.")
	}
	return p.listOperations(c)
}

// routeLocation handles /subscriptions/{s}/providers/{ns}/locations/{l}/….
func (p *Provider) routeLocation(c *call) (answer, error) {
	a := c.address
	if len(a.names) == 0 || len(a.names) > 1 || len(a.types) != 2 {
		return answer{}, notFound("NotFound", "There is nothing at this path.")
	}
	if location(a.names[0]) != p.region {
		return answer{}, notFound("LocationNotServed", "The location '%s' is not served by the endpoint of '%s'.", a.names[0], p.region)
	}
	switch fold(a.tail()) {
	case "checknameavailability":
		return p.checkName(c)
	case "usages":
		return p.usages(c)
	}
	return answer{}, notFound("NotFound", "There is nothing at this path.")
}

func (p *Provider) routeInstance(c *call) (answer, error) {
	t, err := p.served(c.address)
	if err != nil {
		return answer{}, err
	}
	if t.readOnly && c.method != http.MethodGet && c.method != http.MethodHead {
		return answer{}, notAllowed(http.MethodGet, http.MethodHead)
	}
	c.order = t.usual(c)
	switch c.method {
	case http.MethodGet, http.MethodHead:
		return p.get(c, t)
	case http.MethodPut:
		return p.put(c, t)
	case http.MethodPatch:
		return p.patch(c, t)
	case http.MethodDelete:
		return p.remove(c, t)
	}
	return answer{}, notAllowed(http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete)
}

func (p *Provider) routeCollection(c *call) (answer, error) {
	if c.method != http.MethodGet {
		return answer{}, notAllowed(http.MethodGet)
	}
	if host, ok := c.address.instanceAbove(); ok && same(c.address.tail(), "skus") {
		return p.listSkus(host)
	}
	t, err := p.served(c.address)
	if err != nil {
		return answer{}, err
	}
	return p.list(c, t)
}

// served returns the type of an instance or a collection, and checks that the
// path is valid and that this endpoint serves it.
func (p *Provider) served(a address) (*resourceType, error) {
	t, ok := p.lookup(a)
	if !ok {
		return nil, notFound("InvalidResourceType", "The resource type '%s' could not be found in the namespace '%s'.", a.typePath(), a.namespace)
	}
	if t.free {
		return t, nil
	}
	// A group or a subscription has no region: extensions on one are kept at
	// the global endpoint.
	if everywhere := t.kind == extension && p.region == "global"; !everywhere && t.global != (p.region == "global") {
		return nil, notFound("ResourceTypeNotServed", "The resource type '%s' is not served by the endpoint of '%s'.", t.name(), p.region)
	}
	if t.kind == extension {
		return t, nil
	}
	// Other resources lie in a group; top-level ones can also be listed for
	// the whole subscription.
	listed := !a.isInstance() && !t.nested() && len(a.scope) == 2
	if a.extends || len(a.scope) != 4 && !listed {
		return nil, notFound("InvalidResourceType", "The resource type '%s' has no resources at the scope '/%s'.", t.name(), strings.Join(a.scope, "/"))
	}
	return t, nil
}
