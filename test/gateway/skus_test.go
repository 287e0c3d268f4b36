package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"portico/inventory"
)

const shop = `
regions: [{name: westus, displayName: West US}, {name: eastus, displayName: East US}]
providers:
  - namespace: Contoso.Shop
    features: [big, new]
    endpoints: {westus: [http://127.0.0.1:1], eastus: [http://127.0.0.1:1], global: [http://127.0.0.1:1]}
    resourceTypes:
      - name: carts
        kind: tracked
        apiVersions: ["2023-01-01", "2024-01-01"]
        skus:
          - name: S1
            tier: Standard
            size: small
            family: general
            kind: steel
            capacity: {minimum: 1, maximum: 10, default: 2, scaleType: Manual}
            locationInfo: [{location: eastus, zones: ["1", "2"]}]
            capabilities: [{name: wheels, value: "4"}]
            costs: [{meterId: m1, quantity: 2, extendedUnit: hours}]
          - {name: F0, locations: [West US], capacity: {scaleType: None}}
          - {name: N1, apiVersions: ["2024-01-01"]}
          - {name: B1, requiredFeatures: [Contoso.Shop/big]}
          - {name: B2, requiredFeatures: [Contoso.Shop/big, Contoso.Shop/new]}
          - {name: E1, requiredQuotaIds: [Enterprise, Partner]}
      - {name: carts/wheels, kind: tracked, apiVersions: ["2024-01-01"], skus: [{name: W1, locations: [eastus]}]}
      - {name: bags, kind: tracked, apiVersions: ["2024-01-01"]}
`

// skus lists SKUs as "name@location,location", page by page.
func (s *site) skus(target string) string {
	s.t.Helper()
	type listed struct {
		Value []struct {
			ResourceType, Name string
			SKU                struct{ Name string }
			Locations          []string
		}
		NextLink string
	}
	var all []string
	for range 20 {
		page := decode[listed](s.t, s.ok(200, "GET", target, ""))
		for _, v := range page.Value {
			if v.Name != v.SKU.Name || !strings.HasPrefix(v.ResourceType, "Contoso.Shop/carts") {
				s.t.Errorf("%+v", v)
			}
			all = append(all, v.Name+"@"+strings.Join(v.Locations, ","))
		}
		if page.NextLink == "" {
			return strings.Join(all, " ")
		}
		all = append(all, "|")
		target = s.local(page.NextLink)
	}
	s.t.Fatal("the list does not end")
	return ""
}

func TestSKUsForNewResources(t *testing.T) {
	s := newSite(t, setup{types: shop})
	const in = inSubscription + "/providers/Contoso.Shop"
	const both = "S1@westus,eastus F0@westus N1@westus,eastus"
	for _, c := range []struct{ target, want string }{
		{in + "/skus" + api, both + " W1@eastus"},
		{in + "/SKUS" + api, both + " W1@eastus"},
		{in + "/skus?api-version=2023-01-01", "S1@westus,eastus F0@westus"},
		{in + "/carts/skus" + api, both},
		{in + "/locations/westus/skus" + api, "S1@westus F0@westus N1@westus"},
		{in + "/locations/East%20US/skus" + api, "S1@eastus N1@eastus W1@eastus"},
		{in + "/locations/eastus/carts/skus" + api, "S1@eastus N1@eastus"},
		{in + "/locations/westus/carts/wheels/skus" + api, ""},
		{in + "/skus" + api + "&$filter=location%20eq%20'West%20US'", "S1@westus F0@westus N1@westus"},
		{in + "/skus" + api + "&%24filter=location%20eq%20'eastus'%20and%20name%20ne%20's1'", "N1@eastus W1@eastus"},
		{in + "/skus" + api + "&$filter=resourceType%20eq%20'contoso.shop/carts/wheels'", "W1@eastus"},
		{in + "/skus" + api + "&$filter=location%20eq%20'mars'", ""},
		{in + "/skus" + api + "&$top=2", "S1@westus,eastus F0@westus | N1@westus,eastus W1@eastus"},
		{in + "/skus" + api + "&$top=3", both + " | W1@eastus"},
	} {
		if got := s.skus(c.target); got != c.want {
			t.Errorf("%s: %q, want %q", c.target, got, c.want)
		}
	}
	for _, c := range []struct {
		status               int
		code, method, target string
	}{
		{400, "NoRegisteredProviderFound", "GET", in + "/skus?api-version=2022-01-01"},
		{400, "NoRegisteredProviderFound", "GET", in + "/locations/mars/skus" + api},
		{400, "MissingApiVersionParameter", "GET", in + "/skus"},
		{400, "InvalidQueryParameter", "GET", in + "/skus" + api + "&$filter=kind%20eq%20'x'"},
		{400, "InvalidQueryParameter", "GET", in + "/skus" + api + "&$top=0"},
		{400, "InvalidSkipToken", "GET", in + "/skus" + api + "&$skipToken=eA"},
		{404, "SubscriptionNotFound", "GET", "/subscriptions/00000000-0000-0000-0000-000000000009/providers/Contoso.Shop/skus" + api},
		{404, "InvalidResourceType", "HEAD", in + "/skus" + api},
	} {
		if c.method == "HEAD" {
			s.ok(c.status, c.method, c.target, "")
			continue
		}
		s.want(c.status, c.code, c.method, c.target, "")
	}
}

