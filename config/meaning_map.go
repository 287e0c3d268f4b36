package config

// mapMeanings explains the settings of the region map and the subscriptions.
func mapMeanings() []meaning {
	const endpoints = "A region's addresses, a list for each, under the region's name; `global` serves the provider's tenant calls and global types."
	return []meaning{
		{path: "regions", text: "The regions that there are."},
		{path: "regions.name", text: "The region's name, as resources have it for their location. Case and spaces do not count."},
		{path: "regions.displayName", text: "The name for people. It should be the region's name but for case and spaces, as clients send it as a location.", preset: "the name"},
		{path: "regions.pairedRegion", text: "Another region, shown to clients. It is never a place to fail over to."},
		{path: "regions.geography", text: "Shown to clients."},
		{path: "regions.geographyGroup", text: "Shown to clients."},
		{path: "regions.physicalLocation", text: "Shown to clients."},
		{path: "regions.latitude", text: "Shown to clients, as it is written here."},
		{path: "regions.longitude", text: "Shown to clients, as it is written here."},

		{path: "providers", text: "The resource providers, with the types that each of them serves.", preset: "none"},
		{path: "providers.namespace", text: "The provider's namespace. Microsoft.Resources, Microsoft.Authorization and Microsoft.Features are the gateway's own."},
		{path: "providers.registration", text: "`required`: a subscription registers before it uses the provider. `automatic`: every subscription counts as registered."},
		{path: "providers.endpoints", text: endpoints + " They serve all types without endpoints of their own. Several addresses of one region are called in turn.",
			preset: "none; each provider needs a global one"},
		{path: "providers.endpointTemplate", text: "The address in the regions that `endpoints` does not name. `{region}`, `{subservice}` (of the type) and " +
			"`{namespace}` (in lower case) are filled in.", allowed: "an address that may hold {region}, {subservice} and {namespace}"},
		{path: "providers.resourceTypes", text: "The types that the provider serves. What a nested type leaves out it has from its parent: routing, regions, subservice, endpoints.", preset: "none"},
		{path: "providers.resourceTypes.name", text: "The type without its namespace; a nested one follows its parent's name, which must be declared too. It should be a lowerCamelCase plural."},
		{path: "providers.resourceTypes.kind", text: "`tracked`: the index knows where its instances are; they have a location and tags. `proxyOnly`: requests are passed on, nothing is remembered. " +
			"`extension`: its instances are attached to other resources."},
		{path: "providers.resourceTypes.routing", text: "`regional`: each instance is served by its region. `global`: all are served by the global endpoint.", preset: "that of the parent, or `regional`"},
		{path: "providers.resourceTypes.subservice", text: "What `{subservice}` in an `endpointTemplate` stands for.", preset: "the parent's, or none"},
		{path: "providers.resourceTypes.apiVersions", text: "The api-versions that the type has. At least one."},
		{path: "providers.resourceTypes.locations", text: "The regions in which the type is offered; each must have an endpoint.",
			preset: "every region that has an endpoint", allowed: "names of regions"},
		{path: "providers.resourceTypes.deletionPolicy", text: "What becomes of the children of a resource that is deleted. `cascade`: they go with it. `refuse`: it cannot be deleted while it has any."},
		{path: "providers.resourceTypes.capabilities", text: "What the type can do."},
		{path: "providers.resourceTypes.capabilities.move", text: "Its instances can be moved to another group or subscription."},
		{path: "providers.resourceTypes.capabilities.tags", text: "Its instances have tags.", preset: "`true` for tracked types, else `false`"},
		{path: "providers.resourceTypes.capabilities.etags", text: "Its instances have ETags."},
		{path: "providers.resourceTypes.endpoints", text: endpoints + " They come before the provider's.", preset: "none"},
		{path: "providers.resourceTypes.endpointTemplate", text: "As the provider's, for this type.", allowed: "an address that may hold {region}, {subservice} and {namespace}"},
		{path: "providers.resourceTypes.lateWriteWindow", text: "In place of `index.lateWriteWindow`, for this type.", preset: "`index.lateWriteWindow`"},
		{path: "providers.resourceTypes.onRegionFailure", text: "In place of `lists.onRegionFailure`, for this type.", preset: "`lists.onRegionFailure`"},

		{path: "subscriptions", text: "Subscriptions that exist from the first start. Others are made by the admin listener, which also changes these.", preset: "none"},
		{path: "subscriptions.id", text: "The subscription's id."},
		{path: "subscriptions.tenantId", text: "The tenant that it belongs to."},
		{path: "subscriptions.displayName", text: "The name for people.", preset: "the id"},
		{path: "subscriptions.state", text: "Enabled and PastDue take all calls, Warned and Disabled only GET, HEAD and DELETE; a Deleted one is answered with 404."},
		{path: "subscriptions.covered", text: "`true`: no resource of it was made before the gateway stood in front. Any other is swept once, and its resources are looked for at the providers until then."},
	}
}
