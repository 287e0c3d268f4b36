package regions

import (
	"slices"
	"time"

	"portico/arm"
	"portico/internal/schema"
)

// ResourceType is one type of resources, top-level or nested.
type ResourceType struct {
	Provider *Provider
	Parent   *ResourceType // nil at the top level

	Name     string // declared casing: "virtualMachines/disks"
	FullName string // with the namespace: "Contoso.Compute/virtualMachines/disks"
	Key      string // the folded FullName
	Actions  Actions

	Kind        Kind
	Routing     Routing // for a nested type, its parent's
	Subservice  string
	APIVersions []string // newest first
	// Locations are the normalised locations in which instances may be
	// created: as declared, else every region with an endpoint; only "global"
	// for global types; the parent's for nested types.
	Locations      []string
	DeletionPolicy DeletionPolicy
	Capabilities   Capabilities
	// LateWriteWindow is how long a write without an answer may still take
	// effect; 0 means the setting for all types.
	LateWriteWindow time.Duration
	OnRegionFailure RegionFailure
	SKUs            []SKU // for new resources; none: the map lists none

	endpoints map[string]*Endpoint
	shapes    map[string]*schema.Shape // by folded api-versions
}

// Shape returns the shape of the bodies of an api-version, in any casing; nil
// if the map has none.
func (t *ResourceType) Shape(apiVersion string) *schema.Shape {
	if len(t.shapes) == 0 {
		return nil
	}
	return t.shapes[arm.Fold(apiVersion)]
}

// Actions are the actions on a type's resources in roles, such as
// Contoso.Compute/virtualMachines/read.
type Actions struct{ Read, Write, Delete string }

// Capabilities are a provider's statements about a type.
type Capabilities struct {
	Move  bool // instances can move between groups and subscriptions
	Tags  bool // instances can be tagged
	ETags bool // instances have entity tags and obey preconditions
	// Preflight reports whether the provider answers preflights of planned instances.
	Preflight bool
}

// Supports reports whether the type has an api-version, in any casing. It does not
// allocate.
func (t *ResourceType) Supports(apiVersion string) bool {
	for _, v := range t.APIVersions {
		if arm.EqualFold(v, apiVersion) {
			return true
		}
	}
	return false
}

// DefaultAPIVersion returns the newest stable version, or the newest preview
// if there is no other.
func (t *ResourceType) DefaultAPIVersion() string {
	for _, v := range t.APIVersions { // newest first
		if arm.StableAPIVersion(v) {
			return v
		}
	}
	return t.APIVersions[0]
}

// OffersLocation reports whether instances may be created in a normalised location.
func (t *ResourceType) OffersLocation(normalised string) bool {
	return slices.Contains(t.Locations, normalised)
}

// Endpoint returns the endpoint of the type in a normalised region or in
// "global", or nil. The nearest level with the region decides: the type's own
// endpoints, its template, then likewise its parents' (a nested resource is
// served where its parent is), then the provider's.
func (t *ResourceType) Endpoint(region string) *Endpoint { return t.endpoints[region] }

// ListsFanOut reports whether lists of the type are merged from several regions, or would be if
// the map had several: it is regional, tracked, and has no parent.
func (t *ResourceType) ListsFanOut() bool {
	return t.Kind == Tracked && t.Routing == Regional && t.Parent == nil
}

// EffectiveRegions returns the regions whose endpoints may hold instances: only "global"
// for global types, the parent's for nested ones. It does not cover instances of a
// regional extension on a scope without a region: they are at the global endpoint.
func (t *ResourceType) EffectiveRegions() []string { return t.Locations }