// What a subscription is registered for, and under which offer, decides on what
// it is offered.
func TestSKUsByFeatureAndOffer(t *testing.T) {
	s := newSite(t, setup{types: shop})
	for _, c := range []struct {
		offer    string
		features []string
		want     string
	}{
		{"", []string{}, "S1 F0 N1"},
		{"", []string{"contoso.shop/BIG"}, "S1 F0 N1 B1"},
		{"", []string{"Contoso.Shop/new"}, "S1 F0 N1"},
		{"", []string{"Contoso.Shop/big", "Contoso.Shop/new"}, "S1 F0 N1 B1 B2"},
		{"partner", []string{}, "S1 F0 N1 E1"},
		{"PayAsYouGo", []string{"Elsewhere/big"}, "S1 F0 N1"},
	} {
		_, _, err := s.store.PutSubscription(context.Background(), inventory.Subscription{
			ID: subscription, TenantID: tenant, DisplayName: "D", OfferID: c.offer, Features: c.features,
		})
		must(t, err)
		if got := s.names(inSubscription + "/providers/Contoso.Shop/carts/skus" + api); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestSKUInFull(t *testing.T) {
	s := newSite(t, setup{types: shop})
	got := s.ok(200, "GET", inSubscription+"/providers/Contoso.Shop/skus"+api+"&$filter=name%20eq%20's1'%20or%20name%20eq%20'f0'", "").text
	const keys = `"name":"S1","tier":"Standard","size":"small","family":"general"`
	want := fmt.Sprintf(`{"value":[{"resourceType":"Contoso.Shop/carts","sku":{%s},"kind":"steel",`+
		`"capacity":{"minimum":1,"maximum":10,"default":2,"scaleType":"Manual"},"locations":["westus","eastus"],`+
		`"locationInfo":[{"location":"westus","zones":[]},{"location":"eastus","zones":["1","2"]}],"apiVersions":["2024-01-01","2023-01-01"],`+
		`"capabilities":[{"name":"wheels","value":"4"}],"costs":[{"meterID":"m1","quantity":2,"extendedUnit":"hours"}],"restrictions":[],%s},`+
		`{"resourceType":"Contoso.Shop/carts","sku":{"name":"F0"},"capacity":{"scaleType":"None"},"locations":["westus"],`+
		`"locationInfo":[{"location":"westus","zones":[]}],"apiVersions":["2024-01-01","2023-01-01"],"restrictions":[],"name":"F0"}]}`, keys, keys)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
