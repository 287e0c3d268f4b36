package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"portico/test/harness"
)

// A store is restored while a region is away: nothing can be created in any region, and
// everything that an operator looks at says so, until the region was listed.
func TestRestoreWithoutARegion(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Subscriptions: first(false), Extra: "index: {pollFloor: 50ms}\n"}})
	p := w.Portico
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"old", body("eastus"))
	saved := filepath.Join(t.TempDir(), "saved.db")
	runCommand(t, p, 0, "backup", saved)
	p.Stop(t)
	runCommand(t, p, 0, "restore", saved)
	w.Contoso("eastus").Kill(t)
	p.Restart(t)
	e := preexistingWorld{w, map[string]*harness.Contoso{"eastus": w.Contoso("eastus")}}
	step(t, "a row of the copy", func(t *testing.T) {
		wantEastUSNamed(t, p.Do(t, harness.Request{
			Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"old") + "?api-version=" + harness.Version, Body: body("eastus"),
		}).WantError(t, 409, "Conflict"))
	})
	e.wantToldOfEastUS(t, 503, "since the restore")
	step(t, "the progress is what it is", e.wantProgress)
	w.Contoso("eastus").Restart(t)
	e.recovers(t)
}

// The same of a subscription that is taken over, until its first sweep.
func TestTakeOverWithoutARegion(t *testing.T) {
	t.Parallel()
	e := newFirst(t, "", func(eastus *harness.Contoso) { eastus.Kill(t) })
	e.wantToldOfEastUS(t, 503, "yet")
	step(t, "the progress is what it is", e.wantProgress)
	e.contosos["eastus"].Restart(t)
	e.recovers(t)
}

// What a search hears of a region counts while the sweep still waits for it to answer.
func TestTakeOverWithARegionThatHangs(t *testing.T) {
	t.Parallel()
	e := newFirst(t, "upstream: {callTimeout: 1h}\n", func(eastus *harness.Contoso) {
		eastus.Do(t, harness.Request{Method: http.MethodPost, Path: "/contoso/faults", Body: `{"pathContains":"/providers/","fault":"stall","count":-1}`}).Want(t, 201)
	})
	soon(t, "the regions that are asked are told of", func() bool { return problems(t, e.Portico)["regionsUnlisted"].Severity == "warning" })
	if _, held := problems(t, e.Portico)["creationsHeld"]; held {
		t.Error("creations are said to be held before that is known")
	}
	e.wantToldOfEastUS(t, 504, "yet")
	e.contosos["eastus"].Kill(t)
	e.contosos["eastus"].Restart(t)
	e.recovers(t)
}

// newFirst is a service that takes a subscription over, with regions in front of which
// something has happened to eastus.
func newFirst(t *testing.T, settings string, spoil func(eastus *harness.Contoso)) preexistingWorld {
	t.Helper()
	e := preexistingWorld{contosos: map[string]*harness.Contoso{}}
	endpoints := map[string]string{}
	for _, region := range append(harness.RegionNames(), "global") {
		e.contosos[region] = harness.StartContoso(t, region, harness.ContosoOptions{})
		endpoints[region] = e.contosos[region].URL
	}
	spoil(e.contosos["eastus"])
	e.World = harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: endpoints, Subscriptions: first(true), Extra: settings + "index: {pollFloor: 50ms}\n",
	}})
	e.PutGroup(t, "rg")
	return e
}

// first is a subscription with a name.
func first(uncovered bool) []harness.Subscription {
	return []harness.Subscription{{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "First", State: "Enabled", Uncovered: uncovered}}
}

func (e preexistingWorld) put(t *testing.T, name string) harness.Answer {
	t.Helper()
	return e.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: e.ResourcePath("rg", machines+name) + "?api-version=" + harness.Version, Body: body("westus"),
	})
}

// wantEastUSNamed asserts that an error says which region did not answer.
func wantEastUSNamed(t *testing.T, a harness.Answer) {
	t.Helper()
	var fault struct {
		Error struct {
			Message string
			Details []struct{ Code, Message, Target string }
		}
	}
	harness.OK(t, json.Unmarshal(a.Body, &fault))
	if e := fault.Error; !strings.Contains(e.Message, "'eastus'") || len(e.Details) == 0 || e.Details[0].Target != "eastus" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%v %s", a.Header, a.Body)
	}
}

