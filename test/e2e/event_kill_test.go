package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// eventChange is a change of a resource of Portico's own.
type eventChange struct {
	harness.Request
	// created reports whether an answer to a GET of the path shows it.
	created func(harness.Answer) bool
}

func eventChanges(w *harness.World, round int) []eventChange {
	name := fmt.Sprint("g", round)
	there := func(a harness.Answer) bool { return a.Status == http.StatusOK }
	return []eventChange{
		{harness.Request{Method: http.MethodPut, Path: w.GroupPath(name) + ownVersion, Body: `{"location":"westus"}`}, there},
		{
			harness.Request{Method: http.MethodPatch, Path: w.GroupPath("rg") + ownVersion, Body: fmt.Sprintf(`{"tags":{"of":%q}}`, name)},
			func(a harness.Answer) bool { return strings.Contains(string(a.Body), fmt.Sprintf(`{"of":%q}`, name)) },
		},
		{harness.Request{
			Method: http.MethodPut, Path: w.GroupPath("rg") + "/providers/Microsoft.Authorization/locks/" + name + "?api-version=2020-05-01",
			Body: `{"properties":{"level":"CanNotDelete"}}`,
		}, there},
		{
			harness.Request{Method: http.MethodDelete, Path: w.GroupPath("rg") + "/providers/Microsoft.Authorization/locks/old-" + name + "?api-version=2020-05-01"},
			func(a harness.Answer) bool { return a.Status == http.StatusNotFound },
		},
	}
}

// Wherever a gateway is killed while it records a change: either both the change and its
// event are there, or neither.
func TestAKillLeavesAChangeAndItsEventOrNeither(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Failpoints: true, Extra: strings.NewReplacer("callTimeout: 30s", "callTimeout: 8s", "sendWithin: 30s", "sendWithin: 6s").Replace(patient(deletionSettings)),
	}})
	w.PutGroup(t, "rg")
	p := w.Portico
	struck := map[failpoint.Point]int{} // changes that were not made
	for round, at := range []failpoint.Point{failpoint.EventRecordBefore, failpoint.EventRecordAfter, failpoint.StoreCommitBefore, failpoint.StoreCommitAfter} {
		p.Do(t, harness.Request{
			Method: http.MethodPut, Path: w.GroupPath("rg") + fmt.Sprintf("/providers/Microsoft.Authorization/locks/old-g%d?api-version=2020-05-01", round),
			Body: `{"properties":{"level":"CanNotDelete"}}`,
		}).Want(t, 201)
		for _, c := range eventChanges(w, round) {
			id := uuid.NewString()
			c.Header = harness.Header("x-ms-correlation-request-id", id)
			dieDuring(t, p, at, c.Request)
			path, _, _ := strings.Cut(c.Path, "?")
			created := c.created(p.Do(t, harness.Request{Path: c.Path}))
			if reported := len(reportedEvents(t, w, path, id)) > 0; reported != created {
				t.Errorf("%s, %s %s: made: %v, an event of it: %v", at, c.Method, path, created, reported)
			}
			if !created {
				struck[at]++
			}
		}
		machine := w.ResourcePath("rg", fmt.Sprint("Contoso.Compute/virtualMachines/m", round))
		dieDuring(t, p, at, harness.Request{Method: http.MethodPut, Path: machine + "?api-version=" + harness.Version, Body: body("westus")})
	}
	if struck[failpoint.EventRecordBefore] == 0 || struck[failpoint.EventRecordAfter] == 0 {
		t.Errorf("no transaction was struck that changes something: %v", struck)
	}
	wrong := ""
	defer func() { t.Log(wrong) }()
	soon(t, "index, events and provider agree on the machines", func() bool {
		wrong = machinesUntold(t, w)
		return wrong == ""
	})
}

