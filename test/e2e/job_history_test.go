package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"portico/gateway/admin/api"
	"portico/test/harness"
)

// Operators see of a deletion that waits for a region that is down: what repeats, as one step
// that is counted; of each resource how often it was tried, since when and why; what a canceled
// deletion leaves, before they cancel it; and the job above those that have ended.
func TestOperatorsSeeWhatADeletionDoesWhileItWaits(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: strings.Replace(deletionSettings, "limit: 3m", "limit: 1h", 1)}})
	p := w.Portico
	fill(t, w, "first", map[string]string{"Contoso.Compute/virtualMachines/vm": "westus"})
	beginDelete(t, w, p, "first").gone(t, p)
	resources := map[string]string{}
	for i := range 13 {
		region := "westus"
		if i < 4 {
			region = "northeurope"
		}
		resources[fmt.Sprintf("Contoso.Compute/virtualMachines/vm%d", i)] = region
	}
	fill(t, w, "rg", resources)
	w.Contoso("northeurope").Kill(t)
	beginDelete(t, w, p, "rg")
	get := func(path string, into any) {
		t.Helper()
		harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: path}).Want(t, 200).Body, into))
	}
	var all api.Page[api.Job]
	get("/admin/jobs?kind=group-delete&state=open", &all)
	if len(all.Value) != 1 {
		t.Fatalf("open are %+v", all.Value)
	}
	path := "/admin/jobs/" + all.Value[0].ID
	var job api.Job
	soon(t, "the history counts what repeats", func() bool {
		get(path, &job)
		return len(job.History) > 0 && job.History[0].Times >= 3
	})
	if s := job.History[0]; s.Outcome != "again" || s.Did != "9 of 13 resources are deleted. It waits for northeurope." || !s.Since.Before(s.At) {
		t.Errorf("its latest step is %+v", s)
	}
	var left api.DeletionMembers
	soon(t, "each resource that is left was tried in vain", func() bool {
		get(path+"/members", &left)
		tried := 0
		for _, m := range left.Members {
			if m.Tries > 0 && m.Since != nil && m.Why != "" {
				tried++
			}
		}
		return tried == 4
	})
	short := job.ID[len(job.ID)-12:]
	shown, _ := runCommand(t, p, 0, "jobs", "show", short, "--history")
	if !regexp.MustCompile(`\d+ +\S+ ago +again .*9 of 13`).MatchString(shown) || strings.Count(shown, "It waits for northeurope") != 1 {
		t.Errorf("the command shows\n%s", shown)
	}
	names := func(text string) {
		t.Helper()
		for i := range 13 {
			name := fmt.Sprintf("Contoso.Compute/virtualMachines/vm%d", i)
			if there := regexp.MustCompile(name + `\b`).MatchString(text); there != (i < 4) {
				t.Errorf("%s: %t in\n%s", name, there, text)
			}
		}
		if !strings.Contains(text, "9 of 13 resources are deleted.") || !strings.Contains(text, "The group can be used again") {
			t.Errorf("it says\n%s", text)
		}
	}
	would, _ := runCommand(t, p, 0, "unstick", short, "--give-up", "--dry-run")
	if names(would); !strings.Contains(would, "Dry run: nothing was done.") {
		t.Errorf("it says\n%s", would)
	}
	listed, _ := runCommand(t, p, 0, "jobs", "--kind", "group-delete")
	if open, ended := strings.Index(listed, short), strings.Index(listed, "Done"); open < 0 || ended < open {
		t.Errorf("the jobs are\n%s", listed)
	}
	if listed, _ := runCommand(t, p, 0, "jobs", "--kind", "group-delete", "--state", "done"); strings.Contains(listed, short) || !strings.Contains(listed, "Done") {
		t.Errorf("done are\n%s", listed)
	}
	p.Admin(t, harness.Request{Path: "/admin/jobs?state=sleeping"}).WantError(t, http.StatusBadRequest, "InvalidQueryParameter")
	did, _ := runCommand(t, p, 0, "unstick", short, "--give-up")
	names(did)
	soon(t, "the group can be used again", func() bool {
		get(path, &job)
		return job.State == "Cancelled"
	})
	p.Do(t, harness.Request{Method: http.MethodPatch, Path: w.GroupPath("rg") + "?api-version=2021-04-01", Body: `{"tags":{"a":"b"}}`}).Want(t, 200)
}
