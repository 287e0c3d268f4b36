package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

// machineDocument is the document of virtual machines.
const machineDocument = `{"openapi": "3.0.0", "info": {"title": "Compute", "version": "2024-01-01"},
"paths": {"/subscriptions/{s}/resourceGroups/{g}/providers/Contoso.Compute/virtualMachines/{n}": {"put": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Machine"}}}}}}},
"components": {"schemas": {"Machine": {"type": "object", "required": ["location"], "properties": {"location": {"type": "string"},
  "properties": {"type": "object", "properties": {"size": {"type": "string", "enum": ["small", "large"]}, "provisioningState": {"type": "string", "readOnly": true}}}}}}}}`

// Plans as clients send them, from those of azurerm (the whole body under properties), azapi
// and aztfpreflight (members beside the name), meet all three judges, of several regions, and
// leave nothing behind.
func TestPlannedResourcesAreJudged(t *testing.T) {
	t.Parallel()
	spec := filepath.Join(t.TempDir(), "compute.json")
	harness.OK(t, os.WriteFile(spec, []byte(machineDocument), 0o600))
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{ComputeSpec: spec}})
	p, group := w.Portico, w.GroupPath("plan")
	judged := func(body string) (answer harness.Answer, verdict string) {
		t.Helper()
		body = strings.ReplaceAll(body, "SCOPE", group)
		a := p.Do(t, harness.Request{Method: http.MethodPost, Path: "/providers/Microsoft.Resources/validateResources?api-version=2020-10-01", Body: body})
		var said struct {
			Properties struct{ ValidatedResources []string }
			Error      struct {
				Details []struct{ Code, Target string }
			}
		}
		harness.OK(t, json.Unmarshal(a.Body, &said))
		all := said.Properties.ValidatedResources
		for _, d := range said.Error.Details {
			all = append(all, d.Code+" "+d.Target)
		}
		return a, strings.ReplaceAll(strings.Join(all, ", "), group+"/providers/Contoso.Compute/virtualMachines/", "")
	}
	for _, created := range []bool{false, true} { // a plan makes its group
		if created {
			w.PutGroup(t, "plan")
		}
		for _, c := range []struct {
			client, body, want, cause string
			status                    int
		}{
			{"azurerm", `{"provider":"Contoso.Compute","type":"virtualMachines","location":"westus","scope":"SCOPE","validationType":"1",
				"resources":[{"apiVersion":"2024-01-01","name":"a","type":"Contoso.Compute/virtualMachines","properties":{"location":"westus","tags":{"a":"b"},"properties":{"size":"small"}}}]}`, "a", "", 200},
			{"azurerm", `{"provider":"Contoso.Compute","type":"virtualMachines","location":"westus","scope":"SCOPE",
				"resources":[{"apiVersion":"2024-01-01","name":"a","type":"Contoso.Compute/virtualMachines","properties":{"size":"tiny"}}]}`, "InvalidRequestContent a", "gateway", 400},
			{"azapi", `{"provider":"Contoso.Compute","type":"virtualMachines","location":"eastus","scope":"SCOPE",
				"resources":[{"apiVersion":"2024-01-01","name":"a","type":"Contoso.Compute/virtualMachines","kind":"k","properties":{"size":"[reference('b')]"}}]}`, "a", "", 200},
			{"azapi", `{"provider":"Contoso.Compute","type":"virtualMachines","location":"eastus","scope":"SCOPE",
				"resources":[{"apiVersion":"2024-01-01","name":"a","type":"Contoso.Compute/virtualMachines","kind":"no form","properties":{}}]}`, "InvalidRequestContent a", "service", 400},
			{"aztfpreflight", `{"provider":"Contoso.Compute","type":"virtualMachines","location":"mars","scope":"SCOPE","resources":[
				{"apiVersion":"2024-01-01","name":"a","type":"Contoso.Compute/virtualMachines","location":"West US","kind":"no form"},
				{"apiVersion":"2024-01-01","name":"b","type":"Contoso.Compute/virtualMachines","location":"East US","kind":"k"},
				{"apiVersion":"2024-01-01","name":"b/d","type":"Contoso.Compute/virtualMachines/disks","tags":{}},
				{"apiVersion":"2024-01-01","name":"c","type":"Contoso.Compute/virtualMachines","kind":"k"}]}`,
				"InvalidRequestContent a, LocationNotAvailableForResourceType c", "gateway", 400},
		} {
			a, verdict := judged(c.body)
			if a.Status != c.status || verdict != c.want || a.Header.Get("X-Ms-Failure-Cause") != c.cause {
				t.Errorf("%s, with the group %v: %d %q by %q: %s", c.client, created, a.Status, verdict, a.Header.Get("X-Ms-Failure-Cause"), a.Body)
			}
		}
	}
	for _, region := range []string{"westus", "eastus", "global"} {
		for _, r := range w.Contoso(region).Requests(t) {
			if !strings.HasSuffix(r.Path, "/preflight") {
				t.Errorf("%s got %s %s", region, r.Method, r.Path)
			}
		}
	}
	list := p.Do(t, harness.Request{Method: http.MethodGet, Path: group + "/resources" + ownVersion}).Want(t, 200)
	if !strings.Contains(string(list.Body), `"value":[]`) {
		t.Errorf("something was made: %s", list.Body)
	}
}
