package e2e

import (
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// shop is a provider with SKUs in the region map; it is never called.
const shop = `  - namespace: Contoso.Shop
    features: [big]
    endpoints: {global: ["http://127.0.0.1:1"], westus: ["http://127.0.0.1:1"], eastus: ["http://127.0.0.1:1"]}
    resourceTypes:
      - name: carts
        kind: tracked
        apiVersions: ["2024-01-01"]
        skus:
          - {name: S1, tier: Standard, locations: [westus]}
          - {name: B1, requiredFeatures: [Contoso.Shop/big]}
          - {name: E1, requiredQuotaIds: [Enterprise]}`

// SKUs of new resources are what the map offers the subscription; those of an
// existing resource are its provider's.
func TestSKUs(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Providers: shop}})
	offered := func(path string) string {
		t.Helper()
		var names []string
		for _, v := range w.Portico.Do(t, harness.Request{Path: w.SubscriptionPath() + "/providers/Contoso.Shop" + path + "?api-version=" + harness.Version}).Want(t, 200).Values(t) {
			names = append(names, v["name"].(string))
		}
		return strings.Join(names, " ")
	}
	if got := offered("/skus"); got != "S1" {
		t.Error(got)
	}
	if got := offered("/locations/eastus/skus"); got != "" {
		t.Error(got)
	}
	w.Portico.Admin(t, harness.Request{
		Method: http.MethodPut, Path: "/admin/subscriptions/" + w.SubscriptionID,
		Body: `{"tenantId":"` + harness.TenantID + `","displayName":"Demo","state":"Enabled","offerId":"Enterprise","registeredFeatures":["Contoso.Shop/big"]}`,
	}).Want(t, 200)
	if got := offered("/carts/skus"); got != "S1 B1 E1" {
		t.Error(got)
	}
	if got := offered("/locations/eastus/skus"); got != "B1 E1" {
		t.Error(got)
	}
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/vm", `{"location":"eastus","sku":{"name":"S1"}}`)
	own := w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm") + "/skus?api-version=" + harness.Version}).Want(t, 200)
	if values := own.Values(t); len(values) != 2 || values[0]["resourceType"] != "Contoso.Compute/virtualMachines" {
		t.Errorf("%s", own.Body)
	}
	w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/none") + "/skus?api-version=" + harness.Version}).
		WantError(t, 404, "ResourceNotFound")
}
