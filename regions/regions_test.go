package regions_test

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"portico/regions"
)

func address(t testing.TB, s string) []*url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return []*url.URL{u}
}

// sample has two providers that share addresses, with types on every level.
func sample(t testing.TB) *regions.Map {
	return regions.New(regions.Declaration{
		Regions: []regions.Region{
			{Name: "westus", DisplayName: "West US", PairedRegion: "eastus"},
			{Name: "eastus", DisplayName: "East US"},
			{Name: "northeurope", DisplayName: "North Europe"},
		},
		Providers: []regions.ProviderDeclaration{
			{
				Namespace:    "Contoso.Network",
				Registration: regions.Automatic,
				Addresses: regions.Addresses{Endpoints: map[string][]*url.URL{
					"global": address(t, "https://global.example"),
					"westus": address(t, "https://westus.example"),
				}},
				Types: []regions.TypeDeclaration{{Name: "links", APIVersions: []string{"2024-01-01"}}},
			},
			{
				Namespace: "Contoso.Compute",
				Addresses: regions.Addresses{
					Endpoints: map[string][]*url.URL{
						"global": address(t, "https://global.example"),
						"westus": address(t, "https://westus.example"),
					},
					Template: "https://{region}.{subservice}.{namespace}.example",
				},
				Types: []regions.TypeDeclaration{
					{Name: "virtualMachines/disks/parts", Kind: regions.ProxyOnly, Routing: regions.Global, Locations: []string{"mars"}, APIVersions: []string{"2024-01-01"}},
					{
						Name: "virtualMachines", Subservice: "vm", APIVersions: []string{"2023-01-01", "2024-06-01-preview", "2024-06-01"},
						Locations: []string{"eastus", "westus"}, LateWriteWindow: time.Minute, OnRegionFailure: regions.Partial,
						Addresses: regions.Addresses{Endpoints: map[string][]*url.URL{"eastus": address(t, "https://vm.eastus.example")}},
					},
					{Name: "virtualMachines/disks", APIVersions: []string{"2024-01-01"}},
					{Name: "sizes", Routing: regions.Global, Locations: []string{"westus"}, APIVersions: []string{"2024-01-01"}},
					{Name: "images", APIVersions: []string{"2024-01-01"}, Addresses: regions.Addresses{Template: "https://{region}.images.example"}},
				},
			},
		},
	})
}

func TestProvidersAndTypes(t *testing.T) {
	m := sample(t)
	if got := []string{m.Providers()[0].Namespace, m.Providers()[1].Namespace}; !reflect.DeepEqual(got, []string{"Contoso.Compute", "Contoso.Network"}) {
		t.Errorf("providers %v, want them sorted", got)
	}
	compute := m.Provider("CONTOSO.compute")
	if compute == nil || compute.Key != "contoso.compute" || compute.Registration != regions.Required {
		t.Fatalf("got %+v", compute)
	}
	for _, unknown := range []string{"", "Contoso", "Contoso.Comput\u212a", strings.Repeat("x", 1000), "contoso.compute "} {
		if m.Provider(unknown) != nil || compute.TypeNamed(unknown) != nil {
			t.Errorf("%q is known", unknown)
		}
	}
	machines := compute.TypeNamed("VIRTUALMACHINES")
	if machines == nil || machines != compute.Type([]byte("virtualmachines")) || machines.Name != "virtualMachines" ||
		machines.FullName != "Contoso.Compute/virtualMachines" || machines.Key != "contoso.compute/virtualmachines" || machines.Provider != compute {
		t.Fatalf("got %+v", machines)
	}
	if machines.LateWriteWindow != time.Minute || machines.OnRegionFailure != regions.Partial || machines.Parent != nil {
		t.Errorf("got %+v", machines)
	}
	if want := []string{"2024-06-01", "2024-06-01-preview", "2023-01-01"}; !reflect.DeepEqual(machines.APIVersions, want) {
		t.Errorf("api-versions %v, want %v", machines.APIVersions, want)
	}
	if !machines.Supports("2024-06-01-PREVIEW") || machines.Supports("2024-06-02") || machines.Supports("") {
		t.Error("api-versions match wrongly")
	}
	if types := compute.Types(); len(types) != 5 || types[0].Name != "virtualMachines/disks/parts" {
		t.Errorf("types are not in file order: %v", types)
	}
}

func TestNestedTypesFollowTheirParent(t *testing.T) {
	compute := sample(t).Provider("Contoso.Compute")
	machines, disks, parts := compute.TypeNamed("virtualMachines"), compute.TypeNamed("virtualMachines/disks"), compute.TypeNamed("virtualMachines/disks/parts")
	if disks.Parent != machines || parts.Parent != disks {
		t.Fatal("wrong parents")
	}
	if parts.Routing != regions.Regional || parts.Subservice != "vm" {
		t.Errorf("routing %s, subservice %q", parts.Routing, parts.Subservice)
	}
	if want := []string{"eastus", "westus"}; !reflect.DeepEqual(parts.EffectiveRegions(), want) || !reflect.DeepEqual(parts.Locations, want) {
		t.Errorf("regions %v, locations %v", parts.EffectiveRegions(), parts.Locations)
	}
	for _, region := range []string{"westus", "eastus", "northeurope", "global"} {
		if parts.Endpoint(region) == nil || parts.Endpoint(region) != machines.Endpoint(region) {
			t.Errorf("%s: %v and %v", region, parts.Endpoint(region), machines.Endpoint(region))
		}
	}
}

