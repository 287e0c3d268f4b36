package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/cmd/portico/operator"
)

const sampleTemplate = `{
  // as az takes it
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "parameters": {"name": {"type": "string"}, "count": {"type": "int", "defaultValue": 1}, "tags": {"type": "object", "defaultValue": {}}},
  "resources": [
    {"type": "Contoso.Things/things", "apiVersion": "2024-01-01", "name": "[parameters('name')]", "tags": "[parameters('tags')]", "location": "[resourceGroup().location]"},
    {"type": "Contoso.Things/parts", "apiVersion": "2024-01-01", "name": "[format('p{0}', copyIndex())]", "copy": {"name": "parts", "count": "[parameters('count')]"}, "dependsOn": ["[parameters('name')]"]}
  ]
}`

// runTemplate runs the command on a folder with a template and a parameter file.
func runTemplate(t *testing.T, text string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"main.json": text, "p.json": `{"$schema":"x","parameters":{"name":{"value":"12"},"count":{"value":2}}}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "~", folder)
	}
	var out, complaints bytes.Buffer
	c := root(&out, &complaints)
	c.SetArgs(append([]string{"template", filepath.Join(folder, "main.json")}, args...))
	err = c.Execute()
	return out.String(), strings.ReplaceAll(complaints.String(), folder+"/", ""), err
}

func TestTemplateShowsTheOrderToPeople(t *testing.T) {
	t.Parallel()
	stdout, _, err := runTemplate(t, sampleTemplate, "-p", "@~/p.json")
	want := "ORDER  RESOURCE                  WAITS FOR\n    1  Contoso.Things/things 12  -\n    2  Contoso.Things/parts p0   1\n    3  Contoso.Things/parts p1   1\n"
	if err != nil || stdout != want {
		t.Errorf("%v:\n%s", err, stdout)
	}
}

func TestTemplateShowsBodiesToPrograms(t *testing.T) {
	t.Parallel()
	stdout, _, err := runTemplate(t, sampleTemplate, "-o", "json", "-p", "~/p.json", "-p", "count=1", "-p", "tags={\"a\": 'b'}", "-p", `tags={"a":"b"}`,
		"--location", "eastus", "--scope", "/subscriptions/11111111-0000-0000-0000-000000000000/resourcegroups/g")
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Resources []struct {
			ID        string
			Body      json.RawMessage
			DependsOn []string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &plan); err != nil {
		t.Fatal(err)
	}
	const id = "/subscriptions/11111111-0000-0000-0000-000000000000/resourceGroups/g/providers/Contoso.Things/things/12"
	if len(plan.Resources) != 2 || plan.Resources[0].ID != id || len(plan.Resources[1].DependsOn) != 1 || plan.Resources[1].DependsOn[0] != id {
		t.Fatal(stdout)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, plan.Resources[0].Body); err != nil || body.String() != `{"tags":{"a":"b"},"location":"eastus"}` {
		t.Errorf("%s, %v", body.String(), err)
	}
}

func TestTemplateReportsFaultsWithTheirPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		args []string
		want string
	}{
		"no parameter": {sampleTemplate, nil, "main.json:5:26: $.parameters.name: InvalidTemplate: the parameter 'name' has no default value, and no value is given\n"},
		"a parameter's kind": {sampleTemplate, []string{"-p", "name=a", "-p", "count=x"},
			"main.json:5:55: $.parameters.count: InvalidTemplate: the parameter 'count' is of type int, and its value is of kind String\n"},
		"no JSON": {`{"a":}`, nil, "main.json:1:6: $.a: InvalidTemplate: '}' stands where a value is expected\n"},
		"a parameter file's": {strings.Replace(sampleTemplate, `"count": {"type": "int", "defaultValue": 1}`, `"count": {"type": "bool"}`, 1), []string{"-p", "~/p.json"},
			"p.json:1:69: $.parameters.count.value: InvalidTemplate: the parameter 'count' is of type bool, and its value is of kind Integer\n"},
	} {
		_, stderr, err := runTemplate(t, c.text, c.args...)
		if !errors.Is(err, operator.ErrReported) || stderr != c.want {
			t.Errorf("%s: %v\n%s", name, err, stderr)
		}
	}
	for _, scope := range []string{"/", "/providers/Microsoft.Management/managementGroups/m", "/subscriptions/s/resourceGroups/g/providers/A.B/c/d"} {
		if _, _, err := runTemplate(t, sampleTemplate, "--scope", scope); err == nil || errors.Is(err, operator.ErrReported) {
			t.Errorf("%s: %v", scope, err)
		}
	}
}
