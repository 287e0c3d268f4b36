package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// retired is what the retiring of a region answers.
type retired struct {
	Region                                                                       string
	DryRun                                                                       bool
	Rows, Intents, WrittenRegions, Coverage, Notices, Strays, Operations, Moving int
	Groups                                                                       struct {
		Count int
		IDs   []string
	}
}

func (r retired) empty() bool {
	return r.Rows+r.Intents+r.WrittenRegions+r.Coverage+r.Notices+r.Strays+r.Operations+r.Moving+r.Groups.Count == 0
}

func retire(t *testing.T, p *harness.Portico, region, content string) harness.Answer {
	t.Helper()
	return p.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/regions/" + region + "/retire", Body: content})
}

func retires(t *testing.T, p *harness.Portico, region, content string) (r retired) {
	t.Helper()
	harness.OK(t, json.Unmarshal(retire(t, p, region, content).Want(t, 200).Body, &r))
	return r
}

// retireCommand runs `portico retire` and returns what it says.
func retireCommand(t *testing.T, exit int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := harness.Start(t, "portico retire", t.TempDir(), harness.Build(t).Portico, append([]string{"retire"}, args...)...)
	if code := p.ExitCode(t); code != exit {
		t.Fatalf("exit code %d, want %d\n%s%s", code, exit, p.Stdout(), p.Stderr())
	}
	return p.Stdout(), p.Stderr()
}

