package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/internal/failpoint"
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
	w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath("other") + "/providers/Microsoft.Resources/deployments/later?api-version=2021-04-01"}).Want(t, 204)
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

// nestedMachines is a template whose nested deployment puts three machines into another group:
// b behind a, and c. What is behind the nested deployment is the machine last.
func nestedMachines(t *testing.T) string {
	t.Helper()
	machine := func(name, behind string) string {
		return `{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "` + name + `", "location": "eastus", "dependsOn": [` + behind + `], "properties": {}}`
	}
	return content(t, `{`+templateSchema+`, "resources": [
		{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "inner", "resourceGroup": "other",
			"properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "template": {`+templateSchema+`, "resources": [`+machine("a", "")+`, `+machine("b", `"a"`)+`, `+machine("c", "")+`],
			"outputs": {"state": {"type": "string", "value": "[reference('b').provisioningState]"}}}}},
		`+machine("last", `"inner"`)+`, `+machine("beside", "")+`]}`, nil)
}

// A nested deployment that fails says why, ends what waits for it, and is a failure of its
// parent.
func TestNestedDeploymentThatFails(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	w.PutGroup(t, "other")
	misbehave(t, w, "PUT", "/virtualMachines/a", "status=400", -1)
	end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", nestedMachines(t), 201))
	var fault struct {
		Code    string
		Details []struct {
			Code, Target string
			Details      []struct{ Target string }
		}
	}
	harness.OK(t, json.Unmarshal(d.Properties.Error, &fault))
	if end != "Failed" || fault.Code != "DeploymentFailed" || len(fault.Details) != 1 || !strings.HasSuffix(fault.Details[0].Target, "/other/providers/Microsoft.Resources/deployments/inner") ||
		len(fault.Details[0].Details) != 1 || !strings.HasSuffix(fault.Details[0].Details[0].Target, "/virtualMachines/a") {
		t.Errorf("%s: %s", end, d.Properties.Error)
	}
	wantOperations(t, w, "rg", "d", "deployments inner: Failed", "virtualMachines beside: Succeeded")
	for _, o := range deploymentOperations(t, w, "d") {
		if p := o.Properties; p.TargetResource.ResourceName == "inner" && p.StatusCode != "Conflict" {
			t.Errorf("%+v", p)
		}
	}
	wantOperations(t, w, "other", "inner", "virtualMachines a: Failed", "virtualMachines c: Succeeded")
	inner := nestedDeployment(t, w, "other", "inner")
	if p := inner.Properties; p.ProvisioningState != "Failed" || !strings.Contains(string(p.Error), "/virtualMachines/a") || len(p.OutputResources) != 1 || len(p.Outputs) > 0 {
		t.Errorf("%+v %s", inner, p.Error)
	}
	behave(t, w)
	if end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", nestedMachines(t), 200)); end != "Succeeded" {
		t.Errorf("%s: %s", end, d.Properties.Error)
	}
	if inner := nestedDeployment(t, w, "other", "inner"); inner.Properties.Outputs["state"].Value != "Succeeded" {
		t.Errorf("%+v", inner)
	}
}

// Who may write what a nested deployment holds, but no deployments there, has it refused: at
// once if it is judged ahead, else at its step.
func TestNestedDeploymentNeedsRights(t *testing.T) {
	t.Parallel()
	carol := harness.Token{Raw: "carol-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a3", Name: "carol"}
	const groups = "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/"
	var scopes []string
	for _, name := range []string{"a", "b", "c"} {
		scopes = append(scopes, groups+"other/providers/Contoso.Compute/virtualMachines/"+name)
	}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Extra: batchSettings, Tokens: []harness.Token{alice, carol}, Owners: []string{alice.ObjectID}, OwnersAt: map[string][]string{carol.ObjectID: append(scopes, groups+"rg")},
	}})
	w.PutGroup(t, "rg")
	w.PutGroup(t, "other")
	put := harness.Request{Method: http.MethodPut, Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Body: nestedMachines(t), Header: as(carol)}
	a := w.Portico.Do(t, put).Want(t, 400)
	if text := string(a.Body); !strings.Contains(text, "AuthorizationFailed") || !strings.Contains(text, "Microsoft.Resources/deployments/write") || len(deploymentNames(t, w, "rg")) > 0 {
		t.Errorf("%s", text)
	}
	put.Body = unjudged(put.Body)
	w.Portico.Do(t, put).Want(t, 201)
	d := eventually(t, "the end of a deployment", func() (d deployment, over bool) {
		d = nestedDeployment(t, w, "rg", "d")
		return d, d.Properties.ProvisioningState != "Running"
	})
	if fault := string(d.Properties.Error); !strings.Contains(fault, "AuthorizationFailed") || !strings.Contains(fault, "Microsoft.Resources/deployments/write") {
		t.Errorf("%s", fault)
	}
	wantOperations(t, w, "rg", "d", "deployments inner: Failed", "virtualMachines beside: Succeeded")
	if names := deploymentNames(t, w, "other"); len(names) > 0 || len(remainingResources(t, w, "other")) > 0 {
		t.Errorf("%q", names)
	}
}

