package routing

import (
	"net/url"
	"testing"

	"portico/regions"
)

const (
	sub = "/subscriptions/00000000-0000-0000-0000-00000000000A"
	rg  = sub + "/resourceGroups/Rg"

	compute = "/providers/Contoso.Compute"
	guard   = "/providers/Contoso.Guard"
	lonely  = "/providers/Contoso.Lonely"

	vms = rg + compute + "/virtualMachines"
	v   = "?api-version=2024-01-01"
)

// addresses are a provider's endpoints, one in each of the named regions.
func addresses(t testing.TB, name string, in ...string) regions.Addresses {
	t.Helper()
	endpoints := map[string][]*url.URL{}
	for _, region := range in {
		u, err := url.Parse("https://" + region + "." + name)
		if err != nil {
			t.Fatal(err)
		}
		endpoints[region] = []*url.URL{u}
	}
	return regions.Addresses{Endpoints: endpoints}
}

// sample has types of every kind: nested, global, extensions.
func sample(t testing.TB) *regions.Map {
	t.Helper()
	versions := []string{"2024-01-01", "2023-01-01-preview"}
	declare := func(name string, kind regions.Kind, routing regions.Routing, locations ...string) regions.TypeDeclaration {
		return regions.TypeDeclaration{Name: name, Kind: kind, Routing: routing, Locations: locations, APIVersions: versions}
	}
	elsewhere := declare("stamps", regions.Extension, regions.Regional)
	elsewhere.Addresses = addresses(t, "stamps", "westus", "eastus")
	return regions.New(regions.Declaration{
		Regions: []regions.Region{{Name: "westus"}, {Name: "eastus"}, {Name: "northeurope"}},
		Providers: []regions.ProviderDeclaration{
			{
				Namespace: "Contoso.Compute",
				Addresses: addresses(t, "compute", "westus", "eastus", "northeurope", "global"),
				Types: []regions.TypeDeclaration{
					declare("virtualMachines", regions.Tracked, regions.Regional, "westus", "eastus"),
					declare("virtualMachines/disks", regions.Tracked, regions.Regional),
					declare("virtualMachines/agents", regions.ProxyOnly, regions.Regional),
					declare("virtualMachines/agents/snapshots", regions.Tracked, regions.Regional),
					declare("catalogs", regions.ProxyOnly, regions.Regional, "northeurope"),
					declare("catalogs/items", regions.Tracked, regions.Regional),
					declare("quotas", regions.ProxyOnly, regions.Global),
					declare("quotas/steps", regions.ProxyOnly, regions.Global),
					declare("zones", regions.Tracked, regions.Global),
					declare("zones/records", regions.Tracked, regions.Global),
					declare("checkNames", regions.ProxyOnly, regions.Global),
				},
			},
			{
				Namespace:    "Contoso.Guard",
				Registration: regions.Automatic,
				Addresses:    addresses(t, "guard", "westus", "global"),
				Types: []regions.TypeDeclaration{
					declare("guards", regions.Extension, regions.Regional),
					declare("marks", regions.Extension, regions.Global),
					elsewhere,
				},
			},
			{
				Namespace:    "Contoso.Lonely",
				Registration: regions.Automatic,
				Addresses:    addresses(t, "lonely", "westus"),
				Types: []regions.TypeDeclaration{
					declare("things", regions.Tracked, regions.Regional),
					declare("charms", regions.Extension, regions.Regional),
				},
			},
		},
	})
}