// A region is gone for good: what the index has of it holds up a group's delete,
// which says so and names the way out, until an operator retires the region.
func TestRegionIsRetired(t *testing.T) {
	t.Parallel()
	const gone = "southindia"
	south := harness.StartContoso(t, gone, harness.ContosoOptions{})
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Server: unwatched, Regions: []string{gone}, Endpoints: map[string]string{gone: south.URL},
		Extra: strings.Replace(deletionSettings, "index: {", "index: {endpointAbsence: 1s, ", 1),
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Demo", State: "Enabled", Uncovered: true},
		},
	}})
	p := w.Portico
	fill(t, w, "rg", map[string]string{machines + "south-1": gone, machines + "south-2": gone, machines + "west": "westus"})
	fill(t, w, "kept", map[string]string{machines + "south-3": gone, machines + "east": "eastus"})
	w.PutResource(t, "rg", machines+"south-1/disks/d", `{"properties":{"sizeGB":1}}`)
	w.PutGroup(t, "emptied")
	create(t, p, w.ResourcePath("emptied", machines+"brief"), gone)
	p.Do(t, harness.Request{Method: http.MethodDelete, Path: w.ResourcePath("emptied", machines+"brief") + "?api-version=" + harness.Version}).Want(t, 200)
	south.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"west") + "?api-version=" + harness.Version, Body: body(gone)}).Want(t, 201)
	preexistingWorld{w, nil}.sweep(t, 0)
	strays := func() int { return int(p.Metric(t, "portico_index_strays")) }
	soon(t, "there is a stray", func() bool { return strays() == 1 })

	all := retire(t, p, gone, `{}`).WantError(t, 409, "Conflict")
	if !strings.Contains(string(all.Body), "'"+gone+"'") {
		t.Errorf("the refusal does not name the region: %s", all.Body)
	}
	if inUse := retire(t, p, gone, `{"dryRun":true}`).Want(t, 200); !strings.Contains(string(inUse.Body), `"inMap":true,"rows":4`) {
		t.Errorf("a dry run before the region goes from the map: %s", inUse.Body)
	}
	config := w.Config
	config.Regions, config.Endpoints = nil, maps.Clone(config.Endpoints)
	delete(config.Endpoints, gone)
	p.Write(t, p.Text(t, config))
	reload(t, p).Want(t, 200)
	w.Config = config

	deletions := map[string]deletion{}
	for _, group := range []string{"rg", "emptied"} {
		d := beginDelete(t, w, p, group)
		deletions[group] = d
		soon(t, group+" waits for the region, and says how it can go on", func() bool {
			now := d.progress(t, p)
			return now.Status == "Deleting" && slices.Contains(now.WaitingFor, gone) && strings.Contains(now.Message, "'"+gone+"'") &&
				strings.Contains(now.Message, "portico retire "+gone)
		})
	}
	if a := p.Do(t, harness.Request{Path: deletions["rg"].result}); a.Status != http.StatusAccepted {
		t.Errorf("the delete has ended: %d %s", a.Status, a.Body)
	}

	dry := retires(t, p, gone, `{"dryRun":true}`)
	if dry.Rows != 4 || dry.Strays != 1 || dry.WrittenRegions < 4 || dry.Coverage < 1 || dry.Moving != 0 || dry.Groups.Count != 2 ||
		!slices.Equal(dry.Groups.IDs, []string{w.GroupPath("emptied"), w.GroupPath("rg")}) || !dry.DryRun || dry.Region != gone {
		t.Errorf("the dry run says %+v", dry)
	}
	text, _ := retireCommand(t, 0, "SouthIndia", "--dry-run", "--admin", p.AdminURL)
	for _, line := range []string{"4 rows", "1 stray", "2 groups", w.GroupPath("rg")} {
		if !strings.Contains(text, line) {
			t.Errorf("the command does not say %q:\n%s", line, text)
		}
	}
	if again := retires(t, p, gone, `{"dryRun":true}`); fmt.Sprint(again) != fmt.Sprint(dry) {
		t.Errorf("a dry run has changed something: %+v, before %+v", again, dry)
	}

	text, _ = retireCommand(t, 0, gone, "--config", p.ConfigFile)
	for _, line := range []string{"4 rows", "1 stray", "2 groups"} {
		if !strings.Contains(text, line) {
			t.Errorf("the command does not say %q:\n%s", line, text)
		}
	}
	for _, group := range []string{"rg", "emptied"} {
		if a := deletions[group].end(t, p); a.Status != 200 {
			t.Errorf("%s: %d %s", group, a.Status, a.Body)
		}
		if left := remainingResources(t, w, group); len(left) > 0 {
			t.Errorf("left in %s: %v", group, left)
		}
	}
	p.Do(t, harness.Request{Path: w.ResourcePath("kept", machines+"south-3") + "?api-version=" + harness.Version}).WantError(t, 404, "ResourceNotFound")
	p.Do(t, harness.Request{Path: w.ResourcePath("kept", machines+"east") + "?api-version=" + harness.Version}).Want(t, 200)
	list := p.Do(t, harness.Request{Path: w.GroupPath("kept") + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version}).Want(t, 200)
	if n := len(list.Values(t)); n != 1 {
		t.Errorf("the list shows %d machines", n)
	}
	create(t, p, w.ResourcePath("kept", machines+"south-3"), "westus")
	soon(t, "the stray is forgotten", func() bool { return strays() == 0 })
	if again := retires(t, p, gone, ``); !again.empty() {
		t.Errorf("a second time there is %+v", again)
	}
	if held := len(south.Resources(t)); held != 5 {
		t.Errorf("the region holds %d resources: somebody called it", held)
	}

	for region, status := range map[string]int{"westus": 409, "global": 409, "nowhere": 200, "West%20US": 409, "no..where": 400, strings.Repeat("a", 200): 400} {
		retire(t, p, region, `{}`).Want(t, status)
	}
	retire(t, p, "westus", `{"dryRun":true}`).Want(t, 200) // as it changes nothing
	if _, says := retireCommand(t, 1, "westus", "--admin", p.AdminURL); !strings.Contains(says, "'westus'") {
		t.Errorf("the command says %q", says)
	}
	retireCommand(t, 1, gone)
	lines := 0
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, `"logger":"audit"`) && strings.Contains(line, `"msg":"region retired"`) && strings.Contains(line, `"region":"`+gone+`"`) && strings.Contains(line, `"rows":4`) {
			lines++
		}
	}
	if lines != 1 {
		t.Errorf("%d lines of the audit tell that the region was retired", lines)
	}
}