// unjudged is a deployment of which the template alone is judged ahead.
func unjudged(content string) string {
	return strings.Replace(content, `"properties":{`, `"properties":{"validationLevel":"Template",`, 1)
}

// A nested deployment that runs is one in use: it is canceled with its parent alone.
func TestNestedDeploymentIsCanceledWithItsParent(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	w.PutGroup(t, "other")
	misbehave(t, w, "PUT", "/virtualMachines/a", "status=503", -1) // tried again and again
	poll := putDeployment(t, w, w.Portico, "d", nestedMachines(t), 201)
	soon(t, "a try in the nested deployment", func() bool {
		return slices.Contains(deploymentNames(t, w, "other"), "inner") && len(operationLines(t, w, "other", "inner")) == 2
	})
	if inner := nestedDeployment(t, w, "other", "inner"); inner.Properties.ProvisioningState != "Running" {
		t.Errorf("%+v", inner)
	}
	inner := w.GroupPath("other") + "/providers/Microsoft.Resources/deployments/inner"
	for _, q := range []harness.Request{
		{Method: http.MethodPost, Path: inner + "/cancel"}, {Method: http.MethodDelete, Path: inner}, {Method: http.MethodPut, Path: inner, Body: content(t, `{`+templateSchema+`, "resources": []}`, nil)},
	} {
		q.Path += "?api-version=2021-04-01"
		w.Portico.Do(t, q).Want(t, 409)
	}
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/cancel?api-version=2021-04-01"}).Want(t, 204)
	if end, d := deployed(t, w, w.Portico, "d", poll); end != "Canceled" {
		t.Errorf("%s: %+v", end, d)
	}
	if inner := nestedDeployment(t, w, "other", "inner"); inner.Properties.ProvisioningState != "Canceled" || !strings.Contains(string(inner.Properties.Error), "DeploymentCanceled") {
		t.Errorf("%+v %s", inner, inner.Properties.Error)
	}
	w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: inner + "?api-version=2021-04-01"}).Want(t, 204)
}

// A deployment at a subscription makes a group for each region, and its nested deployments put
// into each what another has made; one of them is at the subscription as well.
func TestNestedDeploymentsOfASubscription(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	template := `{` + templateSchema + `,
	  "parameters": {"locations": {"type": "array"}},
	  "resources": [
	    {"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2021-04-01", "name": "[concat('in-', parameters('locations')[copyIndex()])]", "location": "[parameters('locations')[copyIndex()]]",
	      "copy": {"name": "groups", "count": "[length(parameters('locations'))]"}},
	    {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "names", "location": "westus",
	      "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "template": {` + templateSchema + `, "resources": [],
	        "outputs": {"machine": {"type": "string", "value": "[concat('machine-', deployment().location)]"}}}}},
	    {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "[concat('to-', parameters('locations')[copyIndex()])]", "resourceGroup": "[concat('in-', parameters('locations')[copyIndex()])]",
	      "copy": {"name": "machines", "count": "[length(parameters('locations'))]"}, "dependsOn": ["groups", "names"],
	      "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "parameters": {"name": {"value": "[reference('names').outputs.machine.value]"}},
	        "template": {` + templateSchema + `, "parameters": {"name": {"type": "string"}}, "resources": [
	          {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "[parameters('name')]", "location": "[resourceGroup().location]", "properties": {}}],
	          "outputs": {"at": {"type": "string", "value": "[reference(parameters('name'), '2024-01-01', 'Full').location]"}}}}}],
	  "outputs": {"first": {"type": "string", "value": "[reference('to-westus').outputs.at.value]"}}}`
	path := w.SubscriptionPath() + "/providers/Microsoft.Resources/deployments/d?api-version=2021-04-01"
	body := content(t, template, map[string]any{"locations": harness.RegionNames()})
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: path, Body: strings.Replace(body, "{", `{"location": "westus", `, 1)}).Want(t, 201)
	d := eventually(t, "the end of a deployment", func() (d deployment, over bool) {
		harness.OK(t, json.Unmarshal(w.Portico.Do(t, harness.Request{Path: path}).Want(t, 200).Body, &d))
		return d, d.Properties.ProvisioningState != "Running"
	})
	if d.Properties.ProvisioningState != "Succeeded" || d.Properties.Outputs["first"].Value != "westus" {
		t.Fatalf("%+v %s", d, d.Properties.Error)
	}
	for _, region := range harness.RegionNames() {
		w.WantOnlyIn(t, region, w.ResourcePath("in-"+region, "Contoso.Compute/virtualMachines/machine-westus"))
		if nested := nestedDeployment(t, w, "in-"+region, "to-"+region); nested.Properties.Outputs["at"].Value != region {
			t.Errorf("%+v", nested)
		}
	}
	a := w.Portico.Do(t, harness.Request{Path: strings.Replace(path, "/d?", "/names?", 1)}).Want(t, 200)
	if !strings.Contains(string(a.Body), `"location":"westus"`) || !strings.Contains(string(a.Body), `"machine-westus"`) {
		t.Errorf("%s", a.Body)
	}
	moved := strings.Replace(body, `"name":"names","location":"westus"`, `"name":"names","location":"eastus"`, 1)
	a = w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: path, Body: strings.Replace(moved, "{", `{"location": "westus", `, 1)}).Want(t, 400)
	if !strings.Contains(string(a.Body), "InvalidDeploymentLocation") {
		t.Errorf("%s", a.Body)
	}
}

