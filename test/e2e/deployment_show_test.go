package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// Operators see what each step of a deployment waits for and why it fails, while it runs and
// once it has ended, and none of what it was given.
func TestDeploymentIsShownToOperators(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	regions := harness.RegionNames()
	body := fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord)
	o := commander{}
	show := func(id string) string {
		text, _ := o.run(t, 0, "jobs", "show", id, "--admin", w.Portico.AdminURL)
		if strings.Contains(text, hiddenWord) {
			t.Errorf("it shows a secret: %s", text)
		}
		return text
	}
	job := func(name string) string {
		t.Helper()
		for _, j := range w.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=deployment"}).Values(t) {
			if strings.HasSuffix(j["subject"].(string), "/deployments/"+name) {
				return j["id"].(string)
			}
		}
		t.Fatal("there is no job of the deployment " + name)
		return ""
	}

	misbehave(t, w, "PUT", "/virtualMachines/b", "status=503", -1)
	poll := putDeployment(t, w, w.Portico, "waits", body, 201)
	id := job("waits")
	eventually(t, "the step that fails", func() (string, bool) {
		text := show(id)
		return text, strings.Contains(text, "It has time until") && strings.Contains(text, "Its steps, 3:") && strings.Contains(text, "Succeeded") && strings.Contains(text, "503")
	})
	if text := show(id); !strings.Contains(text, "portico jobs cancel") {
		t.Error(text)
	}
	steps := eventually(t, "why a step waits", func() (map[string]stepShown, bool) { // not while it is tried again
		steps := stepsShown(t, w, id)
		return steps, steps["b"].Why != ""
	})
	if steps["a"].State != "Succeeded" || steps["a"].Ended == "" || steps["c"].State != "Waiting" || len(steps["c"].DependsOn) != 1 || !strings.HasSuffix(steps["c"].DependsOn[0], "/b") {
		t.Errorf("%+v", steps)
	}
	o.run(t, 0, "jobs", "cancel", id, "--admin", w.Portico.AdminURL)
	if end, _ := deployed(t, w, w.Portico, "waits", poll); end != "Canceled" {
		t.Error(end)
	}
	if steps = stepsShown(t, w, id); len(steps) != 3 || steps["a"].State != "Succeeded" || steps["c"].State != "NotSent" {
		t.Errorf("%+v", steps)
	}

	misbehave(t, w, "PUT", "/virtualMachines/c", "status=400", -1)
	misbehave(t, w, "PUT", "/virtualMachines/b", "status=400", -1)
	nested := fmt.Sprintf(`{"properties": {"mode": "Incremental", "template": {"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
		"resources": [{"type": "Microsoft.Resources/deployments", "apiVersion": "2021-04-01", "name": "inner", "properties": {"mode": "Incremental", "template": {
		"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": [
		{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "c", "location": %q, "properties": {}}]}}}]}}}`, regions[0])
	if end, _ := deployed(t, w, w.Portico, "fails", putDeployment(t, w, w.Portico, "fails", nested, 201)); end != "Failed" {
		t.Error(end)
	}
	id = job("fails")
	if text := show(id); !strings.Contains(text, "It has failed: DeploymentFailed") || !strings.Contains(text, "repeat the PUT") {
		t.Error(text)
	}
	steps = stepsShown(t, w, id)
	if steps["c"].State != "Failed" || steps["c"].Why == "" || !strings.HasSuffix(steps["c"].Within, "/deployments/inner") || steps["inner"].State != "Failed" {
		t.Errorf("%+v", steps)
	}
	w.Portico.Admin(t, harness.Request{Path: "/admin/jobs/" + strings.Replace(id, ".", ".0", 1) + "/deployment"}).Want(t, 404)
	w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: deploymentPath(w, "fails") + "?api-version=2021-04-01"}).Want(t, 204)
	w.Portico.Admin(t, harness.Request{Path: "/admin/jobs/" + id + "/deployment"}).WantError(t, 409, "Conflict")
}

type stepShown struct {
	State, Within, Ended, Why string
	DependsOn                 []string
}

// stepsShown are the steps of a job's deployment, by the last word of their IDs.
func stepsShown(t *testing.T, w *harness.World, job string) map[string]stepShown {
	t.Helper()
	var d struct {
		Steps []struct {
			ID string
			stepShown
		}
	}
	a := w.Portico.Admin(t, harness.Request{Path: "/admin/jobs/" + job + "/deployment"}).Want(t, 200)
	harness.OK(t, json.Unmarshal(a.Body, &d))
	if strings.Contains(string(a.Body), hiddenWord) {
		t.Errorf("it shows a secret: %s", a.Body)
	}
	steps := map[string]stepShown{}
	for _, s := range d.Steps {
		steps[s.ID[strings.LastIndexByte(s.ID, '/')+1:]] = s.stepShown
	}
	return steps
}
