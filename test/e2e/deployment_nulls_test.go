package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"portico/test/harness"
)

// withNulls is a deployment as azd and Terraform send it: what is left out is null.
const withNulls = `{"location": null, "tags": null, "properties": {"mode": "Incremental", "debugSetting": null, "templateLink": null, "parametersLink": null, "onErrorDeployment": null, "expressionEvaluationOptions": null,
  "parameters": {"name": {"value": "of-azd", "reference": null, "expression": null}, "open": {"value": null, "reference": null}},
  "template": {` + templateSchema + `, "languageVersion": null, "metadata": null, "functions": null, "definitions": null, "variables": null, "outputs": null,
    "parameters": {"name": {"type": "string", "defaultValue": null, "allowedValues": null, "metadata": null}, "open": {"type": "string", "nullable": true}},
    "resources": [
      {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "[parameters('name')]", "location": "%[1]s", "scope": null, "tags": null, "copy": null, "condition": null, "dependsOn": null,
        "resources": null, "existing": null, "metadata": null, "comments": null, "properties": {}},
      {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "inner", "location": null, "tags": null, "copy": null, "condition": null, "dependsOn": null,
        "properties": {"mode": "Incremental", "templateLink": null, "expressionEvaluationOptions": {"scope": "inner"}, "parameters": {"name": {"value": "of-inner", "reference": null}},
          "template": {` + templateSchema + `, "variables": null, "outputs": null, "parameters": {"name": {"type": "string"}},
            "resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "[parameters('name')]", "location": "%[1]s", "copy": null, "dependsOn": null, "properties": {}}]}}}]}}}`

func TestDeploymentWithExplicitNulls(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	body := fmt.Sprintf(withNulls, harness.RegionNames()[0])
	for _, rehearsal := range []string{"validate", "whatIf"} {
		w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "nulls") + "/" + rehearsal + "?api-version=2021-04-01", Body: body}).Want(t, 200)
	}
	if end, d := deployed(t, w, w.Portico, "nulls", putDeployment(t, w, w.Portico, "nulls", body, 201)); end != "Succeeded" {
		t.Fatalf("it is %s: %s", end, d.Properties.Error)
	}
	for _, name := range []string{"of-azd", "of-inner"} {
		w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+name) + "?api-version=" + harness.Version}).Want(t, 200)
	}
}
