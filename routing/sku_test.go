package routing

import (
	"strings"
	"testing"

	"portico/arm"
	"portico/regions"
)

// shop has SKUs of some of a provider's types; another has a type skus instead.
func shop(t *testing.T) *regions.Map {
	t.Helper()
	some, all := []string{"2024-01-01"}, []string{"2023-01-01", "2024-01-01"}
	skus := []regions.SKU{{Name: "S1"}}
	return regions.New(regions.Declaration{
		Regions: []regions.Region{{Name: "westus"}, {Name: "eastus"}},
		Providers: []regions.ProviderDeclaration{
			{
				Namespace: "Contoso.Shop", Addresses: addresses(t, "shop", "westus", "eastus", "global"),
				Types: []regions.TypeDeclaration{
					{Name: "carts", Kind: regions.Tracked, APIVersions: some, Locations: []string{"westus"}, SKUs: skus},
					{Name: "carts/wheels", Kind: regions.Tracked, APIVersions: all, SKUs: skus},
					{Name: "bags", Kind: regions.Tracked, APIVersions: all},
					{Name: "quotas", Kind: regions.ProxyOnly, Routing: regions.Global, APIVersions: all, SKUs: skus},
				},
			},
			{
				Namespace: "Contoso.Own", Addresses: addresses(t, "own", "westus", "global"),
				Types: []regions.TypeDeclaration{{Name: "skus", Kind: regions.ProxyOnly, Routing: regions.Global, APIVersions: all, SKUs: skus}},
			},
			{
				Namespace: "Contoso.None", Addresses: addresses(t, "none", "westus", "global"),
				Types: []regions.TypeDeclaration{{Name: "things", Kind: regions.Tracked, APIVersions: all}},
			},
		},
	})
}

func TestClassifySKUs(t *testing.T) {
	m := shop(t)
	const in = sub + "/providers/Contoso.Shop"
	for _, c := range []struct {
		method, path string
		class        Class
		types        string
	}{
		{"GET", in + "/skus", Own, "carts quotas carts/wheels"},
		{"GET", sub + "/providers/contoso.SHOP/SKUs", Own, "carts quotas carts/wheels"},
		{"GET", in + "/locations/West US/skus", Own, "carts quotas carts/wheels"},
		{"GET", in + "/carts/skus", Own, "carts"},
		{"GET", in + "/locations/westus/CARTS/skus", Own, "carts"},
		{"GET", in + "/locations/westus/carts/wheels/skus", Own, "carts/wheels"},
		{"GET", in + "/locations/westus/quotas/skus", Own, "quotas"},
		// The provider's.
		{"POST", in + "/skus", AtProvider, ""},
		{"HEAD", in + "/skus", Collection, ""},
		{"PUT", in + "/carts/skus", Instance, ""},
		{"GET", in + "/quotas/skus", Instance, ""},
		{"GET", in + "/bags/skus", Instance, ""},
		{"GET", in + "/locations/westus/bags/skus", Located, ""},
		{"GET", in + "/carts/wheels/skus", Below, ""}, // of a cart called wheels
		{"GET", "/providers/Contoso.Shop/skus", Collection, ""},
		{"GET", rg + "/providers/Contoso.Shop/skus", Collection, ""},
		{"GET", rg + "/providers/Contoso.Shop/carts/c/skus", Below, ""},
		{"GET", rg + "/providers/Contoso.Shop/carts/skus", Instance, ""},
		{"GET", sub + "/providers/Contoso.Own/skus", Collection, ""},
		{"GET", sub + "/providers/Contoso.Own/skus/skus", Instance, ""},
		{"GET", sub + "/providers/Contoso.None/skus", Collection, ""},
		{"GET", sub + "/providers/Contoso.None/locations/westus/skus", Located, ""},
		{"GET", sub + "/providers/Nobody.Knows/skus", Collection, ""},
	} {
		r, fault := Classify(m, c.method, c.path, "")
		if fault != nil {
			t.Fatal(c.path, fault)
		}
		var types []string
		for _, t := range r.SKUTypes {
			types = append(types, t.Name)
		}
		if got := strings.Join(types, " "); r.Class != c.class || got != c.types {
			t.Errorf("%s %s: got %s %q, want %s %q", c.method, c.path, r.Class, got, c.class, c.types)
		}
	}
}

func TestCheckSKUs(t *testing.T) {
	m := shop(t)
	const in = sub + "/providers/Contoso.Shop"
	for _, c := range []struct {
		path, version string
		code          arm.Code
		target        string
	}{
		{in + "/skus", "2024-01-01", "", ""},
		{in + "/skus", "2023-01-01", "", ""}, // of other types than carts
		{in + "/carts/skus", "2024-01-01", "", ""},
		{in + "/carts/skus", "2023-01-01", arm.NoRegisteredProviderFound, "api-version"},
		{in + "/skus", "2022-01-01", arm.NoRegisteredProviderFound, "api-version"},
		{in + "/skus", "", arm.MissingAPIVersionParameter, "api-version"},
		{in + "/skus", "v1", arm.InvalidAPIVersionParameter, "api-version"},
		{in + "/locations/global/skus", "2024-01-01", "", ""}, // quotas are there
		{in + "/locations/eastus/skus", "2024-01-01", arm.NoRegisteredProviderFound, "location"},
		{in + "/locations/mars/carts/skus", "2024-01-01", arm.NoRegisteredProviderFound, "location"},
	} {
		query := "api-version=" + c.version
		if c.version == "" {
			query = ""
		}
		r, fault := Classify(m, "GET", c.path, query)
		if fault == nil {
			fault = r.Check(m, "")
		}
		switch {
		case fault == nil && c.code == "":
		case fault == nil || fault.Code != c.code || fault.Target != c.target:
			t.Errorf("%s %s: %v", c.path, c.version, fault)
		}
	}
	r, _ := Classify(m, "GET", in+"/locations/mars/carts/skus", "api-version=2024-01-01")
	const want = "No registered resource provider found for location 'mars' and API version '2024-01-01' for type 'locations/skus'. " +
		"The supported api-versions are '2024-01-01'. The supported locations are 'westus'."
	if fault := r.Check(m, ""); fault.Message != want {
		t.Error(fault.Message)
	}
}