// wantToldOfEastUS asserts that all that operators look at says that eastus holds up what
// is created elsewhere, and since when.
func (e preexistingWorld) wantToldOfEastUS(t *testing.T, status int, since string) {
	t.Helper()
	p := e.Portico
	refused := e.put(t, "new").Want(t, status)
	step(t, "each call that asks names the region, and so does the list of errors", func(t *testing.T) {
		of := map[any]string{}
		for what, a := range map[string]harness.Answer{
			"PUT":    refused,
			"GET":    p.Do(t, harness.Request{Path: e.ResourcePath("rg", machines+"new") + "?api-version=" + harness.Version}).Want(t, status),
			"DELETE": p.Do(t, harness.Request{Method: http.MethodDelete, Path: e.ResourcePath("rg", machines+"new") + "?api-version=" + harness.Version}).Want(t, status),
		} {
			wantEastUSNamed(t, a)
			of[a.Header.Get("x-ms-correlation-request-id")] = what
		}
		for _, a := range p.Admin(t, harness.Request{Path: "/admin/errors?each=true"}).Want(t, 200).Values(t) {
			what := of[a["correlationId"]]
			if delete(of, a["correlationId"]); what != "" && a["region"] != "eastus" {
				t.Errorf("%s: %v", what, a)
			}
		}
		if len(of) > 0 {
			t.Errorf("the list lacks %v", of)
		}
	})
	step(t, "the status begins with it, or with its cause", func(t *testing.T) {
		said := regexp.MustCompile(`^New resources in First cannot be created: eastus has not been listed ` + since + `, \d+ (s|min)\.$`)
		soon(t, "it is a problem", func() bool {
			found := problems(t, p)["creationsHeld"]
			return found.Severity == "critical" && found.Since != "" && said.MatchString(found.Summary)
		})
		text, _ := runCommand(t, p, 1, "status")
		cause := ""
		if down := problems(t, p)["regionDown"]; down.Subject != "" {
			cause = "critical  " + down.Summary
		}
		if !strings.HasPrefix(text, "critical  New resources in First cannot be created") && (cause == "" || !strings.HasPrefix(text, cause) || !strings.Contains(text, "\ncritical  New resources in First cannot")) || !strings.Contains(text, "portico doubts") {
			t.Errorf("it says\n%s", text)
		}
	})
	step(t, "nor is the index called sure", func(t *testing.T) {
		if found := e.unlisted(t); found["eastus"] == "" {
			t.Errorf("%v", found)
		}
		if text, _ := runCommand(t, p, 0, "doubts"); !strings.Contains(text, "eastus") || !strings.Contains(text, "regionUnlisted") {
			t.Errorf("it says\n%s", text)
		}
	})
	soon(t, "the metrics count it", func() bool {
		text := p.Metrics(t)
		return strings.Contains(text, `portico_index_creations_held_subscriptions{region="eastus"} 1`) &&
			strings.Contains(text, `portico_index_creations_held_subscriptions{region="westus"} 0`) &&
			strings.Contains(text, `portico_index_unlisted_subscriptions{region="eastus"} 1`)
	})
}

// unlisted are the regions of which the index does not know what they hold, with what came
// of their last list.
func (e preexistingWorld) unlisted(t *testing.T) map[string]string {
	t.Helper()
	var page struct {
		Value []struct {
			ID, Region string
			Why        []struct{ Reason, Message, LastOutcome string }
		}
	}
	harness.OK(t, json.Unmarshal(e.Portico.Admin(t, harness.Request{Path: "/admin/doubts"}).Want(t, 200).Body, &page))
	found := map[string]string{}
	for _, d := range page.Value {
		if d.ID == e.SubscriptionPath() && d.Why[0].Reason == "regionUnlisted" {
			found[d.Region] = d.Why[0].Message + " " + d.Why[0].LastOutcome
		}
	}
	return found
}

// wantProgress asserts that a sweep whose region is away is not shown as one that is done.
func (e preexistingWorld) wantProgress(t *testing.T) {
	type job struct {
		ID, Subscription, State, Due, Owner, Outcome string
		WaitingFor                                   []string
		Steps                                        struct{ Done, Of int }
	}
	var waits job
	soon(t, "the sweep waits for the region", func() bool {
		var page struct{ Value []job }
		harness.OK(t, json.Unmarshal(e.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=sweep"}).Want(t, 200).Body, &page))
		for _, j := range page.Value {
			if j.Subscription != "" && len(j.WaitingFor) > 0 && j.Owner == "" {
				waits = j
				return true
			}
		}
		return false
	})
	if s := waits.Steps; s.Done == 0 || s.Done >= s.Of || waits.WaitingFor[0] != "eastus" || waits.Due == "" || !strings.Contains(waits.Outcome, "eastus") {
		t.Errorf("%+v", waits)
	}
	if text, _ := runCommand(t, e.Portico, 0, "jobs", "show", waits.ID); !strings.Contains(text, "waits for     eastus") {
		t.Errorf("it says\n%s", text)
	}
}

// recovers asserts that nothing is told of a region any more that is back and was listed.
func (e preexistingWorld) recovers(t *testing.T) {
	t.Helper()
	soon(t, "the problem has gone by itself", func() bool {
		found := problems(t, e.Portico)
		_, held := found["creationsHeld"]
		_, asked := found["regionsUnlisted"]
		return !held && !asked
	})
	// Types below another one are listed last, and no creation waits for them.
	soon(t, "no region is unlisted", func() bool { return len(e.unlisted(t)) == 0 })
	if text, _ := runCommand(t, e.Portico, 0, "doubts"); !strings.Contains(text, "All resources are verified") {
		t.Errorf("it says\n%s", text)
	}
	soon(t, "the metrics count nothing", func() bool {
		text := e.Portico.Metrics(t)
		return strings.Contains(text, `portico_index_creations_held_subscriptions{region="eastus"} 0`) &&
			strings.Contains(text, `portico_index_unlisted_subscriptions{region="eastus"} 0`)
	})
	e.put(t, "new").Want(t, 201)
	e.waitForStartSweeps(t)
}

type problem struct{ Severity, Code, Summary, Subject, Since, Next string }

// problems are what portico status says is wrong, by code.
func problems(t *testing.T, p *harness.Portico) map[string]problem {
	t.Helper()
	var status struct{ Problems []problem }
	text := p.Admin(t, harness.Request{Path: "/admin/status"}).Want(t, 200).Body
	harness.OK(t, json.Unmarshal(text, &status))
	all := map[string]problem{}
	for _, found := range status.Problems {
		all[found.Code] = found
	}
	return all
}
