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

const templateSchema = `"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0"`

// answered is a template whose nested deployment cannot be unfolded before a machine has
// answered: %[1]s and %[2]s are regions, %[3]s is the count of its machines, which the first
// one's properties hold. They are in another group, one waits for the next, and a nested
// deployment is in it as well.
const answered = `{` + templateSchema + `,
  "parameters": {"word": {"type": "secureString"}},
  "resources": [
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "first", "location": "%[1]s", "properties": {"count": %[3]s, "prefix": "of"}},
    {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "later", "resourceGroup": "other",
      "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"},
        "parameters": {"count": {"value": "[reference('first').count]"}, "prefix": {"value": "[reference('first').prefix]"}, "word": {"value": "[parameters('word')]"}},
        "template": {` + templateSchema + `,
          "parameters": {"count": {"type": "int"}, "prefix": {"type": "string"}, "word": {"type": "secureString"}, "unique": {"type": "string", "defaultValue": "[newGuid()]"}},
          "resources": [
            {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "[concat(parameters('prefix'), copyIndex())]", "location": "%[2]s",
              "copy": {"name": "machines", "count": "[parameters('count')]", "mode": "serial"}, "tags": {"unique": "[parameters('unique')]"}, "properties": {"word": "[parameters('word')]"}},
            {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "inmost", "dependsOn": ["machines"],
              "properties": {"mode": "Incremental", "template": {` + templateSchema + `,
                "resources": [{"type": "Contoso.Insight/workspaces", "apiVersion": "2024-01-01", "name": "[concat(parameters('prefix'), '-logs')]", "location": "[resourceGroup().location]", "properties": {}}],
                "outputs": {"group": {"type": "string", "value": "[resourceGroup().name]"}}}}}],
          "outputs": {"last": {"type": "string", "value": "[reference(concat(parameters('prefix'), sub(parameters('count'), 1)), '2024-01-01', 'Full').name]"},
            "word": {"type": "secureString", "value": "[parameters('word')]"}}}}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "behind", "location": "%[1]s",
      "tags": {"last": "[reference(extensionResourceId(subscriptionResourceId('Microsoft.Resources/resourceGroups', 'other'), 'Microsoft.Resources/deployments', 'later'), '2022-09-01').outputs.last.value]"}, "properties": {}}],
  "outputs": {"last": {"type": "string", "value": "[reference(resourceId('other', 'Microsoft.Resources/deployments', 'later')).outputs.last.value]"}}}`

func answeredContent(t *testing.T, count string) string {
	t.Helper()
	regions := harness.RegionNames()
	return content(t, fmt.Sprintf(answered, regions[0], regions[1], count), map[string]any{"word": hiddenWord})
}

// nestedDeployment reads a deployment of a group, which may be a nested one.
func nestedDeployment(t *testing.T, w *harness.World, group, name string) (d deployment) {
	t.Helper()
	a := w.Portico.Do(t, harness.Request{Path: w.GroupPath(group) + "/providers/Microsoft.Resources/deployments/" + name + "?api-version=2021-04-01"}).Want(t, 200)
	harness.OK(t, json.Unmarshal(a.Body, &d))
	if strings.Contains(string(a.Body), hiddenWord) {
		t.Errorf("it shows a secret: %s", a.Body)
	}
	return d
}

// operationLines are the operations of a deployment, as "type name: state", sorted.
func operationLines(t *testing.T, w *harness.World, group, name string) (all []string) {
	t.Helper()
	a := w.Portico.Do(t, harness.Request{Path: w.GroupPath(group) + "/deployments/" + name + "/operations?api-version=2021-04-01"}).Want(t, 200)
	if strings.Contains(string(a.Body), hiddenWord) {
		t.Errorf("they show a secret: %s", a.Body)
	}
	var list struct{ Value []deploymentOperation }
	harness.OK(t, json.Unmarshal(a.Body, &list))
	for _, o := range list.Value {
		kind := o.Properties.TargetResource.ResourceType
		all = append(all, kind[strings.LastIndexByte(kind, '/')+1:]+" "+o.Properties.TargetResource.ResourceName+": "+o.Properties.ProvisioningState)
	}
	slices.Sort(all)
	return all
}

