package e2e

import (
	"testing"

	"portico/test/harness"
)

// A built-in role of the tenant is read by a template, which assigns it.
func TestDeploymentOfARoleOfTheTenant(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	body := `{"properties": {"mode": "Incremental", "template": {` + templateSchema + `, "languageVersion": "2.0",
	  "resources": {
	    "reader": {"existing": true, "type": "Microsoft.Authorization/roleDefinitions", "apiVersion": "2022-04-01", "scope": "/", "name": "` + readerRole + `"},
	    "assignment": {"type": "Microsoft.Authorization/roleAssignments", "apiVersion": "2022-04-01", "name": "[guid(resourceGroup().id, 'reader')]",
	      "properties": {"roleDefinitionId": "[resourceInfo('reader').id]", "principalId": "5d5b6a3e-0a5c-4c0e-9d0a-6d9d5f6f0a11", "principalType": "User", "description": "[reference('reader').roleName]"}}},
	  "outputs": {
	    "name": {"type": "string", "value": "[reference('reader').roleName]"},
	    "said": {"type": "string", "value": "[reference('assignment').description]"},
	    "role": {"type": "string", "value": "[reference('assignment').roleDefinitionId]"}}}}}`
	outputs := deployedOutputs(t, w, "role", body)
	if outputs["name"] != "Reader" || outputs["said"] != "Reader" || outputs["role"] == nil {
		t.Errorf("%v", outputs)
	}
}

// deployedOutputs validates a deployment, asks what it would do, deploys it, and returns its
// outputs.
func deployedOutputs(t *testing.T, w *harness.World, name, body string) map[string]any {
	t.Helper()
	for _, rehearsal := range []string{"validate", "whatIf"} {
		w.Portico.Do(t, harness.Request{Method: "POST", Path: deploymentPath(w, name) + "/" + rehearsal + "?api-version=2021-04-01", Body: body}).Want(t, 200)
	}
	end, d := deployed(t, w, w.Portico, name, putDeployment(t, w, w.Portico, name, body, 201))
	if end != "Succeeded" {
		t.Fatalf("it is %s: %s", end, d.Properties.Error)
	}
	outputs := map[string]any{}
	for name, o := range d.Properties.Outputs {
		outputs[name] = o.Value
	}
	return outputs
}
