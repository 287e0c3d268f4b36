package sdk

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"portico/test/harness"
)

// azapiPlan is what azapi 2.12 sends for a resource while it plans, where enable_preflight is
// set, member by member and in its order.
type azapiPlan struct {
	Provider  string           `json:"provider"`
	Type      string           `json:"type"`
	Location  string           `json:"location"`
	Scope     string           `json:"scope"` // the group, also of children
	Resources []map[string]any `json:"resources"`
	Readers   bool             `json:"performPreflightWithoutRbacWriteCheck"` // true
}

// azapiUnknown stands for a value that is known only after something else has been made.
const azapiUnknown = "[length('foo')]"

// judge asks as azapi does, by the pipeline of the SDK, and returns what no one refuses.
func (c clients) judge(t *testing.T, plan azapiPlan) (validated []string, err error) {
	t.Helper()
	request, err := runtime.NewRequest(t.Context(), http.MethodPost, c.Portico.URL+"/providers/Microsoft.Resources/validateResources?api-version=2020-10-01")
	harness.OK(t, err)
	plan.Readers = true
	harness.OK(t, runtime.MarshalAsJSON(request, plan))
	answer, err := c.pipeline.Do(request)
	harness.OK(t, err)
	defer answer.Body.Close()
	if !runtime.HasStatusCode(answer, http.StatusOK) {
		return nil, runtime.NewResponseError(answer)
	}
	var said struct {
		Properties struct{ ValidatedResources []string }
	}
	harness.OK(t, runtime.UnmarshalAsJSON(answer, &said))
	return said.Properties.ValidatedResources, nil
}

// Plans of azapi are judged: those that are refused in the words of the gateway, the shape or
// the provider, also for who may only read; and nothing comes of it.
func TestPlansOfAzapiAreJudged(t *testing.T) {
	t.Parallel()
	spec := filepath.Join(t.TempDir(), "compute.json")
	harness.OK(t, os.WriteFile(spec, []byte(`{"openapi": "3.0.0", "info": {"title": "Compute", "version": "2024-01-01"},
	  "paths": {"/subscriptions/{s}/resourceGroups/{g}/providers/Contoso.Compute/virtualMachines/{n}": {"put": {"requestBody": {"content": {"application/json": {"schema": {"type": "object",
	    "properties": {"properties": {"type": "object", "properties": {"cores": {"type": "integer"}}}}}}}}}}}}`), 0o600))
	w := newClients(t, harness.Config{ComputeSpec: spec, Tokens: []harness.Token{guest}, Owners: []string{owner.ObjectID}}).World
	owns, visits := openRoles(t, w, owner), openRoles(t, w, guest)
	owns.createGroup(t, "rg")
	owns.assign(t, w.GroupPath("rg"), guid(0x61), readerRole, guest.ObjectID)
	plan := func(group, types, location, body string) azapiPlan {
		resource := map[string]any{}
		harness.OK(t, json.Unmarshal([]byte(body), &resource))
		resource["apiVersion"] = harness.Version
		return azapiPlan{Provider: "Contoso.Compute", Type: types, Location: location, Scope: w.GroupPath(group), Resources: []map[string]any{resource}}
	}
	for _, c := range []struct {
		plan       azapiPlan
		id         string // below its group's namespace
		code, says string // "": no one refuses it
	}{
		{plan("rg", "virtualMachines", "westus", `{"name":"a","kind":"k","properties":{"cores":2}}`), "virtualMachines/a", "", ""},
		{plan("rg", "virtualMachines", "westus", `{"name":"a","properties":{"cores":"`+azapiUnknown+`"}}`), "virtualMachines/a", "", ""},
		{plan("rg", "virtualMachines", "westus", `{"name":"a","properties":{"cores":"two"}}`), "virtualMachines/a", "InvalidRequestContent", "properties.cores"},
		{plan("rg", "virtualMachines", "westus", `{"name":"a","kind":"no form","properties":{}}`), "virtualMachines/a", "InvalidRequestContent", "kind"},
		{plan("rg", "virtualMachines", "mars", `{"name":"a","properties":{}}`), "virtualMachines/a", "LocationNotAvailableForResourceType", "mars"},
		{plan("rg", "virtualMachines/disks", "westus", `{"name":"a/d","properties":{"of":"`+azapiUnknown+`"}}`), "virtualMachines/a/disks/d", "", ""},
		{plan("planned", "virtualMachines", "westus", `{"name":"a","properties":{}}`), "virtualMachines/a", "", ""},
	} {
		id := c.plan.Scope + "/providers/Contoso.Compute/" + c.id
		callers := []roleClients{owns}
		if strings.HasSuffix(c.plan.Scope, "/rg") { // where the guest reads
			callers = append(callers, visits)
		}
		for _, caller := range callers {
			validated, err := caller.judge(t, c.plan)
			if c.code == "" {
				harness.OK(t, err)
				if !slices.Equal(validated, []string{id}) {
					t.Errorf("%s: validated %v", id, validated)
				}
				continue
			}
			wantError(t, err, 400, "ResourceValidationFailed")
			said := strings.ReplaceAll(err.Error(), `": "`, `":"`)
			for _, part := range []string{`"code":"` + c.code + `"`, `"target":"` + id + `"`, c.says} {
				if !strings.Contains(said, part) {
					t.Errorf("it does not say %s: %s", part, said)
				}
			}
		}
	}
	_, err := visits.judge(t, plan("planned", "virtualMachines", "westus", `{"name":"a","properties":{}}`))
	wantError(t, err, 403, "AuthorizationFailed")
	for _, region := range harness.RegionNames() {
		if held := w.Contoso(region).Resources(t); len(held) > 0 {
			t.Errorf("%s holds %v", region, held)
		}
	}
}
