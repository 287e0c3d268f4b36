package config

import (
	"fmt"
	"slices"
	"strings"

	"portico/arm"
	"portico/regions"
)

// check looks at what only the resolved Map shows.
func (b *mapReader) check() {
	for _, nodes := range b.providers {
		p := b.m.Provider(nodes.namespace.text)
		if p.Endpoint(arm.GlobalLocation) == nil {
			b.r.fault(nodes.namespace, fmt.Sprintf("provider %s has no global endpoint for its tenant calls, such as /providers/%s/operations",
				p.Namespace, p.Namespace), "add global: [https://host] to the provider's endpoints")
		}
		for _, t := range nodes.types {
			b.checkType(nodes, t, p.TypeNamed(t.name.text))
		}
	}
}

func (b *mapReader) checkType(p providerNodes, n typeNodes, t *regions.ResourceType) {
	if strings.Contains(t.Name, "/") {
		b.checkNested(n, t)
	} else {
		b.checkTopLevel(n, t)
	}
	if t.Subservice == "" && regions.WantsSubservice(templateText(n.object)) {
		b.r.fault(n.get("endpointTemplate"), fmt.Sprintf("endpointTemplate wants {subservice}, but type %s has none", t.Name),
			"add subservice to the type, or leave {subservice} out")
		return
	}
	b.checkSKUs(n, t)
	if t.Parent == nil {
		b.checkEndpoints(p, n, t)
	}
}

func (b *mapReader) checkNested(n typeNodes, t *regions.ResourceType) {
	parent := t.Name[:strings.LastIndexByte(t.Name, '/')]
	switch {
	case t.Parent == nil:
		b.r.fault(n.name, fmt.Sprintf("nested type %s without its parent %s", t.FullName, parent),
			"declare "+parent+" in the same provider")
		return
	case t.Parent.Kind == regions.Extension:
		b.r.fault(n.name, fmt.Sprintf("type %s is nested below the extension %s", t.FullName, parent), "extensions without nested types")
	case t.Kind == regions.Extension:
		b.r.fault(n.at("kind"), fmt.Sprintf("extension %s is a nested type", t.FullName), "a type of one segment, or kind: tracked, proxyOnly")
	}
	if routing := n.get("routing"); routing != nil && routing.text != t.Routing.String() {
		b.r.fault(routing, fmt.Sprintf("type %s has routing: %s, but its parent's is %s", t.FullName, routing.text, t.Routing),
			"no routing, or "+t.Routing.String())
		return
	}
	if len(n.locations) > 0 && !sameLocations(n.locations, t.Locations) {
		b.r.fault(n.at("locations"), fmt.Sprintf("type %s has other locations than its parent", t.FullName),
			"no locations, or "+choice(t.Locations))
	}
}

func sameLocations(declared []locationNode, effective []string) bool {
	for _, l := range declared {
		if !slices.Contains(effective, l.location) {
			return false
		}
	}
	return len(declared) == len(effective)
}

func (b *mapReader) checkTopLevel(n typeNodes, t *regions.ResourceType) {
	if t.Kind == regions.ProxyOnly && t.Routing == regions.Regional && len(t.Locations) > 1 {
		b.r.fault(n.name, fmt.Sprintf("top-level proxyOnly type %s lies in several regions (%s): nobody could find its instances",
			t.FullName, choice(t.Locations)), "routing: global, one location, a parent, or kind: tracked")
	}
}

// checkEndpoints finds an endpoint for every location of a top-level type. A
// nested type has its parent's, or better.
func (b *mapReader) checkEndpoints(p providerNodes, n typeNodes, t *regions.ResourceType) {
	if t.Routing == regions.Global {
		if t.Endpoint(arm.GlobalLocation) == nil {
			b.r.fault(n.at("routing"), fmt.Sprintf("type %s has routing: global, but no global endpoint", t.FullName),
				"add global: [https://host] to the endpoints of the type or its provider")
		}
		return
	}
	if t.Subservice == "" && regions.WantsSubservice(templateText(p.object)) && b.needsTemplate(n, t) {
		b.r.fault(n.name, fmt.Sprintf("type %s has no subservice for the endpointTemplate of its provider", t.FullName),
			"add subservice to the type, or endpoints for all its locations")
		return
	}
	for _, l := range n.locations {
		if t.Endpoint(l.location) == nil {
			b.r.fault(l.at, fmt.Sprintf("type %s has location %s, but no endpoint there", t.FullName, l.location),
				"add "+l.location+": [https://host] to the endpoints of the type or its provider, or an endpointTemplate")
		}
	}
	if len(t.Locations) == 0 && n.get("locations") == nil {
		b.r.fault(n.name, fmt.Sprintf("type %s has no endpoint in any region", t.FullName),
			"add endpoints or an endpointTemplate to the type or its provider, or routing: global")
	}
}

// needsTemplate reports whether a place where the type would be offered has no
// endpoint by name.
func (b *mapReader) needsTemplate(n typeNodes, t *regions.ResourceType) bool {
	if n.get("locations") != nil {
		return slices.ContainsFunc(n.locations, func(l locationNode) bool { return t.Endpoint(l.location) == nil })
	}
	return slices.ContainsFunc(b.m.Regions(), func(r regions.Region) bool { return t.Endpoint(r.Name) == nil })
}

func templateText(o object) string {
	if n := o.get("endpointTemplate"); n != nil {
		return n.text
	}
	return ""
}
