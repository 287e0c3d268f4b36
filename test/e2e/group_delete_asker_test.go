package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"portico/events"
	"portico/test/harness"
)

// The events of all that goes with a group name who asked for its deletion, by which request,
// and the job: of what waited for a region that was down, of what went without an answer, of
// what went with its parent, and after another replica has taken over.
func TestGroupDeletionNamesItsAskerThroughout(t *testing.T) {
	t.Parallel()
	const correlation, group = "00000000-0000-0000-0000-00000000feed", "rg"
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{Replicas: 2, Config: harness.Config{
		Tokens: []harness.Token{alice, dora}, Postgres: postgres.CreateDatabase(t, "asker"), Extra: deletionSettings,
	}})
	first, other := w.Replicas[0], w.Replicas[1]
	put := func(path, version, body string) {
		t.Helper()
		first.Do(t, harness.Request{
			Method: http.MethodPut, Path: path + "?api-version=" + version, Body: body, Header: harness.Header("Authorization", "Bearer "+dora.Raw),
		}).Want(t, 201)
	}
	put(w.GroupPath(group), "2021-04-01", `{"location":"westus"}`)
	var ids []string
	for name, region := range map[string]string{"here": "westus", "lost": "eastus", "slow": "eastus", "down": "northeurope"} {
		for _, typ := range []string{"Contoso.Compute/virtualMachines/", "Contoso.Compute/networkInterfaces/", "Contoso.Insight/workspaces/"} {
			ids = append(ids, w.ResourcePath(group, typ+name))
			put(ids[len(ids)-1], harness.Version, body(region))
		}
		ids = append(ids, w.ResourcePath(group, "Contoso.Compute/virtualMachines/"+name+"/disks/d"))
		put(ids[len(ids)-1], harness.Version, `{"properties":{}}`)
	}
	misbehave(t, w, "DELETE", "/lost", "reset-after", 3)
	misbehave(t, w, "DELETE", "/slow", "async=no-url", -1)
	w.Contoso("northeurope").Kill(t)
	result, _ := ownOperation(t, first.Do(t, harness.Request{
		Method: http.MethodDelete, Path: w.GroupPath(group) + "?api-version=2021-04-01",
		Header: harness.Header("Authorization", "Bearer "+alice.Raw, "x-ms-correlation-request-id", correlation),
	}).Want(t, 202))
	soon(t, "only the region that is down holds something of the group", func() bool {
		return len(w.Contoso("westus").Resources(t))+len(w.Contoso("eastus").Resources(t)) == 0
	})
	first.Kill(t)
	w.Contoso("northeurope").Restart(t)
	soon(t, "another replica ends the deletion", func() bool {
		return other.Do(t, harness.Request{Path: result, Header: harness.Header("Authorization", "Bearer "+alice.Raw)}).Status == http.StatusOK
	})
	for _, id := range ids {
		var page struct{ Value []events.CloudEvent }
		harness.OK(t, json.Unmarshal(other.Admin(t, harness.Request{Path: "/admin/changes?resource=" + url.QueryEscape(id)}).Want(t, 200).Body, &page))
		deletes := 0
		for _, e := range page.Value {
			if !strings.HasSuffix(e.Data.Operation, "/delete") {
				continue
			}
			deletes++
			if d := e.Data; d.Name != alice.Name || d.Correlation != correlation || d.Job != "group-delete" || !strings.HasPrefix(d.JobID, harness.SubscriptionID+".") || d.JobOn != w.GroupPath(group) {
				t.Errorf("of %s an event says %+v", id, d)
			}
		}
		if deletes == 0 {
			t.Errorf("no event says that %s has gone", id)
		}
	}
	vm := w.ResourcePath(group, "Contoso.Compute/virtualMachines/down")
	w.Portico = other
	told := story(t, w, alice, "resourceUri eq '"+vm+"'")
	if e := told[len(told)-1]; e.Caller != alice.Name || e.CorrelationID != correlation || e.Properties["jobOn"] != w.GroupPath(group) || e.Properties["jobId"] == "" {
		t.Errorf("the activity log says %+v", e)
	}
	if text, _ := runCommand(t, other, 0, "changes", "--resource", vm, "-o", "wide"); !strings.Contains(text, alice.Name) || !strings.Contains(text, correlation) {
		t.Errorf("the command says\n%s", text)
	}
}
