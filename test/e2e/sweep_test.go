package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// preexistingWorld is a world whose providers held resources before Portico.
type preexistingWorld struct {
	*harness.World
	contosos map[string]*harness.Contoso
}

const machines = "Contoso.Compute/virtualMachines/"

// settled is the longest that a test waits for work in the background.
const settled = 3 * time.Minute

// newPreexistingWorld fills the regions and then starts Portico in front of them.
func newPreexistingWorld(t *testing.T, fill map[string][]string) preexistingWorld {
	t.Helper()
	e := preexistingWorld{&harness.World{SubscriptionID: harness.SubscriptionID}, map[string]*harness.Contoso{}}
	endpoints := map[string]string{}
	for _, region := range append(harness.RegionNames(), "global") {
		e.contosos[region] = harness.StartContoso(t, region, harness.ContosoOptions{})
		endpoints[region] = e.contosos[region].URL
		for _, name := range fill[region] {
			e.create(t, region, name)
		}
	}
	e.World = harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: endpoints,
		Subscriptions: []harness.Subscription{{
			ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Estate", State: "Enabled", Uncovered: true,
		}},
	}})
	return e
}

// create creates a resource at its provider without Portico, remove deletes it.
func (e preexistingWorld) create(t *testing.T, region, name string) {
	t.Helper()
	content := body(region)
	if strings.Contains(name, "/disks/") {
		content = `{"properties":{"sizeGB":1}}`
	}
	e.callProvider(t, region, http.MethodPut, name, content).Want(t, 201)
}

func (e preexistingWorld) remove(t *testing.T, region, name string) {
	t.Helper()
	e.callProvider(t, region, http.MethodDelete, name, "").Want(t, 200)
}

func (e preexistingWorld) callProvider(t *testing.T, region, method, name, body string) harness.Answer {
	t.Helper()
	return e.contosos[region].Do(t, harness.Request{Method: method, Path: e.path(name), Body: body})
}

func (e preexistingWorld) path(name string) string {
	return e.ResourcePath("Rg-Estate", name) + "?api-version=" + harness.Version
}

// index is what Portico shows of all resources, "name@location", sorted.
func (e preexistingWorld) index(t *testing.T) (all []string) {
	t.Helper()
	list := e.Portico.Do(t, harness.Request{Path: e.SubscriptionPath() + "/resources?api-version=2021-04-01"}).Want(t, 200)
	for _, r := range list.Values(t) {
		id, _ := r["id"].(string)
		all = append(all, fmt.Sprintf("%s@%v", id[strings.LastIndex(id, "/providers/")+len("/providers/"):], r["location"]))
	}
	slices.Sort(all)
	return all
}

