package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// threeMachines depend on each other, by dependsOn and by a reference, over two regions. It
// is sent as az does: with an unquoted member and comments. %[1]s and %[2]s are the regions.
const threeMachines = `{"properties": {"mode": "Incremental", "parameters": {"word": {"value": "%[3]s"}}, template: {
  // three machines
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "parameters": {"word": {"type": "secureString"}, "unique": {"type": "string", "defaultValue": "[newGuid()]"}},
  "resources": [
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "c", "location": "%[1]s",
      "tags": {"state": "[reference(resourceId('Contoso.Compute/virtualMachines', 'b')).provisioningState]"}, "properties": {}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "b", "location": "%[2]s",
      "dependsOn": ["[resourceId('Contoso.Compute/virtualMachines', 'a')]"], "properties": {}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "%[1]s", "tags": {"unique": "[parameters('unique')]"}, "properties": {}}
  ],
  "outputs": {
    "state": {"type": "string", "value": "[reference(resourceId('Contoso.Compute/virtualMachines', 'c'), '2024-01-01', 'Full').tags.state]"},
    "secret": {"type": "secureString", "value": "[parameters('word')]"}
  }}}}`

const hiddenWord = "a-word-that-nobody-is-shown"

type deployment struct {
	Tags       map[string]string
	Properties struct {
		ProvisioningState string
		Outputs           map[string]struct {
			Type  string
			Value any
		}
		OutputResources []struct{ ID string }
		Parameters      map[string]map[string]any
		CorrelationID   string
		Error           json.RawMessage
	}
}

// deploymentPath is the path of a deployment by its name, in the group rg, or by GROUP/NAME.
func deploymentPath(w *harness.World, name string) string {
	group, name, given := strings.Cut(name, "/")
	if !given {
		group, name = "rg", group
	}
	return w.GroupPath(group) + "/providers/Microsoft.Resources/deployments/" + name
}

// putDeployment begins a deployment and returns where its status is.
func putDeployment(t *testing.T, w *harness.World, p *harness.Portico, name, body string, status int) string {
	t.Helper()
	a := p.Do(t, harness.Request{Method: http.MethodPut, Path: deploymentPath(w, name) + "?api-version=2021-04-01", Body: body}).Want(t, status)
	link, err := url.Parse(a.Header.Get("Azure-AsyncOperation"))
	harness.OK(t, err)
	return link.RequestURI()
}

// deployed polls a deployment to its end, and returns that with its status.
func deployed(t *testing.T, w *harness.World, p *harness.Portico, name, poll string) (end string, d deployment) {
	t.Helper()
	end = eventually(t, "the end of a deployment", func() (string, bool) {
		var status struct{ Status string }
		harness.OK(t, json.Unmarshal(p.Do(t, harness.Request{Path: poll}).Want(t, 200).Body, &status))
		return status.Status, status.Status != "Running" && status.Status != "Accepted"
	})
	a := p.Do(t, harness.Request{Path: deploymentPath(w, name) + "?api-version=2021-04-01"}).Want(t, 200)
	harness.OK(t, json.Unmarshal(a.Body, &d))
	if strings.Contains(string(a.Body), hiddenWord) {
		t.Errorf("it shows a secret: %s", a.Body)
	}
	if d.Properties.ProvisioningState != end {
		t.Errorf("%s, and its status is %s", a.Body, end)
	}
	return end, d
}

