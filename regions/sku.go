package regions

import (
	"slices"

	"portico/arm"
)

// SKU is one of the SKUs of a type (resource reference, Put Resource, field sku;
// addendum, Enumerating SKUs for a new resource). Unset fields are empty.
type SKU struct {
	Name, Tier, Size, Family, Kind string
	// Locations are the type's normalised locations that offer the SKU, and
	// Zones the zones in some of them.
	Locations []string
	Zones     map[string][]string
	// APIVersions are the type's versions that offer the SKU, newest first.
	APIVersions []string
	// RequiredFeatures are features, "Namespace/name"; a subscription must be
	// registered for all of them. RequiredQuotaIDs are offers; a subscription
	// must have one of them.
	RequiredFeatures, RequiredQuotaIDs []string
	Capacity                           *SKUCapacity // nil: it does not scale
	Capabilities                       []SKUCapability
	Costs                              []SKUCost
}

// SKUCapacity describes how resources of a SKU scale. The numbers are
// meaningless if the scale type is None.
type SKUCapacity struct {
	Minimum, Maximum, Default int64
	ScaleType                 ScaleType
}

// SKUCapability is a capability of a SKU.
type SKUCapability struct{ Name, Value string }

// SKUCost is a meter of a SKU.
type SKUCost struct {
	MeterID      string
	Quantity     int64
	ExtendedUnit string
}

// ScaleType defines how a capacity changes (addendum, Enumerating SKUs for an
// existing resource, capacity.scaleType).
type ScaleType uint8

// The scale types, in the words of the contract.
const (
	ScaleNone ScaleType = iota
	ScaleManual
	ScaleAutomatic
)

// ScaleTypes returns every valid value.
func ScaleTypes() []ScaleType { return []ScaleType{ScaleNone, ScaleManual, ScaleAutomatic} }

func (s ScaleType) String() string { return name(s, "None", "Manual", "Automatic") }

// OfferedIn reports whether an api-version, in any casing, offers the SKU to
// a subscription with this offer and features. has reports whether the
// subscription has a feature.
func (s *SKU) OfferedIn(apiVersion, offer string, has func(feature string) bool) bool {
	same := func(a string) func(string) bool { return func(b string) bool { return arm.EqualFold(a, b) } }
	if !slices.ContainsFunc(s.APIVersions, same(apiVersion)) {
		return false
	}
	if len(s.RequiredQuotaIDs) > 0 && !slices.ContainsFunc(s.RequiredQuotaIDs, same(offer)) {
		return false
	}
	return !slices.ContainsFunc(s.RequiredFeatures, func(f string) bool { return !has(f) })
}

// resolveSKUs completes SKUs from their type, which is finished.
func (t *ResourceType) resolveSKUs(declared []SKU) {
	for _, s := range declared {
		if len(s.Locations) == 0 {
			s.Locations = t.Locations
		}
		if len(s.APIVersions) == 0 {
			s.APIVersions = t.APIVersions
		}
		s.APIVersions = arm.NewestFirst(s.APIVersions)
		t.SKUs = append(t.SKUs, s)
	}
	if len(t.SKUs) > 0 {
		t.Provider.skuTypes = append(t.Provider.skuTypes, t)
	}
}

// SKUTypes returns the provider's types with SKUs in the map, parents before
// nested types.
func (p *Provider) SKUTypes() []*ResourceType { return p.skuTypes }
