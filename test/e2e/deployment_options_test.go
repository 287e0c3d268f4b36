package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// createdOnce are machines that are made only if they do not exist, as Bicep compiles
// @onlyIfNotExists(): one alone, two by a loop, one in a module. Another one and an output read
// them. %[1]s is the region, %[2]s the mode.
const createdOnce = `{"properties": {"mode": "%[2]s", "template": {` + templateSchema + `, "languageVersion": "2.0",
  "resources": {
    "kept": {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "kept", "@options": {"onlyIfNotExists": []}, "location": "%[1]s", "properties": {"size": "small"}},
    "looped": {"copy": {"name": "looped", "count": 2}, "@options": {"onlyIfNotExists": []},
      "type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "[format('loop{0}', copyIndex())]", "location": "%[1]s", "properties": {"size": "small"}},
    "mod": {"type": "Microsoft.Resources/deployments", "apiVersion": "2025-04-01", "name": "mod", "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"},
      "template": {` + templateSchema + `, "languageVersion": "2.0", "resources": {
        "inner": {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "inner", "@options": {"onlyIfNotExists": []}, "location": "%[1]s", "properties": {"size": "small"}}},
        "outputs": {"size": {"type": "string", "value": "[reference('inner').size]"}}}}},
    "behind": {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "behind", "location": "%[1]s", "tags": {"size": "[reference('kept').size]"}, "properties": {}}},
  "outputs": {"kept": {"type": "string", "value": "[reference('kept').size]"}, "inner": {"type": "string", "value": "[reference('mod').outputs.size.value]"}}}}}`

// putMachine makes a machine of a size, GROUP/NAME.
func putMachine(t *testing.T, w *harness.World, name, region, size string) {
	t.Helper()
	group, name, _ := strings.Cut(name, "/")
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath(group, "Contoso.Compute/virtualMachines/"+name) + "?api-version=" + harness.Version,
		Body: fmt.Sprintf(`{"location":%q,"tags":{"of":"someone"},"properties":{"size":%q}}`, region, size)}).Want(t, 201)
}

// machineText is what a machine of the group rg answers.
func machineText(t *testing.T, w *harness.World, name string) string {
	t.Helper()
	return string(w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+name) + "?api-version=" + harness.Version}).Want(t, 200).Body)
}

func forgetRequests(t *testing.T, w *harness.World) {
	t.Helper()
	for _, region := range harness.RegionNames() {
		w.Contoso(region).ForgetRequests(t)
	}
}

// What exists is not sent, wherever the template would put it; what reads it sees what stands.
// Validate, what-if and the complete mode say the same. No provider gets the option.
func TestDeploymentCreatesOnlyWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	regions := harness.RegionNames()
	for _, name := range []string{"kept", "loop1", "inner"} {
		putMachine(t, w, "rg/"+name, regions[1], "big")
	}
	body := fmt.Sprintf(createdOnce, regions[0], "Complete")
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/validate?api-version=2021-04-01", Body: body}).Want(t, 200)
	if changes := whatIf(t, w, body); !maps.Equal(changes, map[string]string{"kept": "NoChange", "loop0": "Create", "loop1": "NoChange", "inner": "NoChange", "behind": "Create"}) {
		t.Errorf("it would change %v", changes)
	}
	forgetRequests(t, w)
	d := deploy(t, w, "d", body)
	if o := d.Properties.Outputs; o["kept"].Value != "big" || o["inner"].Value != "big" || len(d.Properties.OutputResources) != 2 {
		t.Errorf("%+v", d)
	}
	if puts := putsOf(t, w, "rg"); !maps.Equal(puts, map[string]int{"loop0": 1, "behind": 1}) {
		t.Errorf("providers got PUTs: %v", puts)
	}
	for name, size := range map[string]string{"kept": "big", "loop0": "small", "loop1": "big", "inner": "big"} {
		if text := machineText(t, w, name); !strings.Contains(text, `"size":"`+size+`"`) || strings.Contains(text, "@options") || strings.Contains(text, "someone") != (size == "big") {
			t.Errorf("%s", text)
		}
	}
	if text := machineText(t, w, "behind"); !strings.Contains(text, `"tags":{"size":"big"}`) {
		t.Errorf("%s", text)
	}
	for name, change := range whatIf(t, w, body) {
		if change != "NoChange" {
			t.Errorf("%s: it would be %s again", name, change)
		}
	}
	forgetRequests(t, w)
	if end, _ := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", body, 200)); end != "Succeeded" {
		t.Error(end)
	}
	if puts := putsOf(t, w, "rg"); !maps.Equal(puts, map[string]int{"behind": 1}) {
		t.Errorf("providers got PUTs again: %v", puts)
	}
}

