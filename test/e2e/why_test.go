package e2e

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"portico/test/harness"
)

// At night, with a ticket in hand: whatever of a stuck deletion the operator has, one command
// names the region that it waits for and what can be done; later it says who deleted what.
func TestWhyOfADeletionThatWaits(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: deletionSettings + "health: {probe: {interval: 500ms}}\n", Tokens: []harness.Token{alice}, Owners: []string{alice.ObjectID}}})
	o := commander{}
	why := func(exit int, of ...string) string {
		t.Helper()
		stdout, stderr := o.run(t, exit, append([]string{"why", "--config", w.Portico.ConfigFile}, of...)...)
		return stdout + stderr
	}
	as := func(r harness.Request, correlation string) harness.Answer {
		t.Helper()
		r.Header = harness.Header("Authorization", "Bearer "+alice.Raw, "X-Ms-Correlation-Request-Id", correlation)
		return w.Portico.Do(t, r)
	}
	const created, asked, refused = "00000000-0000-4000-8000-0000000000c1", "00000000-0000-4000-8000-0000000000c2", "00000000-0000-4000-8000-0000000000c3"
	group, vm := w.GroupPath("rg"), w.ResourcePath("rg", machines+"vm")
	as(harness.Request{Method: http.MethodPut, Path: group + ownVersion, Body: `{"location":"westus"}`}, created).Want(t, 201)
	as(harness.Request{Method: http.MethodPut, Path: vm + "?api-version=" + harness.Version, Body: body("eastus")}, created).Want(t, 201)
	if says := why(0, vm); !strings.Contains(says, "vm is in eastus, Live") || !strings.Contains(says, "Contoso.Compute/virtualMachines/write Succeeded") || !strings.Contains(says, alice.Name) {
		t.Errorf("a resource that is well: %s", says)
	}

	w.Contoso("eastus").Kill(t)
	accepted := as(harness.Request{Method: http.MethodDelete, Path: group + ownVersion}, asked).Want(t, 202)
	polled, _ := ownOperation(t, accepted)
	job := ""
	soon(t, "the deletion to wait for the region, which is down", func() bool {
		var answer struct{ Subject struct{ Kind, ID string } }
		harness.OK(t, json.Unmarshal([]byte(why(0, w.Portico.URL+polled, "-o", "json")), &answer))
		job = answer.Subject.ID
		says := why(0, job)
		return answer.Subject.Kind == "job" && strings.Contains(says, "do not answer: eastus") && regexp.MustCompile(`Since 2\S+ \S+Z: [^.]*eastus`).MatchString(says)
	})
	for what, of := range map[string]string{"job": job, "end of the job": job[len(job)-12:], "group": group, "member": vm, "correlation id": asked, "polling URL": polled} {
		says := why(0, of)
		for _, want := range []string{"waits since 2", "do not answer: eastus", "Since 2", "portico unstick " + job + " --ask", "portico unstick " + job + " --give-up --dry-run", "portico jobs show " + job, alice.Name} {
			if !strings.Contains(says, want) {
				t.Errorf("the %s: %q is not in\n%s", what, want, says)
			}
		}
	}

	as(harness.Request{Method: http.MethodPut, Path: vm + "?api-version=" + harness.Version, Body: body("eastus")}, refused).Want(t, 409)
	if says := why(0, refused); !strings.Contains(says, "ResourceGroupBeingDeleted: The resource group 'rg' is in deprovisioning state") {
		t.Errorf("a refusal: %s", says)
	}

	w.Contoso("eastus").Restart(t)
	_, _ = o.run(t, 0, "unstick", "--config", w.Portico.ConfigFile, job, "--ask")
	soon(t, "the group to be gone", func() bool {
		return as(harness.Request{Path: group + ownVersion}, created).Status == http.StatusNotFound
	})
	says := why(0, vm)
	for _, want := range []string{"vm does not exist.", "Contoso.Compute/virtualMachines/delete Succeeded for DELETE " + group, "by " + alice.Name} {
		if !strings.Contains(says, want) {
			t.Errorf("after the end: %q is not in\n%s", want, says)
		}
	}
	if says := why(0, job); !strings.Contains(says, "The job (group-delete) is Done") || !strings.Contains(says, "rg does not exist") {
		t.Errorf("the job at its end: %s", says)
	}
	if says := why(0, vm, "-o", "yaml"); !strings.Contains(says, "verdict: ") {
		t.Errorf("YAML: %s", says)
	}
	for _, unknown := range []string{w.ResourcePath("rg", machines+"never"), "00000000-0000-4000-8000-0000000000ff", job[:len(job)-4] + "0000"} {
		if says := why(1, unknown); !strings.Contains(says, "Nothing is known of") || !strings.Contains(says, "events since 2") {
			t.Errorf("%s: %s", unknown, says)
		}
	}
	if says := why(1, "vm"); !strings.Contains(says, "portico resources list") {
		t.Errorf("a name alone: %s", says)
	}
}