// machinesUntold says of which machines index, events and provider differ.
func machinesUntold(t *testing.T, w *harness.World) (wrong string) {
	t.Helper()
	listed := map[string]bool{}
	for _, r := range w.Portico.Do(t, harness.Request{Path: w.GroupPath("rg") + "/resources" + ownVersion}).Want(t, 200).Values(t) {
		listed[r["id"].(string)] = true
	}
	for round := range 4 {
		id := w.ResourcePath("rg", fmt.Sprint("Contoso.Compute/virtualMachines/m", round))
		reported, held := len(reportedEvents(t, w, id, "")) > 0, w.Contoso("westus").Holds(t, id)
		if reported != listed[id] || reported != held {
			wrong += fmt.Sprintf("%s: listed: %v, the provider holds it: %v, an event says that it was made: %v\n", id, listed[id], held, reported)
		}
	}
	return wrong
}

// dieDuring kills a gateway at a point of a change, and starts it again.
func dieDuring(t *testing.T, p *harness.Portico, at failpoint.Point, r harness.Request) {
	t.Helper()
	p.SetPoint(t, at, "kill,once")
	_, err := p.Try(context.WithoutCancel(t.Context()), r) // it may be killed before, by what it does by itself
	if err == nil && !p.EndsWithin(10*time.Second) {
		t.Fatalf("%s: %s %s does not come to it", at, r.Method, r.Path)
	}
	if !p.EndsWithin(10 * time.Second) {
		t.Fatalf("%s: %v", at, err)
	}
	p.Restart(t)
}

// Wherever a gateway is killed, a deployment and what is nested in it have begun and ended once
// each, says the feed.
func TestAKilledDeploymentHasItsEventsOnce(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, Extra: batchSettings}})
	w.PutGroup(t, "rg")
	w.PutGroup(t, "other")
	for i, c := range []struct {
		at   failpoint.Point
		rule string
	}{
		{failpoint.DeploySettleBefore, "kill,once"}, {failpoint.DeploySettleBefore, "kill,once,after=1"}, {failpoint.DeploySettleBefore, "kill,once,after=4"},
		{failpoint.DeploySettleBefore, "kill,once,after=5"}, {failpoint.DeploySettleAfter, "kill,once,after=1"}, {failpoint.DeployEndBefore, "kill,once"}, {failpoint.DeployEndAfter, "kill,once"},
	} {
		name := fmt.Sprint("d", i)
		w.Portico.SetPoint(t, c.at, c.rule)
		killDeployment(t, w, name, nestedMachines(t))
		w.Portico.Restart(t)
		end, d := endOf(t, w, name)
		for _, id := range []string{deploymentPath(w, name), deploymentPath(w, "other/inner")} {
			if said := eventStates(t, w, id, d.Properties.CorrelationID); end != "Succeeded" || !slices.Equal(said, []string{"Accepted", "Succeeded"}) {
				t.Errorf("%s, %s: it has %s, the events of %s are %v", c.at, c.rule, end, id, said)
			}
		}
	}
}

// reportedEvents lists the events that say that a resource was changed, by a correlation id or,
// where that is "", any.
func reportedEvents(t *testing.T, w *harness.World, id, correlation string) []fed {
	t.Helper()
	return slices.DeleteFunc(eventsOf(t, w, id, correlation), func(e fed) bool { return e.Data.Status != "Succeeded" })
}

// eventStates are the states of all events of a resource that have a correlation id.
func eventStates(t *testing.T, w *harness.World, id, correlation string) (all []string) {
	t.Helper()
	for _, e := range eventsOf(t, w, id, correlation) {
		all = append(all, e.Data.Status)
	}
	return all
}

func eventsOf(t *testing.T, w *harness.World, id, correlation string) (found []fed) {
	t.Helper()
	r := &feedReader{w: w}
	for before := -1; len(r.reported) > before; {
		before = len(r.reported)
		harness.OK(t, readPage(t.Context(), r, w.Portico.AdminURL))
	}
	for _, e := range r.reported {
		if strings.EqualFold(e.Subject, id) && (correlation == "" || e.Data.CorrelationID == correlation) {
			found = append(found, e)
		}
	}
	return found
}
