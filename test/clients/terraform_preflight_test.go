package clients

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// judgedProvider is a provider that judges plans, of a type whose resources azurerm has
// judged while it plans.
const judgedProvider = `  - namespace: Microsoft.Dashboard
    registration: automatic
    endpoints:
%s    resourceTypes:
      - {name: grafana, kind: tracked, apiVersions: ["2025-08-01"], capabilities: {tags: true, preflight: true}}`

// dashboards are a group that does not exist yet, and a resource in it.
const dashboards = `
variable "zones" { default = false }
variable "stage" { default = "test" }

resource "azurerm_resource_group" "planned" {
  name     = "Planned"
  location = "westus"
}

resource "azurerm_dashboard_grafana" "one" {
  name                    = "one"
  resource_group_name     = azurerm_resource_group.planned.name
  location                = "East US"
  grafana_major_version   = "12"
  zone_redundancy_enabled = var.zones
  tags                    = { stage = var.stage }
}
`

// A plan fails with the words of the provider that would refuse it, or of the gateway, before
// anything is sent; one that no one refuses is applied.
func TestTerraformHasPlansJudged(t *testing.T) {
	t.Parallel()
	const refusal = "There are no zones in this region."
	provider := harness.StartScripted(t)
	provider.Script(harness.Script{Method: http.MethodPost, Part: "/preflight", Answer: harness.Reply{Status: 200, Body: `{"status":"Succeeded"}`}})
	provider.Script(harness.Script{
		Method: http.MethodPost, Part: "/preflight", When: func(c harness.Call) bool { return strings.Contains(c.Body, `"zoneRedundancy":"Enabled"`) },
		Answer: harness.Reply{Status: 200, Body: `{"status":"Failed","error":{"code":"ZonesUnavailable","message":"` + refusal + `"}}`},
	})
	c := terraformAt(t, newStand(t, harness.WorldOptions{Config: harness.Config{
		Metadata: terraformCloud, Providers: fmt.Sprintf(judgedProvider, provider.Endpoints()),
	}}), clientID, clientSecret)
	judging := strings.Replace(terraformProvider, "features {}", "features {\n    enhanced_validation { preflight_enabled = true }\n  }", 1)
	dir := configuration(t, fmt.Sprintf(judging, "")+dashboards)
	group, dashboard := c.GroupPath("Planned"), c.ResourcePath("Planned", "Microsoft.Dashboard/grafana/one")
	// wantValidated expects that since the last time the provider was asked about plans, in eastus,
	// and was sent no write.
	wantValidated := func() {
		t.Helper()
		calls := provider.Calls()
		provider.Forget()
		if len(calls) == 0 {
			t.Error("the provider was not asked")
		}
		for _, call := range calls {
			if call.Method != http.MethodGet && (call.Region != "eastus" || !strings.Contains(call.Path, "/preflight")) {
				t.Errorf("%s got %s %s", call.Region, call.Method, call.Target)
			}
		}
	}

	said := c.ends(t, dir, 1, "plan", "-var", "zones=true")
	if !strings.Contains(said, "Error (ResourceValidationFailed)") || !strings.Contains(said, dashboard+": "+refusal) {
		t.Errorf("a plan that the provider refuses: %s", said)
	}
	wantValidated()
	c.ends(t, dir, 1, "apply", "-auto-approve", "-var", "zones=true")
	wantValidated()
	c.Portico.Do(t, harness.Request{Path: group + "?api-version=2021-04-01"}).WantError(t, 404, "ResourceGroupNotFound")

	c.apply(t, dir)
	if !provider.Holds("eastus", dashboard) {
		t.Errorf("eastus holds %v", provider.Holding(""))
	}
	provider.Forget()
	c.ends(t, dir, 1, "plan", "-var", "zones=true")
	wantValidated()
	c.apply(t, dir, "-var", "stage=live")

	lock := harness.Request{Method: http.MethodPut, Path: group + "/providers/Microsoft.Authorization/locks/still?api-version=2020-05-01", Body: `{"properties":{"level":"ReadOnly"}}`}
	c.Portico.Do(t, lock).Want(t, 201)
	provider.Forget()
	said = c.ends(t, dir, 1, "plan", "-var", "stage=test")
	if !strings.Contains(said, "cannot perform write operation because following scope(s) are locked: '"+group+"'") {
		t.Errorf("a plan that a lock refuses: %s", said)
	}
	for _, call := range provider.Calls() {
		if call.Method != http.MethodGet {
			t.Errorf("what the gateway refuses is nothing to ask: %s %s", call.Method, call.Target)
		}
	}
	lock.Method, lock.Body = http.MethodDelete, ""
	c.Portico.Do(t, lock).Want(t, 200)
	c.ends(t, dir, 0, "destroy", "-auto-approve", "-var", "stage=live")
	if left := provider.Holding(""); len(left) > 0 {
		t.Errorf("it is left: %v", left)
	}
}
