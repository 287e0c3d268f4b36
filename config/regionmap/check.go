package regionmap

import (
	"fmt"
	"slices"
	"strings"

	"portico/arm"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

// checkMap makes the checks that need the resolved map.
func (b *mapReader) checkMap() {
	for _, nodes := range b.providers {
		p := b.m.Provider(nodes.At("namespace").Text)
		if p.Endpoint(arm.GlobalLocation) == nil {
			b.Fault(nodes.At("namespace"), fmt.Sprintf("provider %s has no global endpoint for its tenant calls, such as /providers/%s/operations",
				p.Namespace, p.Namespace), "add global: [https://host] to the provider's endpoints")
		}
		for _, t := range nodes.types {
			b.checkType(nodes, t, p.TypeNamed(t.At("name").Text))
		}
	}
}

func (b *mapReader) checkType(p providerNodes, n typeNodes, t *regions.ResourceType) {
	if strings.Contains(t.Name, "/") {
		b.checkNested(n, t)
	} else {
		b.checkTopLevel(n, t)
	}
	if t.Subservice == "" && regions.WantsSubservice(templateText(n.Object)) {
		b.Fault(n.Get("endpointTemplate"), fmt.Sprintf("endpointTemplate uses {subservice}, but type %s has none", t.Name),
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
		b.Fault(n.At("name"), fmt.Sprintf("nested type %s has no parent type %s", t.FullName, parent),
			"declare "+parent+" in the same provider")
		return
	case t.Parent.Kind == regions.Extension:
		b.Fault(n.At("name"), fmt.Sprintf("type %s is nested below the extension %s", t.FullName, parent), "no types below extensions")
	case t.Kind == regions.Extension:
		b.Fault(n.At("kind"), fmt.Sprintf("extension %s is a nested type", t.FullName), "a type of one segment, or kind: tracked, proxyOnly")
	}
	if routing := n.Get("routing"); routing != nil && routing.Text != t.Routing.String() {
		b.Fault(routing, fmt.Sprintf("type %s has routing: %s, but its parent's is %s", t.FullName, routing.Text, t.Routing),
			"no routing, or "+t.Routing.String())
		return
	}
	if len(n.locations) > 0 && !sameLocations(n.locations, t.Locations) {
		b.Fault(n.At("locations"), fmt.Sprintf("type %s has other locations than its parent", t.FullName),
			"no locations, or "+yamltree.Choice(t.Locations))
	}
}

func sameLocations(declared []locatedText, effective []string) bool {
	for _, l := range declared {
		if !slices.Contains(effective, l.text) {
			return false
		}
	}
	return len(declared) == len(effective)
}

func (b *mapReader) checkTopLevel(n typeNodes, t *regions.ResourceType) {
	if t.Kind == regions.ProxyOnly && t.Routing == regions.Regional && len(t.Locations) > 1 {
		b.Fault(n.At("name"), fmt.Sprintf("top-level proxyOnly type %s has several regions (%s): its instances could not be found",
			t.FullName, yamltree.Choice(t.Locations)), "routing: global, one location, a parent, or kind: tracked")
	}
}

// checkEndpoints reports locations of a top-level type without an endpoint. Nested types inherit
// their parent's.
func (b *mapReader) checkEndpoints(p providerNodes, n typeNodes, t *regions.ResourceType) {
	if t.Routing == regions.Global {
		if t.Endpoint(arm.GlobalLocation) == nil {
			b.Fault(n.At("routing"), fmt.Sprintf("type %s has routing: global, but no global endpoint", t.FullName),
				"add global: [https://host] to the endpoints of the type or its provider")
		}
		return
	}
	if t.Subservice == "" && regions.WantsSubservice(templateText(p.Object)) && b.needsTemplate(n, t) {
		b.Fault(n.At("name"), fmt.Sprintf("type %s has no subservice for the endpointTemplate of its provider", t.FullName),
			"add subservice to the type, or endpoints for all its locations")
		return
	}
	for _, l := range n.locations {
		if t.Endpoint(l.text) == nil {
			b.Fault(l.at, fmt.Sprintf("type %s has location %s, but no endpoint there", t.FullName, l.text),
				"add "+l.text+": [https://host] to the endpoints of the type or its provider, or an endpointTemplate")
		}
	}
	if len(t.Locations) == 0 && n.Get("locations") == nil {
		b.Fault(n.At("name"), fmt.Sprintf("type %s has no endpoint in any region", t.FullName),
			"add endpoints or an endpointTemplate to the type or its provider, or routing: global")
	}
}

// needsTemplate reports whether the type would be offered somewhere without an explicit endpoint.
func (b *mapReader) needsTemplate(n typeNodes, t *regions.ResourceType) bool {
	if n.Get("locations") != nil {
		return slices.ContainsFunc(n.locations, func(l locatedText) bool { return t.Endpoint(l.text) == nil })
	}
	return slices.ContainsFunc(b.m.Regions(), func(r regions.Region) bool { return t.Endpoint(r.Name) == nil })
}

func templateText(o *setting.Object) string {
	if n := o.Get("endpointTemplate"); n != nil {
		return n.Text
	}
	return ""
}