// A nested deployment may be in a group of another subscription.
func TestNestedDeploymentInAnotherSubscription(t *testing.T) {
	t.Parallel()
	const second = "00000000-0000-0000-0000-0000000000e2"
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings, Subscriptions: []harness.Subscription{
		{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Demo", State: "Enabled"}, {ID: second, TenantID: harness.TenantID, DisplayName: "Second", State: "Enabled"},
	}}})
	w.PutGroup(t, "rg")
	group := "/subscriptions/" + second + "/resourceGroups/far"
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: group + "?api-version=2021-04-01", Body: `{"location":"eastus"}`}).Want(t, 201)
	body := strings.Replace(nestedMachines(t), `"resourceGroup":"other"`, `"subscriptionId":"`+second+`","resourceGroup":"far"`, 1)
	if d := deploy(t, w, "d", body); len(d.Properties.OutputResources) != 5 {
		t.Errorf("%+v", d)
	}
	a := w.Portico.Do(t, harness.Request{Path: group + "/providers/Microsoft.Resources/deployments/inner?api-version=2021-04-01"}).Want(t, 200)
	if !strings.Contains(string(a.Body), `"provisioningState":"Succeeded"`) || !strings.Contains(string(a.Body), `"state":{`) {
		t.Errorf("%s", a.Body)
	}
}

func TestLinkedTemplatesAreRefused(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	body := content(t, `{`+templateSchema+`, "resources": [{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "linked",
		"properties": {"mode": "Incremental", "templateLink": {"uri": "https://example.com/t.json"}}}]}`, nil)
	for _, body := range []string{body, `{"properties": {"mode": "Incremental", "templateLink": {"uri": "https://example.com/t.json"}}}`} {
		a := w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Body: body}).WantError(t, 400, "InvalidTemplate")
		if !strings.Contains(string(a.Body), "links to templates") {
			t.Errorf("%s", a.Body)
		}
	}
}

// Wherever its gateway is killed, each step of a nested deployment ends as it would have, and
// no provider gets a PUT twice.
func TestNestedDeploymentIsKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, Extra: batchSettings}})
	w.PutGroup(t, "rg")
	w.PutGroup(t, "other")
	for _, steps := range []int{1, 4, 6, 9} { // behind first, of1, inmost, and the end of later
		for _, region := range harness.RegionNames() {
			w.Contoso(region).ForgetRequests(t)
		}
		name := fmt.Sprint("killed-at-", steps)
		w.Portico.SetPoint(t, []failpoint.Point{failpoint.DeploySettleBefore, failpoint.DeploySettleAfter}[steps%2], fmt.Sprint("kill,once,after=", steps))
		killDeployment(t, w, name, answeredContent(t, "3"))
		w.Portico.Restart(t)
		end, d := endOf(t, w, name)
		if end != "Succeeded" || d.Properties.Outputs["last"].Value != "of2" || len(d.Properties.OutputResources) != 6 {
			t.Errorf("%s: %s: %+v %s", name, end, d, d.Properties.Error)
		}
		wantOperations(t, w, "rg", name, "deployments later: Succeeded", "virtualMachines behind: Succeeded", "virtualMachines first: Succeeded")
		wantOperations(t, w, "other", "later", "deployments inmost: Succeeded", "virtualMachines of0: Succeeded", "virtualMachines of1: Succeeded", "virtualMachines of2: Succeeded")
		wantOperations(t, w, "other", "inmost", "workspaces of-logs: Succeeded")
		unique := map[string]bool{}
		for i := range 3 {
			a := w.Portico.Do(t, harness.Request{Path: w.ResourcePath("other", fmt.Sprintf("Contoso.Compute/virtualMachines/of%d", i)) + "?api-version=" + harness.Version}).Want(t, 200)
			var machine struct{ Tags struct{ Unique string } }
			harness.OK(t, json.Unmarshal(a.Body, &machine))
			unique[machine.Tags.Unique] = true
		}
		if len(unique) != 1 || unique[""] {
			t.Errorf("%s: newGuid() made %v", name, unique)
		}
		puts := map[string]int{}
		for _, region := range harness.RegionNames() {
			for _, r := range w.Contoso(region).Requests(t) {
				if r.Method == http.MethodPut {
					puts[r.Path[strings.LastIndexByte(r.Path, '/')+1:]]++
				}
			}
		}
		if want := map[string]int{"first": 1, "of0": 1, "of1": 1, "of2": 1, "of-logs": 1, "behind": 1}; !maps.Equal(puts, want) {
			t.Errorf("%s: providers got PUTs: %v", name, puts)
		}
	}
}
