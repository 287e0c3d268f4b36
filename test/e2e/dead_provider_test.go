package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// problemShown is a problem of portico status.
type problemShown struct{ Severity, Code, Summary, Detail, Subject, CausedBy, Advice string }

// A provider's process that dies is one problem of portico status, with what to do, and lists
// and deletions that it holds up belong to it. portico errors says who is to blame for each error.
func TestDeadProviderIsOneProblem(t *testing.T) {
	t.Parallel()
	contosos, endpoints := map[string]*harness.Contoso{}, map[string]string{}
	for _, region := range append(harness.RegionNames(), "global") {
		contosos[region] = harness.StartContoso(t, region, harness.ContosoOptions{})
		endpoints[region] = contosos[region].URL
	}
	endpoints["northeurope"] = endpoints["eastus"] // one process for both
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Endpoints: endpoints, Extra: "index: {pollFloor: 50ms}\n"}})
	p := w.Portico
	p.Write(t, strings.Replace(p.Text(t, w.Config), "- namespace: Contoso.Compute\n", "- namespace: Contoso.Compute\n    contact: '#compute-oncall'\n", 1))
	o := commander{admin: p.AdminURL}
	o.run(t, 0, "reload")
	if table, _ := o.run(t, 0, "providers"); !strings.Contains(table, "#compute-oncall") {
		t.Error(table)
	}
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"east", body("eastus"))
	w.PutResource(t, "rg", machines+"west", body("westus"))
	newest := func() (e struct {
		Blame, Message string
		Status         int
	}) {
		t.Helper()
		text, _ := o.run(t, 0, "errors", "--each", "-o", "json", "--limit", "1")
		var page struct{ Value []json.RawMessage }
		harness.OK(t, json.Unmarshal([]byte(text), &page))
		harness.OK(t, json.Unmarshal(page.Value[0], &e))
		return e
	}
	blames := func(who, message string) {
		t.Helper()
		soon(t, "portico errors blames "+who, func() bool {
			e := newest()
			return e.Blame == who && strings.Contains(e.Message, message)
		})
	}
	get := func(path string, fault ...string) int {
		t.Helper()
		r := harness.Request{Path: path + "?api-version=" + harness.Version}
		if len(fault) > 0 {
			r.Header = harness.Header("x-contoso-fault", fault[0])
		}
		return p.Do(t, r).Status
	}
	get(w.ResourcePath("nothing", machines+"x"))
	blames("caller", "'nothing'")
	p.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"west") + "?api-version=" + harness.Version, Body: body("eastus")}).Want(t, 409)
	blames("caller", "already exists in location")
	get(w.ResourcePath("rg", machines+"west"), "status=500")
	blames("provider", "500")

	contosos["eastus"].Kill(t)
	list := "/subscriptions/" + w.SubscriptionID + "/providers/Contoso.Compute/virtualMachines"
	var all []problemShown
	soon(t, "one problem has it all", func() bool {
		get(w.ResourcePath("rg", machines+"east"))
		blames("unreachable", "eastus")
		get(list)
		all = problemsOf(t, o)
		return len(all) == 1 && strings.Contains(all[0].Summary, "northeurope") && strings.Contains(all[0].Detail, "Lists of")
	})
	only := all[0]
	if only.Code != "regionDown" || only.Subject != "eastus" || only.Severity != "critical" || !strings.Contains(only.Detail, "Contoso.Compute in eastus, ") ||
		!strings.Contains(only.Detail, endpoints["eastus"]) || !strings.Contains(only.Detail, " that include it fail; with onRegionFailure: partial they would leave it out.") ||
		!strings.HasPrefix(only.Advice, "ask #compute-oncall, or start it; ") || !strings.Contains(only.Advice, "portico regions drain eastus ") {
		t.Errorf("%+v", only)
	}
	if text, _ := o.run(t, 1, "status"); !strings.Contains(text, "next: ask #compute-oncall, or start it; ") {
		t.Error(text)
	}
	if text, _ := o.run(t, 0, "regions", "-o", "wide"); !strings.Contains(text, "#compute-oncall") {
		t.Error(text)
	}
	if table, _ := o.run(t, 0, "errors", "--blame", "unreachable"); !strings.Contains(table, "unreachable") || strings.Contains(table, "caller") {
		t.Error(table)
	}
	p.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath("rg") + "?api-version=2021-04-01"}).Want(t, 202)
	soon(t, "the deletion that waits for it stands behind it", func() bool {
		all = problemsOf(t, o)
		return len(all) == 2 && all[1].Code == "groupDeleteWaiting"
	})
	if all[0].Code != "regionDown" || all[1].CausedBy != "eastus" {
		t.Errorf("%+v", all)
	}
	contosos["eastus"].Restart(t)
	soon(t, "nothing is wrong any more", func() bool { return len(problemsOf(t, o)) == 0 })
}

// problemsOf returns the problems of portico status, without those that a busy machine makes.
func problemsOf(t *testing.T, o commander) []problemShown {
	t.Helper()
	var status struct{ Problems []problemShown }
	p := o.start(t, "status", "-o", "json")
	if code := p.ExitCode(t); code > 1 {
		t.Fatalf("portico status: exit code %d\n%s", code, p.Stderr())
	}
	harness.OK(t, json.Unmarshal([]byte(p.Stdout()), &status))
	return slices.DeleteFunc(status.Problems, func(p problemShown) bool {
		return p.Code == "storeSlow" || p.Code == "jobsOverdue" || p.Code == "eventsWaiting"
	})
}