func wantOperations(t *testing.T, w *harness.World, group, name string, want ...string) {
	t.Helper()
	if all := operationLines(t, w, group, name); !slices.Equal(all, want) {
		t.Errorf("the operations of %s are %q", name, all)
	}
}

// deploymentNames are those of a group's deployments.
func deploymentNames(t *testing.T, w *harness.World, group string) (names []string) {
	t.Helper()
	a := w.Portico.Do(t, harness.Request{Path: w.GroupPath(group) + "/providers/Microsoft.Resources/deployments?api-version=2021-04-01"}).Want(t, 200)
	var list struct{ Value []struct{ Name string } }
	harness.OK(t, json.Unmarshal(a.Body, &list))
	for _, d := range list.Value {
		names = append(names, d.Name)
	}
	return names
}

// A nested deployment is unfolded once what its template waits for is there, and is a
// deployment of its own group.
func TestNestedDeploymentOfAnswers(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	w.PutGroup(t, "other")
	regions := harness.RegionNames()
	d := deploy(t, w, "d", answeredContent(t, "3"))
	if d.Properties.Outputs["last"].Value != "of2" || len(d.Properties.OutputResources) != 6 {
		t.Errorf("%+v", d)
	}
	for i := range 3 {
		w.WantOnlyIn(t, regions[1], w.ResourcePath("other", fmt.Sprintf("Contoso.Compute/virtualMachines/of%d", i)))
	}
	a := w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/behind") + "?api-version=" + harness.Version}).Want(t, 200)
	if !strings.Contains(string(a.Body), `"last":"of2"`) {
		t.Errorf("%s", a.Body)
	}
	wantOperations(t, w, "rg", "d", "deployments later: Succeeded", "virtualMachines behind: Succeeded", "virtualMachines first: Succeeded")
	wantOperations(t, w, "other", "later", "deployments inmost: Succeeded", "virtualMachines of0: Succeeded", "virtualMachines of1: Succeeded", "virtualMachines of2: Succeeded")
	wantOperations(t, w, "other", "inmost", "workspaces of-logs: Succeeded")
	later := nestedDeployment(t, w, "other", "later")
	if p := later.Properties; p.ProvisioningState != "Succeeded" || p.Outputs["last"].Value != "of2" || p.Outputs["word"].Value != nil || p.Parameters["count"]["value"] != 3.0 ||
		p.CorrelationID != d.Properties.CorrelationID || len(p.OutputResources) != 4 {
		t.Errorf("%+v", later)
	}
	if inmost := nestedDeployment(t, w, "other", "inmost"); inmost.Properties.Outputs["group"].Value != "other" {
		t.Errorf("%+v", inmost)
	}
	if own, others := deploymentNames(t, w, "rg"), deploymentNames(t, w, "other"); !slices.Equal(own, []string{"d"}) || !slices.Equal(others, []string{"inmost", "later"}) {
		t.Errorf("%q, %q", own, others)
	}
	w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath("other") + "/providers/Microsoft.Resources/deployments/later?api-version=2021-04-01"}).Want(t, 202)
	if others := deploymentNames(t, w, "other"); !slices.Equal(others, []string{"inmost"}) {
		t.Errorf("%q", others)
	}
}

// What an answer makes of a nested deployment may have a fault: it fails, and what waits for
// it is not sent.
func TestNestedDeploymentWhoseAnswersDoNotFit(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	w.PutGroup(t, "other")
	for count, says := range map[string]string{"801": "from 0 to 800", "798": "more than 800", `"many"`: "'count'"} {
		name := "with" + strings.Trim(count, `"`)
		end, d := deployed(t, w, w.Portico, name, putDeployment(t, w, w.Portico, name, answeredContent(t, count), 201))
		if fault := string(d.Properties.Error); end != "Failed" || !strings.Contains(fault, "InvalidTemplate") || !strings.Contains(fault, says) || !strings.Contains(fault, "line 1, column") {
			t.Errorf("%s: %s: %s", count, end, fault)
		}
		wantOperations(t, w, "rg", name, "deployments later: Failed", "virtualMachines first: Succeeded")
	}
	if others := deploymentNames(t, w, "other"); len(others) > 0 {
		t.Errorf("%q", others)
	}
}
