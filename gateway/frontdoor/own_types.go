package frontdoor

import (
	"slices"

	"portico/arm"
	"portico/regions"
)

// ownType is one of Portico's own types, for clients that look up its api-versions. The
// routes accept any well-formed version; these are the ones that clients know.
type ownType struct {
	namespace, name string
	versions        []string // newest first
	capabilities    string
	located         bool // it may be in any location of the map
}

const (
	extension = "SupportsExtension"
	container = "SupportsTags, SupportsLocation"
)

// ownTypes returns the types of the front door. Types with actions are also in
// frontDoorActions; resourceGroups is the name in templates of
// subscriptions/resourceGroups.
func ownTypes() []ownType {
	var (
		managed     = []string{"2022-12-01", "2022-09-01", "2021-04-01", "2020-06-01", "2019-05-01"}
		deployed    = []string{"2024-03-01", "2022-09-01", "2021-04-01", "2020-06-01", "2019-05-01"}
		roles       = []string{"2022-04-01", "2018-07-01", "2015-07-01"}
		locked      = []string{"2020-05-01", "2016-09-01", "2015-01-01"}
		featured    = []string{"2021-07-01", "2015-12-01"}
		logged      = []string{"2015-04-01"}
		resources   = "Microsoft.Resources"
		authorizing = "Microsoft.Authorization"
		features    = "Microsoft.Features"
		insights    = "Microsoft.Insights"
	)
	return []ownType{
		{resources, "calculateTemplateHash", deployed, "", false},
		{resources, "changes", []string{"2022-05-01"}, extension, false},
		{resources, "checkResourceName", managed, "", false},
		{resources, "deployments", deployed, container, true},
		{resources, "deployments/operationStatuses", deployed, "", false},
		{resources, "deployments/operations", deployed, "", false},
		{resources, "providers", managed, "", false},
		{resources, "resourceGroups", managed, container, true},
		{resources, "subscriptions", managed, "", false},
		{resources, "subscriptions/locations", managed, "", false},
		{resources, "subscriptions/operationresults", managed, "", false},
		{resources, "subscriptions/providers", managed, "", false},
		{resources, "subscriptions/resourceGroups", managed, container, true},
		{resources, "subscriptions/resourceGroups/resources", managed, "", false},
		{resources, "subscriptions/resources", managed, "", false},
		{resources, "subscriptions/tagNames", managed, "", false},
		{resources, "subscriptions/tagNames/tagValues", managed, "", false},
		{resources, "tags", managed, extension, false},
		{resources, "tenants", managed, "", false},
		{resources, "validateResources", []string{"2020-10-01"}, "", false},
		{authorizing, "classicAdministrators", []string{"2015-07-01", "2015-06-01"}, "", false},
		{authorizing, "denyAssignments", roles[:2], extension, false},
		{authorizing, "locks", locked, extension, false},
		{authorizing, "permissions", roles, extension, false},
		{authorizing, "providerOperations", roles, "", false},
		{authorizing, "roleAssignments", roles, extension, false},
		{authorizing, "roleDefinitions", roles, extension, false},
		{features, "featureProviders/subscriptionFeatureRegistrations", featured[:1], "", false},
		{features, "features", featured, "", false},
		{features, "providers/features", featured, "", false},
		{features, "subscriptionFeatureRegistrations", featured[:1], "", false},
		{insights, "eventCategories", logged, "", false},
		{insights, "eventtypes/values", logged, "", false},
	}
}

// namespace is a namespace of types as clients see it: a provider of the map, the front
// door's own, or both.
type namespace struct {
	name     string
	provider *regions.Provider // nil: not in the map
	own      []ownType         // types that the provider does not declare
}

// needsNoRegistration reports whether all subscriptions count as registered.
func (n *namespace) needsNoRegistration() bool {
	return n.provider == nil || n.provider.Registration == regions.Automatic
}

// namespaces returns all namespaces, the map's first.
func (g providers) namespaces() (all []*namespace) {
	for _, p := range g.regions.Providers() {
		all = append(all, &namespace{name: p.Namespace, provider: p})
	}
	for _, t := range ownTypes() {
		i := slices.IndexFunc(all, func(n *namespace) bool { return arm.EqualFold(n.name, t.namespace) })
		if i < 0 {
			i, all = len(all), append(all, &namespace{name: t.namespace})
		}
		if n := all[i]; n.provider == nil || n.provider.TypeNamed(t.name) == nil {
			n.own = append(n.own, t)
		}
	}
	return all
}

// typesOf returns the types of a namespace as clients see them.
func (g providers) typesOf(n *namespace) []typeBody {
	types := []typeBody{}
	if n.provider != nil {
		for _, t := range n.provider.Types() {
			types = append(types, g.typeOf(t))
		}
	}
	for _, t := range n.own {
		body := typeBody{
			ResourceType: t.name, Locations: []string{}, APIVersions: t.versions, DefaultAPIVersion: t.versions[0], Capabilities: t.capabilities,
		}
		if body.Capabilities == "" {
			body.Capabilities = "None"
		}
		if t.located {
			for _, region := range g.regions.Regions() {
				body.Locations = append(body.Locations, region.DisplayName)
			}
		}
		types = append(types, body)
	}
	return types
}
