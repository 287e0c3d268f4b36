package config

import (
	"fmt"
	"strings"

	"portico/arm"
	"portico/regions"
)

func (b *mapReader) readProviders(root object) {
	twice, owned := b.r.distinct("namespace"), b.r.distinct("internal subscription")
	for _, o := range root.children("providers", "namespace", "registration", "features", "endpoints", "endpointTemplate", "internalSubscriptions",
		"headers", "redirectHosts", "resourceTypes") {
		p := regions.ProviderDeclaration{}
		namespace := must(o, "namespace", &p.Namespace, name(namespaceForm))
		if namespace == nil {
			continue
		}
		// An unusable provider is read all the same, for its other faults.
		usable := checkNamespace(b.r, namespace, p.Namespace) &&
			twice.add(namespace, arm.Fold(p.Namespace), p.Namespace)
		set(o, "registration", &p.Registration, enum(regions.Registrations()))
		features := b.r.distinct("feature")
		for _, n := range o.list("features") {
			if f, ok := value(b.r, n, "features", featureName()); ok && features.add(n, arm.Fold(f), f) {
				p.Features = append(p.Features, f)
			}
		}
		p.Addresses = b.readAddresses(o, p.Namespace)
		for _, n := range o.filled("internalSubscriptions", "subscription ids, or no internalSubscriptions") {
			if id, ok := value(b.r, n, "internalSubscriptions", guid()); ok && owned.add(n, id, id) {
				p.InternalSubscriptions = append(p.InternalSubscriptions, id)
			}
		}
		b.readHeaders(o, &p)
		b.readRedirectHosts(o, &p)
		nodes := providerNodes{object: o, namespace: namespace}
		b.readTypes(&nodes, &p)
		if usable {
			b.d.Providers = append(b.d.Providers, p)
			b.providers = append(b.providers, nodes)
		}
	}
}

func (b *mapReader) readTypes(nodes *providerNodes, p *regions.ProviderDeclaration) {
	twice := b.r.distinct("type")
	for _, o := range nodes.children("resourceTypes", typeKeys()...) {
		t := regions.TypeDeclaration{}
		at := must(o, "name", &t.Name, name(typeForm))
		valid := at != nil && checkTypeName(b.r, at, t.Name) && twice.add(at, arm.Fold(t.Name), t.Name)

		must(o, "kind", &t.Kind, enum(regions.Kinds()))
		set(o, "routing", &t.Routing, enum(regions.Routings()))
		set(o, "subservice", &t.Subservice, dnsLabel())
		set(o, "deletionPolicy", &t.DeletionPolicy, enum(regions.DeletionPolicies()))
		set(o, "lateWriteWindow", &t.LateWriteWindow, positive())
		set(o, "onRegionFailure", &t.OnRegionFailure, enum(regions.RegionFailures()))
		t.APIVersions = b.readAPIVersions(o)
		t.Capabilities = readCapabilities(o, t.Kind)
		t.Addresses = b.readAddresses(o, p.Namespace)
		locations := b.readLocations(o, t.Routing)
		for _, l := range locations {
			t.Locations = append(t.Locations, l.location)
		}
		var skus []skuNodes
		t.SKUs, skus = b.readSKUs(o)
		if valid {
			p.Types = append(p.Types, t)
			nodes.types = append(nodes.types, typeNodes{o, at, locations, skus})
		}
	}
}

func typeKeys() []string {
	return []string{
		"name", "kind", "routing", "subservice", "apiVersions", "locations", "deletionPolicy", "capabilities",
		"endpoints", "endpointTemplate", "lateWriteWindow", "onRegionFailure", "skus",
	}
}

// readCapabilities reads what a type can do. Left out, a tracked type can be
// tagged, as the contract has it; the rest must be claimed.
func readCapabilities(o object, kind regions.Kind) regions.Capabilities {
	c := regions.Capabilities{Tags: kind == regions.Tracked}
	capabilities := o.child("capabilities", "move", "tags", "etags")
	set(capabilities, "move", &c.Move, truth())
	set(capabilities, "tags", &c.Tags, truth())
	set(capabilities, "etags", &c.ETags, truth())
	return c
}

func (b *mapReader) readAPIVersions(o object) []string {
	want := rule[string]{
		parse:   func(text string) (string, bool) { return text, arm.ValidAPIVersion(text) },
		noun:    "api-version",
		allowed: "YYYY-MM-DD, then nothing or one of -preview, -alpha, -beta, -rc, -privatepreview",
		shape:   matching(apiVersionPattern),
	}
	o.need("apiVersions", `at least one, such as ["2024-01-01"]`)
	twice := b.r.distinct("api-version")
	var versions []string
	for _, n := range o.filled("apiVersions", `at least one, such as ["2024-01-01"]`) {
		v, ok := value(b.r, n, join(o.path, "apiVersions"), want)
		if ok && twice.add(n, arm.Fold(v), v) {
			versions = append(versions, v)
		}
	}
	return versions
}

func (b *mapReader) readLocations(o object, routing regions.Routing) []locationNode {
	anyName := rule[string]{
		parse: func(text string) (string, bool) {
			l := arm.Location(text)
			return l, arm.ValidLocation(l)
		},
		noun:    "location",
		allowed: regionNames(b.m),
		shape:   matching(locationPattern),
	}
	twice := b.r.distinct("location")
	var locations []locationNode
	for _, n := range o.filled("locations", "regions, or no locations: then every region with an endpoint") {
		l, ok := value(b.r, n, join(o.path, "locations"), anyName)
		switch {
		case !ok || !twice.add(n, l, l):
			continue
		case routing == regions.Global && l != arm.GlobalLocation:
			b.r.fault(n, fmt.Sprintf("location %s of a type with routing: global", quote(l)), "global, or no locations")
			continue
		case routing == regions.Regional && l == arm.GlobalLocation && o.get("routing") == nil && nested(o):
			// The parent may be global: checked when it is known.
		case routing == regions.Regional && l == arm.GlobalLocation:
			b.r.fault(n, "location global of a type whose routing is regional", "routing: global, or "+regionNames(b.m))
			continue
		case routing == regions.Regional && !checkRegion(b.r, n, "location", l, b.m):
			continue
		}
		locations = append(locations, locationNode{n, l})
	}
	return locations
}

func nested(o object) bool {
	name := o.get("name")
	return name != nil && strings.Contains(name.text, "/")
}