func TestEndpoints(t *testing.T) {
	m := sample(t)
	for _, c := range []struct{ namespace, name, region, want string }{
		{"Contoso.Compute", "virtualMachines", "eastus", "https://vm.eastus.example"},
		{"Contoso.Compute", "virtualMachines", "westus", "https://westus.example"},
		{"Contoso.Compute", "virtualMachines", "northeurope", "https://northeurope.vm.contoso.compute.example"},
		{"Contoso.Compute", "virtualMachines", "global", "https://global.example"},
		{"Contoso.Compute", "images", "westus", "https://westus.images.example"},
		{"Contoso.Compute", "images", "global", "https://global.example"},
		{"Contoso.Compute", "sizes", "global", "https://global.example"},
		{"Contoso.Compute", "sizes", "eastus", "none"}, // no subservice for the template
		{"Contoso.Compute", "", "westus", "https://westus.example"},
		{"Contoso.Compute", "", "global", "https://global.example"},
		{"Contoso.Compute", "", "eastus", "none"},
		{"Contoso.Network", "links", "westus", "https://westus.example"},
		{"Contoso.Network", "links", "eastus", "none"},
		{"Contoso.Network", "links", "mars", "none"},
	} {
		p := m.Provider(c.namespace)
		e := p.Endpoint(c.region)
		if c.name != "" {
			e = p.TypeNamed(c.name).Endpoint(c.region)
		}
		got := "none"
		if e != nil {
			got = e.String()
			if e.Region != c.region {
				t.Errorf("%+v: endpoint of %s", c, e.Region)
			}
		}
		if got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
	network, compute := m.Provider("Contoso.Network"), m.Provider("Contoso.Compute")
	if network.TypeNamed("links").Endpoint("westus") != compute.Endpoint("westus") {
		t.Error("equal endpoints are not one")
	}
}

func TestAllEndpoints(t *testing.T) {
	var got []string
	for _, e := range sample(t).Endpoints() {
		got = append(got, e.Region+" "+e.String())
	}
	want := []string{
		"eastus https://eastus.images.example", "eastus https://vm.eastus.example", "global https://global.example",
		"northeurope https://northeurope.images.example", "northeurope https://northeurope.vm.contoso.compute.example",
		"westus https://westus.example", "westus https://westus.images.example",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLocations(t *testing.T) {
	m := sample(t)
	compute := m.Provider("Contoso.Compute")
	for name, want := range map[string][]string{
		"virtualMachines": {"eastus", "westus"},
		"images":          {"westus", "eastus", "northeurope"},
		"sizes":           {"global"},
	} {
		rt := compute.TypeNamed(name)
		if !reflect.DeepEqual(rt.Locations, want) || !reflect.DeepEqual(rt.EffectiveRegions(), want) {
			t.Errorf("%s: locations %v, regions %v, want %v", name, rt.Locations, rt.EffectiveRegions(), want)
		}
		if !rt.OffersLocation(want[0]) || rt.OffersLocation("mars") {
			t.Errorf("%s offers the wrong locations", name)
		}
	}
	if got := m.Provider("Contoso.Network").TypeNamed("links").Locations; !reflect.DeepEqual(got, []string{"westus"}) {
		t.Errorf("links: %v, want the regions with an endpoint", got)
	}
	if r, ok := m.Region("eastus"); !ok || r.DisplayName != "East US" {
		t.Errorf("got %+v", r)
	}
	if _, ok := m.Region("global"); ok {
		t.Error("global is no region")
	}
	if len(m.Regions()) != 3 || m.Regions()[0].Name != "westus" {
		t.Errorf("got %v", m.Regions())
	}
}

func TestEmptyMap(t *testing.T) {
	for _, m := range []*regions.Map{{}, regions.New(regions.Declaration{})} {
		if _, ok := m.Region("westus"); ok || m.Provider("a") != nil || len(m.Providers()) != 0 || len(m.Regions()) != 0 {
			t.Error("an empty map knows something")
		}
	}
}

// TestUncheckedDeclaration checks that invalid declarations do no harm.
func TestUncheckedDeclaration(t *testing.T) {
	m := regions.New(regions.Declaration{
		Regions: []regions.Region{{Name: "westus", DisplayName: "first"}, {Name: "westus", DisplayName: "second"}},
		Providers: []regions.ProviderDeclaration{
			{Namespace: "A.B", Addresses: regions.Addresses{Template: "://{region}"}, Types: []regions.TypeDeclaration{
				{Name: "orphans/children"}, {Name: "things", Subservice: "first"}, {Name: "THINGS", Subservice: "second"},
			}},
			{Namespace: "a.b"},
		},
	})
	if r, _ := m.Region("westus"); r.DisplayName != "first" {
		t.Errorf("got %+v", r)
	}
	p := m.Provider("a.b")
	if len(m.Providers()) != 1 || p.Namespace != "A.B" || len(p.Types()) != 2 {
		t.Fatalf("got %+v", p)
	}
	if things := p.TypeNamed("things"); things.Subservice != "first" || things.Endpoint("westus") != nil || len(things.Locations) != 0 {
		t.Errorf("got %+v", things)
	}
	if p.TypeNamed("orphans/children").Parent != nil {
		t.Error("an orphan has a parent")
	}
}

func TestLookupsDoNotAllocate(t *testing.T) {
	m := sample(t)
	compute := m.Provider("Contoso.Compute")
	disks := compute.TypeNamed("virtualMachines/disks")
	key, long := []byte("virtualmachines/disks"), strings.Repeat("Ä", 4000)
	for name, lookup := range map[string]func() bool{
		"Region":         func() bool { _, ok := m.Region("eastus"); return ok },
		"Regions":        func() bool { return len(m.Regions()) == 3 },
		"Providers":      func() bool { return len(m.Providers()) == 2 },
		"Provider":       func() bool { return m.Provider("CONTOSO.Compute") == compute },
		"Provider, none": func() bool { return m.Provider(long) == nil && m.Provider("Contoso.Ümlaut") == nil },
		"Type":           func() bool { return compute.Type(key) == disks },
		"TypeNamed":      func() bool { return compute.TypeNamed("VirtualMachines/DISKS") == disks },
		"TypeNamed, none": func() bool {
			return compute.TypeNamed(long) == nil && compute.TypeNamed("nothings") == nil
		},
		"Supports":         func() bool { return disks.Supports("2024-01-01") && !disks.Supports("2024-01-02-PREVIEW") },
		"OffersLocation":   func() bool { return disks.OffersLocation("westus") },
		"Endpoint":         func() bool { return disks.Endpoint("westus") != nil && compute.Endpoint("global") != nil },
		"EffectiveRegions": func() bool { return len(disks.EffectiveRegions()) == 2 },
		"Types":            func() bool { return len(compute.Types()) == 5 },
	} {
		right := true
		if n := testing.AllocsPerRun(100, func() { right = right && lookup() }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
		if !right {
			t.Errorf("%s is wrong", name)
		}
	}
}

func TestEnumsPrintThemselves(t *testing.T) {
	for _, c := range []struct {
		got  any
		want string
	}{
		{regions.Registrations(), "[required automatic]"},
		{regions.Kinds(), "[tracked proxyOnly extension]"},
		{regions.Routings(), "[regional global]"},
		{regions.DeletionPolicies(), "[cascade refuse]"},
		{regions.RegionFailures(), "[fail partial]"},
		{regions.Inherit, "inherit"},
		{regions.Kind(99), "unknown"},
	} {
		if got := fmt.Sprint(c.got); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// Calls by one identity never use the connections, or the health, of another.
func TestIdentitiesShareNoEndpoint(t *testing.T) {
	provider := func(namespace, scheme string, tls regions.TLS) regions.ProviderDeclaration {
		return regions.ProviderDeclaration{
			Namespace: namespace, TLS: tls,
			Addresses: regions.Addresses{Endpoints: map[string][]*url.URL{"westus": address(t, scheme+"://shared.example")}},
		}
	}
	own := regions.TLS{Cert: "a.pem", Key: "a.key"}
	m := regions.New(regions.Declaration{Regions: []regions.Region{{Name: "westus"}}, Providers: []regions.ProviderDeclaration{
		provider("Contoso.A", "https", own), provider("Contoso.B", "https", own), provider("Contoso.C", "https", regions.TLS{}), provider("Contoso.D", "https", regions.TLS{}),
		provider("Contoso.E", "http", own), provider("Contoso.F", "http", regions.TLS{}),
	}})
	of := func(namespace string) *regions.Endpoint { return m.Provider(namespace).Endpoint("westus") }
	if of("Contoso.A") == of("Contoso.B") || of("Contoso.A") == of("Contoso.C") || of("Contoso.B") == of("Contoso.C") {
		t.Error("providers of several identities share an endpoint")
	}
	if of("Contoso.C") != of("Contoso.D") || of("Contoso.E") != of("Contoso.F") {
		t.Error("providers of one identity, or without TLS, share no endpoint")
	}
	if got := of("Contoso.A").Identity; got != "Contoso.A" {
		t.Errorf("the identity is %q", got)
	}
	if got := of("Contoso.E").Identity; got != "" {
		t.Errorf("without TLS the identity is %q", got)
	}
}
