package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// A PATCH that no one heard the end of is asked for until the index shows what
// became of it: the casing and the tags that the provider has.
func TestPatchWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fault string
		killed      bool // the gateway is, once the provider has taken the PATCH
	}{
		{"which lands late", "late=1s", false},
		{"as its gateway dies", "slow=1m", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := replicaSettings
			if c.killed { // it has to be before its call has taken too long
				settings = strings.Replace(settings, "callTimeout: 2s", "callTimeout: 6s", 1)
			}
			w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: settings}})
			w.PutGroup(t, "rg")
			first := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
			create(t, w.Portico, first, "westus")
			id := strings.Replace(first, "/vm", "/VM", 1)
			taken := func() bool { return slices.Contains(w.Contoso("westus").IDs(t), id) }
			patch := harness.Request{
				Method: http.MethodPatch, Path: id + "?api-version=" + harness.Version, Body: `{"tags":{"stage":"late"}}`,
				Header: harness.Header("X-Contoso-Fault", c.fault),
			}
			if c.killed {
				ctx, leave := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := w.Portico.Try(ctx, patch)
					ended <- err
				}()
				soon(t, "the provider takes the PATCH", taken)
				w.Portico.Kill(t)
				leave()
				if err := <-ended; err == nil {
					t.Error("the PATCH was answered")
				}
				w.Portico.Restart(t)
			} else {
				w.Portico.Do(t, patch).WantError(t, 502, "BadGatewayConnection")
				soon(t, "the provider takes the PATCH", taken)
			}
			list := w.GroupPath("rg") + "/resources?api-version=2021-04-01"
			soon(t, "the index shows what the PATCH made", func() bool {
				all := w.Portico.Do(t, harness.Request{Path: list}).Want(t, 200).Values(t)
				if len(all) != 1 {
					t.Fatalf("%v", all)
				}
				tags, _ := all[0]["tags"].(map[string]any)
				return all[0]["id"] == id && tags["stage"] == "late"
			})
		})
	}
}

// pollsMisbehave has a region answer polls with texts that say nothing, each once.
func pollsMisbehave(t *testing.T, region *harness.Contoso, of string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		region.Do(t, harness.Request{
			Method: http.MethodPost, Path: "/contoso/faults", Body: fmt.Sprintf(`{"method":"GET","pathContains":%q,"fault":"unreadable=%s","count":1}`, of, text),
		}).Want(t, 201)
	}
}

// What an accepted PATCH makes is in the index soon after its end, whoever polls it, and
// although its resource shows nothing of it before. What somebody has changed behind
// Portico's back is there after a sweep.
func TestTagsThatNoOneAsksFor(t *testing.T) {
	t.Parallel()
	e := newPreexistingWorld(t, nil)
	e.waitForStartSweeps(t)
	e.PutGroup(t, "Rg-Estate")
	at := e.ResourcePath("Rg-Estate", machines+"vm")
	create(t, e.Portico, at, "westus")
	shows := func(stage string) func() bool {
		return func() bool {
			list := e.SubscriptionPath() + "/resources?api-version=2021-04-01&$filter=tagName%20eq%20'stage'%20and%20tagValue%20eq%20'" + stage + "'"
			return len(e.Portico.Do(t, harness.Request{Path: list}).Want(t, 200).Values(t)) == 1
		}
	}
	for _, c := range []struct{ name, path, body, stage, async string }{
		{"an accepted PATCH", at + "?api-version=" + harness.Version, `{"tags":{"stage":"one"}}`, "one", "location"},
		{"accepted tags", at + "/providers/Microsoft.Resources/tags/default?api-version=2021-04-01", `{"operation":"Replace","properties":{"tags":{"stage":"two"}}}`, "two", "azure-async"},
		{"a PATCH whose polls say nothing", at + "?api-version=" + harness.Version, `{"tags":{"stage":"unread"}}`, "unread", "azure-async-only"},
		{"a PATCH without a polling URL", at + "?api-version=" + harness.Version, `{"tags":{"stage":"other"}}`, "other", "no-url"},
	} {
		step(t, c.name, func(t *testing.T) {
			if c.stage == "unread" {
				pollsMisbehave(t, e.contosos["westus"], "operationStatuses", "page", "empty", "object", "half")
			}
			e.Portico.Do(t, harness.Request{
				Method: http.MethodPatch, Path: c.path, Body: c.body,
				Header: harness.Header("X-Contoso-Async", c.async, "X-Contoso-Duration", "4s", "X-Contoso-Fault", "unshown"),
			}).Want(t, 202)
			if c.async != "no-url" && shows(c.stage)() {
				t.Error("the index shows what has not ended")
			}
			soon(t, "the index shows the tags", shows(c.stage))
		})
	}
	step(t, "behind Portico's back", func(t *testing.T) {
		soon(t, "the PATCH before to be known", func() bool {
			return len(e.Portico.Admin(t, harness.Request{Path: "/admin/doubts"}).Want(t, 200).Values(t)) == 0
		})
		stage := ""
		// A row whose PATCH is still followed is left alone by a sweep, and a GET that
		// follows or verifies it may read the change first: then another change is made.
		change := 0
		soon(t, "a rehearsed sweep to find a change that the index does not show", func() bool {
			change++
			stage = fmt.Sprintf("three-%d", change)
			e.callProvider(t, "westus", http.MethodPatch, machines+"vm", `{"tags":{"stage":"`+stage+`"}}`).Want(t, 200)
			return e.sweep(t, 0, "--dry-run").ChangedTags.Count == 1 && !shows(stage)()
		})
		if r := e.sweep(t, 0); r.ChangedTags.Count != 1 || !shows(stage)() {
			t.Errorf("%+v", r)
		}
		if r := e.sweep(t, 0); r.ChangedTags.Count != 0 {
			t.Errorf("%+v", r)
		}
	})
}
