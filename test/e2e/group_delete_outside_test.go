package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// What operators and clients see of a delete while it runs and after: counts at
// the top level of its status, metrics, and a log with one correlation id, which
// all calls carry; and they can call it off.
func TestGroupDeleteSeenFromOutside(t *testing.T) {
	t.Parallel()
	const correlation = "00000000-0000-0000-0000-00000000feed"
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		// It is called off before the time of what fails is over, however long that takes.
		Extra: strings.Replace(deletionSettings, "transientBudget: 20s", "transientBudget: 3m", 1),
	}})
	p := w.Portico
	resources := map[string]string{}
	for i := range 9 {
		resources[fmt.Sprintf("Contoso.Compute/virtualMachines/vm-%d", i)] = harness.RegionNames()[i%3]
	}
	fill(t, w, "rg", resources)
	for _, region := range harness.RegionNames() {
		w.Contoso(region).ForgetRequests(t)
	}
	misbehave(t, w, "DELETE", "/vm-4", "status=423", -1)
	misbehave(t, w, "DELETE", "/vm-5", "status=503", -1)
	d := deletionOf(t, w, p.Do(t, harness.Request{
		Method: http.MethodDelete, Path: w.GroupPath("rg") + "?api-version=2021-04-01", Header: harness.Header("x-ms-correlation-request-id", correlation),
	}).Want(t, 202), "rg")
	soon(t, "only what cannot go is left", func() bool {
		now := d.progress(t, p)
		return now.Total == 9 && now.Deleted == 7 && now.Parked == 1 && now.Waiting+now.InFlight == 1 && now.Pass >= 1 &&
			slices.Equal(now.WaitingFor, []string{"northeurope"}) && now.Status == "Deleting" && now.PercentComplete > 77 && now.PercentComplete < 78
	})
	soon(t, "the metrics say so", func() bool {
		now := metricsOf(t, p)
		return strings.Contains(now, `portico_group_delete_calls_total{result="gone"} 7`) && strings.Contains(now, `portico_group_delete_calls_total{result="refused"}`)
	})
	var jobs struct {
		Value []struct{ ID, Kind, State string }
	}
	harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/jobs"}).Want(t, 200).Body, &jobs))
	cancelled := false
	for _, j := range jobs.Value {
		if j.Kind == "group-delete" {
			p.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/jobs/" + j.ID + "/cancel"}).Want(t, 202)
			cancelled = true
		}
	}
	if !cancelled {
		t.Fatalf("no such job: %+v", jobs)
	}
	d.end(t, p).WantError(t, 409, "OperationCanceled")
	if now := d.progress(t, p); now.Status != "Canceled" || now.Error.Code != "OperationCanceled" {
		t.Errorf("%+v", now)
	}
	if left := remainingResources(t, w, "rg"); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	// It is counted and logged once it is recorded.
	counted := func(end string) {
		t.Helper()
		soon(t, "the end is counted", func() bool { return metric(t, p, "portico_group_deletes_total", `end="`+end+`"`) == 1 })
	}
	counted("OperationCanceled")
	soon(t, "the log tells of the end", func() bool { return strings.Contains(p.Log(), `"msg":"group delete ended"`) })
	wantOneCorrelation(t, w, correlation)

	behave(t, w)
	beginDelete(t, w, p, "rg").gone(t, p)
	counted("Succeeded")
}

// wantOneCorrelation wants all that is logged of group deletes, and all calls
// that providers got for them, to carry one correlation id.
func wantOneCorrelation(t *testing.T, w *harness.World, correlation string) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(w.Portico.Log()) {
		if strings.Contains(line, `"msg":"group delete`) {
			lines++
			if !strings.Contains(line, `"correlationId":"`+correlation+`"`) {
				t.Errorf("%s", line)
			}
		}
	}
	if lines < 2 {
		t.Errorf("%d lines of the log tell of the delete", lines)
	}
	for _, region := range harness.RegionNames() {
		for _, r := range w.Contoso(region).Requests(t) {
			if r.Method == http.MethodDelete && strings.Contains(r.Path, "/vm-") && r.Headers.Get("X-Ms-Correlation-Request-Id") != correlation {
				t.Errorf("%s %s carries %v", r.Method, r.Path, r.Headers["X-Ms-Correlation-Request-Id"])
			}
		}
	}
}

// A number sign in a name is no fragment of anything: what has one goes as well,
// also when it has to be asked for, and holds others back by its ID.
func TestGroupDeleteOfNamesWithNumberSigns(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: deletionSettings}})
	fill(t, w, "rg", map[string]string{
		"Contoso.Compute/virtualMachines/a%231": "westus", "Contoso.Compute/virtualMachines/b%23": "eastus", "Contoso.Insight/profiles/%23": "global",
		"Contoso.Compute/virtualMachines/plain": "westus",
	})
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/b%23/disks/d%23d", `{"properties":{}}`)
	misbehave(t, w, "DELETE", "/a#1", "async=no-url", -1)
	misbehave(t, w, "DELETE", "/plain", "blocked-by="+w.ResourcePath("rg", "Contoso.Compute/virtualMachines/b#"), -1)
	beginDelete(t, w, w.Portico, "rg").gone(t, w.Portico)
}