func (e preexistingWorld) wantIndex(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := e.index(t); !slices.Equal(got, want) {
		t.Fatalf("the index shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// report is what `portico sweep -o json` prints.
type report struct {
	DryRun           bool
	Done, Of         int
	MissingRows      finding
	MissingResources finding
	Strays           finding
	UnknownGroups    finding
	ChangedTags      finding
	Usage            finding
	FailureCount     int
	Failures         []struct{ Region, Reason string }
}

type finding struct {
	Count int
	IDs   []string
}

// sweep runs the command and returns its report.
func (e preexistingWorld) sweep(t *testing.T, exit int, args ...string) (r report) {
	t.Helper()
	p := e.run(t, exit, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(p.Stdout()), &r); err != nil {
		t.Fatalf("%v:\n%s%s", err, p.Stdout(), p.Stderr())
	}
	return r
}

func (e preexistingWorld) run(t *testing.T, exit int, args ...string) *harness.Process {
	t.Helper()
	args = append([]string{"sweep", "--config", e.Portico.ConfigFile, "--timeout", "60s"}, args...)
	p := harness.Start(t, "portico sweep", t.TempDir(), harness.Build(t).Portico, args...)
	if code := p.ExitCode(t); code != exit {
		t.Fatalf("exit code %d, want %d\n%s%s", code, exit, p.Stdout(), p.Stderr())
	}
	return p
}

// finds asserts the counts of a report: missing rows and resources, strays,
// unknown groups, miscounts.
func (r report) finds(t *testing.T, want ...int) {
	t.Helper()
	got := []int{r.MissingRows.Count, r.MissingResources.Count, r.Strays.Count, r.UnknownGroups.Count, r.Usage.Count}
	if !slices.Equal(got, want) || r.Done != r.Of || r.Of == 0 {
		t.Fatalf("found %v, want %v: %+v", got, want, r)
	}
}

// Portico is put before regions that have been in use without it.
func TestSweepOfPreexistingResources(t *testing.T) {
	t.Parallel()
	whole := t // what is started in a step must outlive it
	e := newPreexistingWorld(t, map[string][]string{
		"westus":      {machines + "West-1", machines + "west-2"},
		"eastus":      {machines + "Old-East", machines + "Old-East/disks/Data"},
		"northeurope": {machines + "north"},
	})
	step(t, "routed right at once", func(t *testing.T) {
		e.PutGroup(t, "rg-estate")
		for name, region := range map[string]string{"old-EAST": "eastus", "west-1": "westus", "NORTH": "northeurope"} {
			got := e.Portico.Do(t, harness.Request{Path: e.path(machines + name)}).Want(t, 200).JSON(t)
			if got["location"] != region {
				t.Errorf("%s came from %v", name, got["location"])
			}
		}
		e.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: e.path(machines + "west-2"), Body: body("eastus")}).
			WantError(t, 409, "InvalidResourceLocation")
		e.Portico.Do(t, harness.Request{Path: e.path(machines + "never-was")}).WantError(t, 404, "ResourceNotFound")
		list := e.Portico.Do(t, harness.Request{Path: e.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version}).Want(t, 200)
		if n := len(list.Values(t)); n != 4 {
			t.Errorf("the list shows %d machines", n)
		}
	})
	var all []string
	step(t, "adopted by a sweep", func(t *testing.T) {
		e.sweep(t, 0)
		e.waitForStartSweeps(t)
		all = []string{
			machines + "Old-East@eastus", machines + "Old-East/disks/Data@eastus", machines + "West-1@westus",
			machines + "west-2@westus", machines + "north@northeurope",
		}
		e.wantIndex(t, all...)
		e.sweep(t, 0, "--subscription", strings.ToUpper(harness.SubscriptionID)).finds(t, 0, 0, 0, 0, 0)
	})
	step(t, "drift is reported, and mended", func(t *testing.T) {
		e.create(t, "northeurope", machines+"Drift")
		e.remove(t, "westus", machines+"west-2")
		e.create(t, "eastus", machines+"north")
		dry := e.sweep(t, 0, "--dry-run")
		dry.finds(t, 1, 1, 1, 0, 0)
		if id := e.ResourcePath("Rg-Estate", machines+"Drift"); !dry.DryRun || dry.MissingRows.IDs[0] != id {
			t.Errorf("%+v, want %s", dry, id)
		}
		e.wantIndex(t, all...)
		text := e.run(t, 0).Stdout()
		for _, line := range []string{
			"1 resources that the index did not have, adopted", "  " + e.ResourcePath("Rg-Estate", machines+"Drift"),
			"1 rows whose resource is gone, removed", "1 resources in a second region", "0 failures",
		} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("no line %q in\n%s", line, text)
			}
		}
		all = append(slices.DeleteFunc(all, func(s string) bool { return s == machines+"west-2@westus" }), machines+"Drift@northeurope")
		e.wantIndex(t, all...)
		e.Portico.Do(t, harness.Request{Path: e.path(machines + "west-2")}).WantError(t, 404, "ResourceNotFound")
		e.remove(t, "eastus", machines+"north")
	})
	step(t, "told by the metrics", func(t *testing.T) {
		for end := time.Now().Add(settled); ; time.Sleep(50 * time.Millisecond) {
			text := e.Portico.Metrics(t)
			if strings.Contains(text, `portico_index_drift{kind="stray"} 1`) && strings.Contains(text, "portico_index_strays 1") {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the metrics do not tell:\n%s", text)
			}
		}
	})
	step(t, "a region that is down", func(t *testing.T) {
		e.contosos["eastus"].Kill(t)
		r := e.sweep(t, 1)
		if r.FailureCount == 0 || r.Failures[0].Region != "eastus" || r.MissingResources.Count != 0 {
			t.Errorf("%+v", r)
		}
		e.wantIndex(t, all...)
		e.contosos["eastus"].Restart(whole)
	})
	step(t, "without a running service", func(t *testing.T) {
		e.Portico.Stop(t)
		e.create(t, "westus", machines+"while-away")
		e.remove(t, "northeurope", machines+"Drift")
		e.sweep(t, 0, "--dry-run").finds(t, 1, 1, 0, 0, 0)
		e.sweep(t, 0).finds(t, 1, 1, 0, 0, 0)
		e.run(t, 1, "--subscription", "00000000-0000-0000-0000-00000000dead")
		e.Portico.Restart(whole)
		e.wantIndex(t, append(slices.DeleteFunc(all, func(s string) bool { return strings.HasSuffix(s, "northeurope") && strings.Contains(s, "Drift") }),
			machines+"while-away@westus")...)
	})
	step(t, "an order that cannot be", func(t *testing.T) {
		e.run(t, 1, "--subscription", "00000000-0000-0000-0000-00000000dead")
		e.run(t, 1, "--subscription", "none")
	})
}

// step is one of several that build on each other.
func step(t *testing.T, name string, run func(*testing.T)) {
	t.Helper()
	if !t.Run(name, run) {
		t.FailNow()
	}
}

// waitForStartSweeps waits for the end of the sweeps at the start.
func (e preexistingWorld) waitForStartSweeps(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(settled); ; time.Sleep(50 * time.Millisecond) {
		jobs := e.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=sweep"}).Want(t, 200).Values(t)
		if !slices.ContainsFunc(jobs, func(j map[string]any) bool { return j["subscription"] != nil && j["state"] == "Waiting" }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v", jobs)
		}
	}
}

// A sweep at the start indexes the resources of a subscription, as soon as its
// groups are known.
func TestPreexistingResourcesAreSweptAtTheStart(t *testing.T) {
	t.Parallel()
	e := newPreexistingWorld(t, nil)
	e.PutGroup(t, "rg-estate")
	e.Portico.Stop(t)
	e.create(t, "eastus", machines+"Old-East")
	e.create(t, "global", "Contoso.Insight/profiles/P")
	e.Portico.Restart(t)
	for end := time.Now().Add(settled); len(e.index(t)) < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the index shows %q", e.index(t))
		}
	}
	e.wantIndex(t, machines+"Old-East@eastus", "Contoso.Insight/profiles/P@global")
}