func TestDeploymentOverRegions(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.GroupPath("rg") + "?api-version=2021-04-01", Body: `{"location":"westus","tags":{"of":"the group"}}`}).Want(t, 201)
	regions := harness.RegionNames()
	body := fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord)
	body = strings.Replace(body, `{"properties"`, `{"tags": {"stage": "test"}, "properties"`, 1)
	body = strings.Replace(body, `"outputs": {`, `"outputs": {"tag": {"type": "string", "value": "[resourceGroup().tags.of]"},`, 1)
	end, d := deployed(t, w, w.Portico, "first", putDeployment(t, w, w.Portico, "first", body, 201))
	if end != "Succeeded" || d.Properties.Outputs["state"].Value != "Succeeded" || d.Properties.Outputs["tag"].Value != "the group" || d.Properties.Outputs["secret"].Value != nil || len(d.Properties.OutputResources) != 3 {
		t.Errorf("%s: %+v", end, d)
	}
	for of, spelt := range map[string]any{"the output": d.Properties.Outputs["secret"].Type, "the parameter": d.Properties.Parameters["word"]["type"]} {
		if spelt != "SecureString" {
			t.Errorf("the type of %s is %v", of, spelt)
		}
	}
	if d.Tags["stage"] != "test" {
		t.Errorf("its tags are %v", d.Tags)
	}
	for name, region := range map[string]string{"a": regions[0], "b": regions[1], "c": regions[0]} {
		w.WantOnlyIn(t, region, w.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+name))
	}
	for _, path := range []string{deploymentPath(w, "first") + "/operations", w.GroupPath("rg") + "/deployments/first/operations"} {
		a := w.Portico.Do(t, harness.Request{Path: path + "?api-version=2021-04-01"}).Want(t, 200)
		if n := strings.Count(string(a.Body), `"provisioningState":"Succeeded"`); n != 3 || strings.Contains(string(a.Body), hiddenWord) {
			t.Errorf("%s", a.Body)
		}
	}
	if end, _ := deployed(t, w, w.Portico, "first", putDeployment(t, w, w.Portico, "FIRST", body, 200)); end != "Succeeded" {
		t.Error(end)
	}
	w.Portico.Do(t, harness.Request{Method: http.MethodHead, Path: deploymentPath(w, "first") + "?api-version=2021-04-01"}).Want(t, 204)
	list := w.Portico.Do(t, harness.Request{Path: strings.TrimSuffix(deploymentPath(w, ""), "/") + "?api-version=2021-04-01"}).Want(t, 200)
	if strings.Count(string(list.Body), `"Microsoft.Resources/deployments"`) != 1 {
		t.Errorf("%s", list.Body)
	}
	for path, want := range map[string]int{deploymentPath(w, "first"): 200, deploymentPath(w, "none"): 404, w.GroupPath("rg"): 400} {
		a := w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: path + "/exportTemplate?api-version=2021-04-01", Body: `{}`}).Want(t, want)
		if want == 200 && (!strings.HasPrefix(string(a.Body), `{"template":{"$schema":"https://`) || !strings.Contains(string(a.Body), `"[newGuid()]"`) || strings.Contains(string(a.Body), hiddenWord)) {
			t.Errorf("%s", a.Body)
		}
	}
	deleteDeployment(t, w, "first")
	w.Portico.Do(t, harness.Request{Path: deploymentPath(w, "first") + "?api-version=2021-04-01"}).Want(t, 404)
}

// A failed step ends what depends on it, and says why in its provider's words.
func TestDeploymentThatFails(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	misbehave(t, w, "PUT", "/virtualMachines/b", "status=400", -1)
	regions := harness.RegionNames()
	end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord), 201))
	if end != "Failed" || !strings.Contains(string(d.Properties.Error), "virtualMachines/b") || len(d.Properties.OutputResources) != 1 {
		t.Errorf("%s: %+v %s", end, d, d.Properties.Error)
	}
	w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/c") + "?api-version=" + harness.Version}).Want(t, 404)
	for name, body := range map[string]string{
		"InvalidTemplate":   strings.Replace(fmt.Sprintf(threeMachines, "x", "y", "z"), `"$schema"`, `"$scheme"`, 1),
		"InvalidDeployment": strings.Replace(fmt.Sprintf(threeMachines, "x", "y", "z"), `{"properties"`, `{"location": "x", "properties"`, 1),
	} {
		a := w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: deploymentPath(w, "e") + "?api-version=2021-04-01", Body: body}).Want(t, 400)
		if !strings.Contains(string(a.Body), name) {
			t.Errorf("%s", a.Body)
		}
	}
}

// A deployment outlives the gateways that run it, which are killed in the middle of it.
func TestDeploymentOutlivesItsReplicas(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{Postgres: postgres.CreateDatabase(t, "deployment"), Extra: batchSettings},
	})
	w.PutGroup(t, "rg")
	misbehave(t, w, "PUT", "/virtualMachines/", "slow=700ms", -1)
	regions := harness.RegionNames()
	poll := putDeployment(t, w, w.Portico, "d", fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord), 201)
	a := w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Body: fmt.Sprintf(threeMachines, regions[0], regions[1], "x")}).Want(t, 409)
	if !strings.Contains(string(a.Body), "DeploymentActive") {
		t.Errorf("%s", a.Body)
	}
	w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: deploymentPath(w, "d") + "?api-version=2021-04-01"}).Want(t, 409)
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/exportTemplate?api-version=2021-04-01"}).Want(t, 200)
	for round := range 2 {
		victim, other := w.Replicas[round%2], w.Replicas[(round+1)%2]
		soon(t, "a part of the deployment", func() bool { return len(remainingResources(t, w, "rg")) > round })
		victim.Kill(t)
		other.Do(t, harness.Request{Path: "/subscriptions?api-version=2020-01-01"}).Want(t, 200)
		victim.Restart(t)
	}
	end, d := deployed(t, w, w.Portico, "d", poll)
	if end != "Succeeded" || len(d.Properties.OutputResources) != 3 {
		t.Errorf("%s: %+v %s", end, d, d.Properties.Error)
	}
}

