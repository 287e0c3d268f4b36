// Package regions holds the region map: the regions, the resource providers, the types
// that each provider serves, and the endpoint that serves a type in a region (addendum,
// Regional Endpoints).
//
// A [Map] is immutable. [New] resolves it once from plain declarations, so that a lookup
// for a request is a few map reads and never allocates; a change of configuration builds
// a new Map and swaps the pointer. Slices and URLs reached through a Map are shared and
// must not be changed.
//
// Package health keeps the health of endpoints' addresses, which outlives a Map.
//
// Nothing here reads files or reports faults: the caller has checked the declarations.
package regions

import (
	"slices"
	"strings"

	"portico/arm"
)

// Region is one region of the cloud. Name is normalised by [arm.Location];
// the fields from Geography on may be empty.
type Region struct {
	Name         string
	DisplayName  string
	PairedRegion string // the name of another region, only shown to clients

	Geography        string
	GeographyGroup   string
	PhysicalLocation string
	Latitude         string
	Longitude        string
}

// Map is a resolved region map; see the package comment. The zero Map is
// empty.
type Map struct {
	regions   []Region
	byName    map[string]int
	providers []*Provider
	byKey     map[string]*Provider
	longest   int                  // of the keys in byKey
	internal  map[string]*Provider // by the folded ids of internal subscriptions
	endpoints []*Endpoint
}

// Regions returns all regions in the order of their declaration.
func (m *Map) Regions() []Region { return m.regions }

// Region returns the region of a normalised name.
func (m *Map) Region(name string) (Region, bool) {
	i, ok := m.byName[name]
	if !ok {
		return Region{}, false
	}
	return m.regions[i], true
}

// HasRegion reports whether a region is declared or has an endpoint.
func (m *Map) HasRegion(name string) bool {
	_, declared := m.byName[name]
	return declared || slices.ContainsFunc(m.endpoints, func(e *Endpoint) bool { return e.Region == name })
}

// Providers returns all providers, sorted by folded namespace.
func (m *Map) Providers() []*Provider { return m.providers }

// Endpoints returns every endpoint that serves anything, each once, by region
// and addresses.
func (m *Map) Endpoints() []*Endpoint { return m.endpoints }

// Provider returns the provider of a namespace in any casing, or nil. It does
// not allocate.
func (m *Map) Provider(namespace string) *Provider {
	// Keys are ASCII, and nothing beyond ASCII folds into ASCII: a longer text
	// cannot match, and a shorter one fits the buffer except in extreme maps.
	if len(namespace) > m.longest {
		return nil
	}
	var buf [keyBuffer]byte
	return m.byKey[string(arm.AppendFold(buf[:0], namespace))]
}

// Type returns the type of a full name in any casing
// ("Contoso.Compute/virtualMachines/disks"), or nil.
func (m *Map) Type(fullName string) *ResourceType {
	namespace, name, _ := strings.Cut(fullName, "/")
	if provider := m.Provider(namespace); provider != nil {
		return provider.TypeNamed(name)
	}
	return nil
}

// InternalProvider returns the provider whose internal subscription has this id, in any
// casing, or nil.
func (m *Map) InternalProvider(subscription string) *Provider {
	if len(m.internal) == 0 {
		return nil
	}
	return m.internal[arm.Fold(subscription)]
}

// keyBuffer is the stack space for a folded key in lookups.
const keyBuffer = 256
