package e2e

import (
	"encoding/json"
	"fmt"
	"reflect"
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

// What deployment() says is what the record says, and the template as it was written.
func TestDeploymentFunction(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	body := `{"properties": {"mode": "Complete", "parameters": {"word": {"value": "` + hiddenWord + `"}, "given": {"value": "g"}}, "template": {` + templateSchema + `,
	  "parameters": {"word": {"type": "secureString"}, "given": {"type": "string"}, "size": {"type": "string", "defaultValue": "s", "allowedValues": ["s", "l"]}},
	  "resources": [{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "inner",
	    "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "parameters": "[deployment().properties.parameters]",
	      "template": {` + templateSchema + `, "parameters": {"word": {"type": "secureString"}, "given": {"type": "string"}}, "resources": [],
	        "outputs": {"hash": {"type": "string", "value": "[deployment().properties.templateHash]"}, "given": {"type": "string", "value": "[parameters('given')]"}}}}}],
	  "outputs": {
	    "hash": {"type": "string", "value": "[deployment().properties.templateHash]"},
	    "mode": {"type": "string", "value": "[deployment().properties.mode]"},
	    "allowed": {"type": "array", "value": "[deployment().properties.template.parameters.size.allowedValues]"},
	    "written": {"type": "string", "value": "[deployment().properties.template.outputs.written.value]"},
	    "word": {"type": "string", "value": "[deployment().properties.parameters.word.value]"},
	    "all": {"type": "string", "value": "[string(deployment().properties.parameters)]"},
	    "given": {"type": "string", "value": "[reference('inner').outputs.given.value]"},
	    "inner": {"type": "string", "value": "[reference('inner').outputs.hash.value]"}}}}}`
	outputs := deployedOutputs(t, w, "asking", body)
	for name, want := range map[string]any{
		"hash": deploymentProperties(t, w, "asking")["templateHash"], "inner": deploymentProperties(t, w, "inner")["templateHash"], "mode": "Complete", "given": "g",
		"written": "[deployment().properties.template.outputs.written.value]", "word": nil, "all": nil,
	} {
		if outputs[name] != want {
			t.Errorf("%s is %v, want %v", name, outputs[name], want)
		}
	}
	if got := fmt.Sprint(outputs["allowed"]); got != "[s l]" {
		t.Error(got)
	}
}

// What a template asks of its nested deployments is what their records say, also of one
// without resources, on which nothing depends but those who ask.
func TestReferenceOfNestedDeployments(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	region := harness.RegionNames()[0]
	nested := `{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "%s", "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"},
	  "parameters": {"word": {"value": "[parameters('word')]"}, "size": {"value": "l"}},
	  "template": {` + templateSchema + `, "parameters": {"word": {"type": "secureString"}, "size": {"type": "string"}}, "resources": [%s]}}}`
	machine := `{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "%s", "location": "` + region + `", "tags": {%s}, "properties": {}}`
	body := `{"properties": {"mode": "Incremental", "parameters": {"word": {"value": "` + hiddenWord + `"}}, "template": {` + templateSchema + `, "parameters": {"word": {"type": "secureString"}},
	  "resources": [` + fmt.Sprintf(machine, "asks", `"made": "[last(split(reference('module').outputResources[0].id, '/'))]"`) + `,
	    ` + fmt.Sprintf(machine, "asks-empty", `"at": "[reference('empty').timestamp]"`) + `,
	    ` + fmt.Sprintf(nested, "module", fmt.Sprintf(machine, "made", "")) + `,` + fmt.Sprintf(nested, "empty", "") + `],
	  "outputs": {
	    "made": {"type": "string", "value": "[reference('asks', '2024-01-01', 'full').tags.made]"}, "at": {"type": "string", "value": "[reference('asks-empty', '2024-01-01', 'full').tags.at]"},
	    "timestamp": {"type": "string", "value": "[reference('empty').timestamp]"}, "duration": {"type": "string", "value": "[reference('module').duration]"},
	    "correlationId": {"type": "string", "value": "[reference('module').correlationId]"}, "templateHash": {"type": "string", "value": "[reference('module').templateHash]"},
	    "providers": {"type": "array", "value": "[reference('module').providers]"}, "dependencies": {"type": "array", "value": "[reference('module').dependencies]"},
	    "outputResources": {"type": "array", "value": "[reference('module').outputResources]"}, "parameters": {"type": "object", "value": "[reference('module').parameters]"},
	    "all": {"type": "object", "value": "[reference('module', '2022-09-01', 'full')]"}}}}}`
	outputs := deployedOutputs(t, w, "asking", body)
	module, empty := deploymentProperties(t, w, "module"), deploymentProperties(t, w, "empty")
	for _, name := range []string{"duration", "correlationId", "templateHash", "providers", "dependencies", "outputResources", "parameters"} {
		if !reflect.DeepEqual(outputs[name], module[name]) {
			t.Errorf("%s is %v, and the record says %v", name, outputs[name], module[name])
		}
	}
	if outputs["made"] != "made" || outputs["at"] != empty["timestamp"] || outputs["timestamp"] != empty["timestamp"] {
		t.Errorf("%v, and the record of the empty one is %v", outputs, empty)
	}
	all, _ := outputs["all"].(map[string]any)
	delete(module, "outputs")
	properties, _ := all["properties"].(map[string]any)
	if delete(properties, "outputs"); !reflect.DeepEqual(properties, module) {
		t.Errorf("all of it is %v, and the record is %v", properties, module)
	}
}

func deploymentProperties(t *testing.T, w *harness.World, name string) map[string]any {
	t.Helper()
	var d struct{ Properties map[string]any }
	harness.OK(t, json.Unmarshal(w.Portico.Do(t, harness.Request{Path: deploymentPath(w, name) + "?api-version=2021-04-01"}).Want(t, 200).Body, &d))
	return d.Properties
}
