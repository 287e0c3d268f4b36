package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// An operator gives up one step whose provider never ends: it fails and ends what depends on it,
// while the rest goes on, also where the deployment is being canceled.
func TestOneStepOfADeploymentIsGivenUp(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	misbehave(t, w, "PUT", "/virtualMachines/b", "async-endless=azure-async", -1)
	misbehave(t, w, "PUT", "/virtualMachines/x", "status=503", -1)
	regions := harness.RegionNames()
	independent := fmt.Sprintf(`"resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "x", "location": %q, "properties": {}},`, regions[1])
	body := strings.Replace(fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord), `"resources": [`, independent, 1)
	begin := func(group string) (job, poll string) {
		t.Helper()
		w.PutGroup(t, group)
		poll = putDeployment(t, w, w.Portico, group+"/d", body, 201)
		jobs := w.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=deployment"}).Values(t)
		at := slices.IndexFunc(jobs, func(j map[string]any) bool {
			return strings.Contains(j["subject"].(string), "/resourceGroups/"+group+"/")
		})
		job = jobs[at]["id"].(string)
		eventually(t, "a step that never ends", func() (map[string]stepShown, bool) {
			steps := stepsShown(t, w, job)
			return steps, steps["b"].State == "Accepted" && steps["x"].Why != ""
		})
		return job, poll
	}
	machine := func(group, name string) string { return w.ResourcePath(group, machines+name) }

	job, poll := begin("rg")
	for says, args := range map[string][]string{
		"waits for its provider":            {job, "--give-up", "--resource", machine("rg", "a")},
		"that waits":                        {job, "--give-up", "--resource", machine("rg", "none")},
		"was not sent yet":                  {job, "--give-up", "--resource", machine("rg", "c")},
		"can only be given up":              {job, "--ask", "--resource", machine("rg", "b")},
		"goes with the job":                 {machine("rg", "b"), "--give-up", "--resource", machine("rg", "b")},
		"has no steps for single resources": {followOf(t, w, machine("rg", "b")), "--give-up", "--resource", machine("rg", "b")},
	} {
		if text := unstickCommand(t, w.Portico, 1, args...); !strings.Contains(text, says) {
			t.Errorf("%q: %s", args, text)
		}
	}
	if text := unstickCommand(t, w.Portico, 0, job, "--give-up", "--resource", machine("rg", "b"), "--dry-run"); !strings.Contains(text, "Dry run: nothing was done. Outcome: The step fails.") {
		t.Error(text)
	}
	if steps := stepsShown(t, w, job); steps["b"].State != "Accepted" {
		t.Errorf("a dry run has done it: %+v", steps)
	}
	unstickCommand(t, w.Portico, 0, poll, "--give-up", "--resource", strings.ToUpper(machine("rg", "b")), "--reason", "its region burnt down")
	if steps := stepsShown(t, w, job); steps["b"].State != "Failed" || !strings.Contains(steps["b"].Why, "an operator gave it up") {
		t.Errorf("%+v", steps)
	}
	behave(t, w)
	end, d := deployed(t, w, w.Portico, "d", poll)
	if fault := string(d.Properties.Error); end != "Failed" || strings.Count(fault, `"target"`) != 2 || !strings.Contains(fault, "virtualMachines/b' had not come to an end when an operator gave it up") {
		t.Errorf("%s: %s", end, fault)
	}
	wantOperations(t, w, "rg", "d", "virtualMachines a: Succeeded", "virtualMachines b: Failed", "virtualMachines x: Succeeded")
	if puts := putsOf(t, w, "rg"); puts["b"] != 1 || puts["c"] != 0 {
		t.Errorf("providers got these PUTs: %v", puts)
	}
	if text, _ := (commander{}).run(t, 0, "jobs", "show", job, "--history", "--admin", w.Portico.AdminURL); !strings.Contains(text, "An operator gave up /subscriptions/") {
		t.Error(text)
	}
	if !strings.Contains(w.Portico.Logs(), "its region burnt down") {
		t.Error("the audit log has no line of it")
	}
	unstickCommand(t, w.Portico, 1, job, "--give-up", "--resource", machine("rg", "b"))

	misbehave(t, w, "PUT", "/virtualMachines/b", "async-endless=azure-async", -1)
	misbehave(t, w, "PUT", "/virtualMachines/x", "status=503", -1)
	job, poll = begin("canceled")
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "canceled/d") + "/cancel?api-version=2021-04-01"}).Want(t, 204)
	unstickCommand(t, w.Portico, 0, job, "--give-up", "--resource", machine("canceled", "b"))
	if end, _ := deployed(t, w, w.Portico, "canceled/d", poll); end != "Canceled" {
		t.Error(end)
	}
	wantOperations(t, w, "canceled", "d", "virtualMachines a: Succeeded", "virtualMachines b: Failed", "virtualMachines x: Canceled")

	behave(t, w)
	misbehave(t, w, "PUT", "/virtualMachines/b", "delay=1m", -1)
	w.PutGroup(t, "sent")
	poll = putDeployment(t, w, w.Portico, "sent/d", body, 201)
	eventually(t, "the refusal while a call is under way", func() (string, bool) {
		text, _ := tryUnstick(t, w.Portico, poll, "--give-up", "--resource", machine("sent", "b"), "--dry-run")
		return text, strings.Contains(text, "A call may be in progress")
	})
}

// followOf is the job that follows the write of a resource.
func followOf(t *testing.T, w *harness.World, id string) (job string) {
	t.Helper()
	for _, j := range w.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=follow"}).Values(t) {
		if strings.EqualFold(j["subject"].(string), id) {
			job = j["id"].(string)
		}
	}
	return job
}
