package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// content is what a client sends for a deployment of a template with parameters.
func content(t *testing.T, template string, parameters map[string]any) string {
	t.Helper()
	given := map[string]any{}
	for name, value := range parameters {
		given[name] = map[string]any{"value": value}
	}
	text, err := json.Marshal(map[string]any{"properties": map[string]any{"mode": "Incremental", "template": json.RawMessage(template), "parameters": given}})
	harness.OK(t, err)
	return string(text)
}

// inStrings is the content of a deployment with its template and parameters in strings.
func inStrings(t *testing.T, content string) string {
	t.Helper()
	var d struct {
		Properties map[string]any `json:"properties"`
	}
	harness.OK(t, json.Unmarshal([]byte(content), &d))
	for _, name := range []string{"template", "parameters"} {
		text, err := json.Marshal(d.Properties[name])
		harness.OK(t, err)
		d.Properties[name] = string(text)
	}
	text, err := json.Marshal(d)
	harness.OK(t, err)
	return string(text)
}

// deploy deploys to the group rg, and returns the deployment once it has succeeded.
func deploy(t *testing.T, w *harness.World, name, content string) deployment {
	t.Helper()
	end, d := deployed(t, w, w.Portico, name, putDeployment(t, w, w.Portico, name, content, 201))
	if end != "Succeeded" {
		t.Fatalf("%s ends as %s: %s", name, end, d.Properties.Error)
	}
	return d
}

// What compilers write: a network with dependants by copy, what reads it, and modules.
func TestDeploymentsOfCompiledTemplates(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	w.PutGroup(t, "other")
	regions := harness.RegionNames()

	network := deploy(t, w, "network", content(t, harness.Template(t, "network"), nil))
	if machines, _ := network.Properties.Outputs["machines"].Value.([]any); len(machines) != 3 || strings.Count(fmt.Sprint(machines), "Succeeded") != 3 {
		t.Errorf("%+v", network.Properties.Outputs)
	}
	for i, region := range regions {
		w.WantOnlyIn(t, region, w.ResourcePath("rg", fmt.Sprintf("Contoso.Compute/virtualMachines/corp-%d", i)))
	}
	existing := deploy(t, w, "existing", content(t, harness.Template(t, "existing"), nil))
	if o := existing.Properties.Outputs; o["machineIn"].Value != regions[0] || o["keyName"].Value != "primary" || o["key"].Value != nil || len(existing.Properties.OutputResources) != 2 {
		t.Errorf("%+v", existing)
	}
	modules := deploy(t, w, "modules", inStrings(t, content(t, harness.Template(t, "modules"), map[string]any{"otherGroup": "other", "adminPassword": hiddenWord})))
	if places, _ := modules.Properties.Outputs["places"].Value.([]any); !slices.Equal(places, []any{regions[0], regions[1], regions[2]}) {
		t.Errorf("%+v", modules.Properties.Outputs)
	}
	w.WantOnlyIn(t, regions[2], w.ResourcePath("other", "Contoso.Insight/workspaces/mods-logs"))
	a := w.Portico.Do(t, harness.Request{Method: http.MethodGet, Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/mods-1") + "?api-version=" + harness.Version}).Want(t, 200)
	if !strings.Contains(string(a.Body), w.ResourcePath("rg", "Contoso.Compute/networkInterfaces/mods")) || !strings.Contains(string(a.Body), `"networkState":"Succeeded"`) {
		t.Errorf("%s", a.Body)
	}
	exported := w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "modules") + "/exportTemplate?api-version=2021-04-01", Body: `{}`}).Want(t, 200)
	if !strings.HasPrefix(string(exported.Body), `{"template":{"$schema":`) {
		t.Errorf("%s", exported.Body)
	}
	wantOperations(t, w, "rg", "modules", "deployments machine-0: Succeeded", "deployments machine-1: Succeeded", "deployments machine-2: Succeeded",
		"deployments network: Succeeded", "deployments workspace: Succeeded")
	wantOperations(t, w, "rg", "machine-1", "diagnosticSettings logs: Succeeded", "virtualMachines mods-1: Succeeded")
	machine := nestedDeployment(t, w, "rg", "machine-1")
	if p := machine.Properties; p.Outputs["location"].Value != regions[1] || p.Parameters["name"]["value"] != "mods-1" || p.Parameters["adminPassword"]["value"] != nil ||
		p.CorrelationID != modules.Properties.CorrelationID || len(p.OutputResources) != 2 {
		t.Errorf("%+v", machine)
	}
	if own, others := deploymentNames(t, w, "rg"), deploymentNames(t, w, "other"); !slices.Equal(own, []string{"existing", "machine-0", "machine-1", "machine-2", "modules", "network"}) || !slices.Equal(others, []string{"workspace"}) {
		t.Errorf("%q, %q", own, others)
	}
}

// managed is a template whose outputs say who manages its group, and two others.
const managed = `{` + templateSchema + `,
  "resources": [
    {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "there", "resourceGroup": "other", "properties": {"mode": "Incremental",
      "expressionEvaluationOptions": {"scope": "inner"}, "template": {` + templateSchema + `, "resources": [],
        "outputs": {"by": {"type": "string", "value": "[resourceGroup().managedBy]"}}}}},
    {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "free", "resourceGroup": "free", "properties": {"mode": "Incremental",
      "expressionEvaluationOptions": {"scope": "inner"}, "template": {` + templateSchema + `, "resources": [],
        "outputs": {"by": {"type": "string", "value": "[coalesce(resourceGroup().managedBy, 'no one')]"}}}}}],
  "outputs": {"own": {"type": "string", "value": "[resourceGroup().managedBy]"}, "there": {"type": "string", "value": "[reference('there').outputs.by.value]"},
    "free": {"type": "string", "value": "[reference('free').outputs.by.value]"}}}`

func TestResourceGroupTellsItsManager(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	for group, by := range map[string]string{"rg": `,"managedBy":"/the/first"`, "other": `,"managedBy":"/the/second"`, "free": ""} {
		w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.GroupPath(group) + "?api-version=2021-04-01", Body: `{"location":"westus"` + by + `}`}).Want(t, 201)
	}
	d := deploy(t, w, "d", content(t, managed, nil))
	for output, want := range map[string]string{"own": "/the/first", "there": "/the/second", "free": "no one"} {
		if got := d.Properties.Outputs[output].Value; got != want {
			t.Errorf("%s is %v, want %s", output, got, want)
		}
	}
	free := `{` + templateSchema + `, "resources": [], "outputs": {"by": {"type": "bool", "value": "[contains(resourceGroup(), 'managedBy')]"}}}`
	w.Portico.Do(t, harness.Request{Method: http.MethodPatch, Path: w.GroupPath("rg") + "?api-version=2021-04-01", Body: `{"managedBy":null}`}).Want(t, 200)
	if d := deploy(t, w, "later", content(t, free, nil)); d.Properties.Outputs["by"].Value != false {
		t.Errorf("%+v", d.Properties.Outputs)
	}
}