// At a subscription a deployment makes groups, and what its nested ones put into them.
func TestDeploymentAtASubscription(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	region := harness.RegionNames()[0]
	const schema = `"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0"`
	body := `{"location": "` + region + `", "properties": {"mode": "Incremental", "template": {` + schema + `, "resources": [
		{"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2021-04-01", "name": "made", "location": "` + region + `"},
		{"type": "Microsoft.Resources/deployments", "apiVersion": "2021-04-01", "name": "inner", "resourceGroup": "made", "dependsOn": ["made"],
			"properties": {"mode": "Incremental", "template": {` + schema + `, "resources": [
				{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "` + region + `", "properties": {}}]}}}]}}}`
	path := w.SubscriptionPath() + "/providers/Microsoft.Resources/deployments/d?api-version=2021-04-01"
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: path, Body: body}).Want(t, 201)
	eventually(t, "the end of a deployment", func() (string, bool) {
		a := w.Portico.Do(t, harness.Request{Path: path}).Want(t, 200)
		if strings.Contains(string(a.Body), `"Failed"`) {
			t.Fatalf("%s", a.Body)
		}
		return "", strings.Contains(string(a.Body), `"provisioningState":"Succeeded"`)
	})
	w.WantOnlyIn(t, region, w.ResourcePath("made", "Contoso.Compute/virtualMachines/a"))
}

// deleteDeployment deletes a deployment, which ends with the answer.
func deleteDeployment(t *testing.T, w *harness.World, name string) {
	t.Helper()
	request := harness.Request{Method: http.MethodDelete, Path: deploymentPath(w, name) + "?api-version=2021-04-01"}
	if a := w.Portico.Do(t, request).Want(t, 204); len(a.Body) > 0 || a.Header.Get("Location") != "" {
		t.Errorf("%v %s", a.Header, a.Body)
	}
	w.Portico.Do(t, harness.Request{Path: request.Path}).WantError(t, 404, "DeploymentNotFound")
	w.Portico.Do(t, request).Want(t, 204)
}

// What is known to be refused is refused before anything is sent, by the PUT and by validate
// the same; what its own template makes is missing in neither.
func TestDeploymentIsRefusedAsItsResourcesWouldBe(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	region := harness.RegionNames()[0]
	of := func(resources string) string {
		return `{"properties": {"mode": "Incremental", "template": {"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": [` + resources + `]}}}`
	}
	resource := func(typ, name, version, more string) string {
		return fmt.Sprintf(`{"type": %q, "name": %q, "apiVersion": %q, "properties": {}%s}`, typ, name, version, more)
	}
	here, machine := `, "location": "`+region+`"`, "Contoso.Compute/virtualMachines"
	good := resource(machine, "a", "2024-01-01", here)
	faulty := []string{
		resource("Contoso.Nothing/at", "all", "2024-01-01", here), resource("Contoso.Compute/nothing", "x", "2024-01-01", here),
		resource(machine, "b", "2024-01-01", `, "location": "nowhere"`), resource(machine, "c", "1999-01-01", here), resource(machine, "d", "2024-01-01", ""),
		resource(machine, "[format('e{0}', copyIndex())]", "2024-01-01", `, "copy": {"name": "e", "count": 9}, "location": "[if(equals(copyIndex(), 7), 'nowhere', '`+region+`')]"`),
	}
	want := []string{"InvalidResourceNamespace", "InvalidResourceType", "LocationNotAvailableForResourceType", "NoRegisteredProviderFound", "LocationRequired", "LocationNotAvailableForResourceType"}
	for _, r := range []harness.Request{{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/validate"}, {Method: http.MethodPut, Path: deploymentPath(w, "d")}} {
		r.Path, r.Body = r.Path+"?api-version=2021-04-01", of(good+","+strings.Join(faulty, ","))
		var refusal struct {
			Error struct {
				Code    string
				Details []struct{ Code, Target string }
			}
		}
		a := w.Portico.Do(t, r).Want(t, 400)
		harness.OK(t, json.Unmarshal(a.Body, &refusal))
		var got []string
		for _, d := range refusal.Error.Details {
			got = append(got, d.Code)
		}
		if refusal.Error.Code != "InvalidTemplateDeployment" || !slices.Equal(got, want) || !strings.HasSuffix(refusal.Error.Details[5].Target, "/e7") {
			t.Errorf("%s: %s", r.Method, a.Body)
		}
	}
	w.Portico.Do(t, harness.Request{Path: deploymentPath(w, "d") + "?api-version=2021-04-01"}).Want(t, 404)
	if left := remainingResources(t, w, "rg"); len(left) > 0 {
		t.Errorf("%v", left)
	}
	child := resource(machine+"/disks", "a/d", "2024-01-01", here+`, "dependsOn": ["a"]`)
	if end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", of(child+","+good), 201)); end != "Succeeded" {
		t.Errorf("%s: %s", end, d.Properties.Error)
	}
}