// killDeployment begins a deployment whose gateway is killed by a failpoint, perhaps before it
// has answered.
func killDeployment(t *testing.T, w *harness.World, name, body string) {
	t.Helper()
	a, err := w.Portico.Try(t.Context(), harness.Request{Method: http.MethodPut, Path: deploymentPath(w, name) + "?api-version=2021-04-01", Body: body})
	if err == nil {
		a.Want(t, 201)
	}
	if !w.Portico.EndsWithin(time.Minute) {
		t.Fatalf("%s does not come to its failpoint", name)
	}
}

// endOf waits for the end of a deployment.
func endOf(t *testing.T, w *harness.World, name string) (end string, d deployment) {
	t.Helper()
	d = eventually(t, "the end of "+name, func() (d deployment, over bool) {
		harness.OK(t, json.Unmarshal(w.Portico.Do(t, harness.Request{Path: deploymentPath(w, name) + "?api-version=2021-04-01"}).Want(t, 200).Body, &d))
		return d, !slices.Contains([]string{"Accepted", "Running"}, d.Properties.ProvisioningState)
	})
	return d.Properties.ProvisioningState, d
}

// Wherever its gateway is killed, a deployment overwrites nothing that was there, and takes what
// it has made itself for its own.
func TestDeploymentThatCreatesOnlyWhatDoesNotExistIsKilled(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, Extra: batchSettings}})
	regions := harness.RegionNames()
	for i, at := range []failpoint.Point{failpoint.DeployBeginAfter, failpoint.UpstreamSendAfter, failpoint.DeploySettleBefore} {
		group := fmt.Sprint("rg", i)
		w.PutGroup(t, group)
		putMachine(t, w, group+"/kept", regions[1], "big")
		forgetRequests(t, w)
		name := group + "/d"
		w.Portico.SetPoint(t, at, "kill,once,after=1")
		killDeployment(t, w, name, fmt.Sprintf(createdOnce, regions[0], "Incremental"))
		w.Portico.Restart(t)
		end, d := endOf(t, w, name)
		if end != "Succeeded" || d.Properties.Outputs["kept"].Value != "big" || d.Properties.Outputs["inner"].Value != "small" || len(d.Properties.OutputResources) != 4 {
			t.Errorf("%s: %s: %+v %s", at, end, d, d.Properties.Error)
		}
		if puts := putsOf(t, w, group); !maps.Equal(puts, map[string]int{"loop0": 1, "loop1": 1, "inner": 1, "behind": 1}) {
			t.Errorf("%s: providers got PUTs: %v", at, puts)
		}
	}
}

// A group that exists keeps its tags and its location.
func TestDeploymentOfAGroupThatMayExist(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.GroupPath("old") + "?api-version=2021-04-01", Body: `{"location":"westus","tags":{"of":"someone"}}`}).Want(t, 201)
	template := `{` + strings.ReplaceAll(templateSchema, "deploymentTemplate", "subscriptionDeploymentTemplate") + `, "languageVersion": "2.0", "resources": {`
	for _, name := range []string{"old", "new"} {
		template += fmt.Sprintf(`%q: {"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2024-03-01", "name": %q, "location": "eastus", "tags": {"of": "us"}, "@options": {"onlyIfNotExists": []}},`, name, name)
	}
	body := strings.Replace(content(t, strings.TrimSuffix(template, ",")+`}}`, nil), `{`, `{"location": "westus", `, 1)
	at := "/subscriptions/" + w.SubscriptionID + "/providers/Microsoft.Resources/deployments/d"
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: at + "/validate?api-version=2021-04-01", Body: body}).Want(t, 200)
	a := w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: at + "?api-version=2021-04-01", Body: body}).Want(t, 201)
	link, err := url.Parse(a.Header.Get("Azure-AsyncOperation"))
	harness.OK(t, err)
	eventually(t, "its end", func() (bool, bool) {
		text := string(w.Portico.Do(t, harness.Request{Path: link.RequestURI()}).Want(t, 200).Body)
		return true, strings.Contains(text, "Succeeded")
	})
	for name, of := range map[string]string{"old": "someone", "new": "us"} {
		if text := string(w.Portico.Do(t, harness.Request{Path: w.GroupPath(name) + "?api-version=2021-04-01"}).Want(t, 200).Body); !strings.Contains(text, `"of":"`+of+`"`) {
			t.Errorf("%s", text)
		}
	}
}
