package config

import (
	"fmt"
	"slices"
	"strings"

	"portico/arm"
	"portico/regions"
)

// skuNodes are the nodes of a SKU, for what only the resolved Map shows.
type skuNodes struct {
	object
	locations []locationNode
	versions  []versionNode
}

type versionNode struct {
	at      *node
	version string
}

func (b *mapReader) readSKUs(o object) (skus []regions.SKU, nodes []skuNodes) {
	twice := b.r.distinct("SKU")
	for _, o := range o.children("skus", "name", "tier", "size", "family", "kind", "locations", "locationInfo", "apiVersions",
		"requiredFeatures", "requiredQuotaIds", "capacity", "capabilities", "costs") {
		s := regions.SKU{}
		at := must(o, "name", &s.Name, plainText())
		set(o, "tier", &s.Tier, plainText())
		set(o, "size", &s.Size, plainText())
		set(o, "family", &s.Family, plainText())
		set(o, "kind", &s.Kind, plainText())
		n := skuNodes{object: o}
		n.locations = skuLocations(o, "locations")
		for _, l := range n.locations {
			s.Locations = append(s.Locations, l.location)
		}
		n.locations = append(n.locations, readZones(o, &s)...)
		n.versions = skuVersions(o)
		for _, v := range n.versions {
			s.APIVersions = append(s.APIVersions, v.version)
		}
		s.RequiredFeatures = texts(o, "requiredFeatures", "feature", fullFeatureName())
		s.RequiredQuotaIDs = texts(o, "requiredQuotaIds", "offer", plainText())
		s.Capacity = readCapacity(o)
		for _, c := range o.children("capabilities", "name", "value") {
			var capability regions.SKUCapability
			must(c, "name", &capability.Name, plainText())
			must(c, "value", &capability.Value, plainText())
			s.Capabilities = append(s.Capabilities, capability)
		}
		for _, c := range o.children("costs", "meterId", "quantity", "extendedUnit") {
			cost := regions.SKUCost{Quantity: 1}
			must(c, "meterId", &cost.MeterID, plainText())
			set(c, "quantity", &cost.Quantity, amount())
			set(c, "extendedUnit", &cost.ExtendedUnit, plainText())
			s.Costs = append(s.Costs, cost)
		}
		// Disks, for one, have several of a name and tier, of different sizes.
		if at != nil && twice.add(at, arm.Fold(strings.Join([]string{s.Name, s.Tier, s.Size}, "\x00")), s.Name) {
			skus, nodes = append(skus, s), append(nodes, n)
		}
	}
	return skus, nodes
}

// texts reads a list of texts, each once.
func texts(o object, key, noun string, want rule[string]) (all []string) {
	twice := o.r.distinct(noun)
	for _, n := range o.list(key) {
		if text, ok := value(o.r, n, join(o.path, key), want); ok && twice.add(n, arm.Fold(text), text) {
			all = append(all, text)
		}
	}
	return all
}

func skuLocation() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			l := arm.Location(text)
			return l, arm.ValidLocation(l)
		},
		noun:    "location",
		allowed: "locations of the type",
	}
}

func skuLocations(o object, key string) (locations []locationNode) {
	twice := o.r.distinct("location")
	for _, n := range o.filled(key, "locations of the type, or no locations: then all of them") {
		if l, ok := value(o.r, n, join(o.path, key), skuLocation()); ok && twice.add(n, l, l) {
			locations = append(locations, locationNode{n, l})
		}
	}
	return locations
}

// readZones reads the zones in some of a SKU's locations.
func readZones(o object, s *regions.SKU) (locations []locationNode) {
	twice := o.r.distinct("locationInfo of")
	for _, info := range o.children("locationInfo", "location", "zones") {
		var location string
		at := must(info, "location", &location, skuLocation())
		zones := texts(info, "zones", "zone", identifier())
		if at == nil || !twice.add(at, location, location) {
			continue
		}
		if len(s.Locations) > 0 && !slices.Contains(s.Locations, location) {
			o.r.fault(at, fmt.Sprintf("locationInfo of %s, which is not among the locations of the SKU", location), choice(s.Locations))
			continue
		}
		locations = append(locations, locationNode{at, location})
		if s.Zones == nil {
			s.Zones = map[string][]string{}
		}
		s.Zones[location] = zones
	}
	return locations
}

func skuVersions(o object) (versions []versionNode) {
	twice := o.r.distinct("api-version")
	want := rule[string]{
		parse:   func(text string) (string, bool) { return text, arm.ValidAPIVersion(text) },
		noun:    "api-version",
		allowed: "api-versions of the type",
	}
	for _, n := range o.filled("apiVersions", "api-versions of the type, or no apiVersions: then all of them") {
		if v, ok := value(o.r, n, join(o.path, "apiVersions"), want); ok && twice.add(n, arm.Fold(v), v) {
			versions = append(versions, versionNode{n, v})
		}
	}
	return versions
}

// readCapacity holds a capacity to the contract: what scales has bounds and a
// default between them (addendum, Enumerating SKUs for an existing resource).
func readCapacity(o object) *regions.SKUCapacity {
	if o.get("capacity") == nil {
		return nil
	}
	var c regions.SKUCapacity
	o = o.child("capacity", "minimum", "maximum", "default", "scaleType")
	scale := must(o, "scaleType", &c.ScaleType, enum(regions.ScaleTypes()))
	read := set[int64]
	if scale == nil || c.ScaleType != regions.ScaleNone {
		read = must[int64]
	}
	least := read(o, "minimum", &c.Minimum, amount())
	most := read(o, "maximum", &c.Maximum, amount())
	usual := read(o, "default", &c.Default, amount())
	switch {
	case least != nil && most != nil && c.Minimum > c.Maximum:
		o.r.fault(most, fmt.Sprintf("%s.maximum %d is less than the minimum %d", o.path, c.Maximum, c.Minimum), "at least the minimum")
	case least != nil && most != nil && usual != nil && (c.Default < c.Minimum || c.Default > c.Maximum):
		o.r.fault(usual, fmt.Sprintf("%s.default %d does not lie between minimum and maximum", o.path, c.Default),
			fmt.Sprintf("%d to %d", c.Minimum, c.Maximum))
	}
	return &c
}

// checkSKUs looks at what SKUs say of locations, api-versions and features.
func (b *mapReader) checkSKUs(n typeNodes, t *regions.ResourceType) {
	for _, s := range n.skus {
		for _, l := range s.locations {
			if !t.OffersLocation(l.location) {
				b.r.fault(l.at, fmt.Sprintf("a SKU of type %s has location %s, which the type has not", t.FullName, l.location), choice(t.Locations))
			}
		}
		for _, v := range s.versions {
			if !t.Supports(v.version) {
				b.r.fault(v.at, fmt.Sprintf("a SKU of type %s has api-version %s, which the type has not", t.FullName, v.version), choice(t.APIVersions))
			}
		}
		for _, f := range s.list("requiredFeatures") {
			namespace, name, ok := arm.CutFeature(f.text)
			if p := b.m.Provider(namespace); ok && p != nil {
				if _, declared := p.Feature(name); !declared {
					b.r.warn(f, fmt.Sprintf("a SKU of type %s requires feature %s, which its provider does not declare", t.FullName, f.text),
						"the features of provider "+p.Namespace)
				}
			}
		}
	}
	if t.Key == t.Provider.Key+"/skus" && len(t.Provider.SKUTypes()) > 0 {
		b.r.fault(n.name, fmt.Sprintf("type %s beside the skus of another type: both would be listed under that name", t.FullName),
			"another name, or no skus in the provider's types")
	}
}
