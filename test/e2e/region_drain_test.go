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

// A region is taken out for maintenance through one replica: nothing new is created there through
// any, all else goes on, its outage is planned, and what waits for it goes on once it is back.
func TestDrainOfARegion(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{Postgres: harness.StartPostgres(t).CreateDatabase(t, "drains"),
			Extra: batchSettings + "deployments: {transientBudget: 1s}\ngroupDelete: {transientBudget: 1s}\n"},
	})
	first, other := w.Replicas[0], w.Replicas[1]
	for _, group := range []string{"rg", "going"} {
		w.PutGroup(t, group)
		w.PutResource(t, group, machines+"old", body("eastus"))
	}
	request := func(method, name, location string) harness.Request {
		r := harness.Request{Method: method, Path: w.ResourcePath("rg", machines+name) + "?api-version=" + harness.Version}
		if location != "" {
			r.Body = body(location)
		}
		return r
	}
	step(t, "what is no place, or has no end, is refused", func(t *testing.T) {
		for _, args := range [][]string{
			{"mars", "--until", "2h"}, {"https://mars:1", "--until", "2h"}, {"eastus", "--until", "169h"}, {"eastus", "--until", "-1s"}, {"eastus", "--until", "soon"},
		} {
			runCommand(t, first, 1, append([]string{"regions", "drain", "--reason", "rack move"}, args...)...)
		}
		if _, said := runCommand(t, first, 1, "regions", "drain", "mars", "--reason", "r", "--until", "2h"); !strings.Contains(said, "eastus, global, northeurope, westus, http") {
			t.Errorf("it says %q", said)
		}
		if _, said := runCommand(t, first, 1, "regions", "drain", w.Contoso("eastus").URL, "--reason", "r", "--until", "2h"); !strings.Contains(said, "drain its region") {
			t.Errorf("it says %q", said)
		}
		runCommand(t, first, 1, "regions", "undrain", "eastus")
	})
	runCommand(t, first, 0, "regions", "drain", "eastus", "--reason", "rack move", "--until", "2h")
	for tries := 0; other.Do(t, request(http.MethodPut, fmt.Sprint("before", tries), "eastus")).Status == 201; tries++ {
		if tries == 1000 {
			t.Fatal("creations are not refused")
		}
	}
	first.Do(t, request(http.MethodPut, "new", "eastus")).WantError(t, 503, "LocationUnderMaintenance")
	step(t, "the refusal says why, and all else goes on", func(t *testing.T) {
		a := other.Do(t, request(http.MethodPut, "new", "eastus")).WantError(t, 503, "LocationUnderMaintenance")
		if a.Header.Get("Retry-After") != "60" || !strings.Contains(string(a.Body), "rack move") || !strings.Contains(string(a.Body), `"target":"eastus"`) {
			t.Errorf("%v %s", a.Header, a.Body)
		}
		other.Do(t, request(http.MethodPut, "elsewhere", "westus")).Want(t, 201)
		other.Do(t, request(http.MethodGet, "old", "")).Want(t, 200)
		other.Do(t, request(http.MethodPut, "old", "eastus")).Want(t, 200)
		plan := other.Do(t, harness.Request{
			Method: http.MethodPost, Path: "/providers/Microsoft.Resources/validateResources?api-version=2020-10-01",
			Body: fmt.Sprintf(`{"provider":"Contoso.Compute","type":"virtualMachines","location":"eastus","scope":%q,"resources":[{"apiVersion":"2024-01-01","name":"planned","type":"Contoso.Compute/virtualMachines","properties":{"size":"small"}}]}`, w.GroupPath("rg")),
		})
		if plan.Header.Get("X-Ms-Failure-Cause") != "gateway" || !strings.Contains(string(plan.Body), "LocationUnderMaintenance") {
			t.Errorf("%d %s", plan.Status, plan.Body)
		}
		if said, _ := runCommand(t, other, 0, "regions"); !strings.Contains(said, "(rack move)") {
			t.Errorf("%s", said)
		}
	})
	poll := putDeployment(t, w, other, "d", fmt.Sprintf(threeMachines, "westus", "eastus", hiddenWord), 201)

	w.Contoso("eastus").Kill(t)
	step(t, "its outage is planned", func(t *testing.T) {
		for _, p := range []*harness.Portico{first, other} {
			soon(t, "the region is down", func() bool {
				p.Do(t, request(http.MethodGet, "old", ""))
				return metric(t, p, "portico_region_up", `region="eastus"`) == 0
			})
			if d := metric(t, p, "portico_region_drained", `region="eastus"`); d != 1 {
				t.Errorf("the metric is %v", d)
			}
		}
		onlyPlanned(t, other, "regionDrained")
		if said, _ := runCommand(t, other, 0, "status"); !strings.Contains(said, "rack move. It is down") {
			t.Errorf("%s", said)
		}
	})
	step(t, "the deletion of a group waits without complaint", func(t *testing.T) {
		other.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath("going") + "?api-version=2021-04-01"}).Want(t, 202)
		soon(t, "it waits for the region", func() bool {
			return slices.ContainsFunc(other.Admin(t, harness.Request{Path: "/admin/jobs?kind=group-delete"}).Values(t), func(j map[string]any) bool {
				return strings.Contains(fmt.Sprint(j["waitingFor"]), "eastus")
			})
		})
		onlyPlanned(t, first, "regionDrained")
	})
	w.Contoso("eastus").Restart(t)
	soon(t, "the group goes once the region is back", func() bool {
		return first.Do(t, harness.Request{Path: w.GroupPath("going") + "?api-version=2021-04-01"}).Status == 404
	})
	soon(t, "the deployment waits for the end of the drain", func() bool {
		return strings.Contains(string(first.Do(t, harness.Request{Path: deploymentPath(w, "d") + "/operations?api-version=2021-04-01"}).Want(t, 200).Body), "LocationUnderMaintenance")
	})
	runCommand(t, other, 0, "regions", "undrain", "eastus")
	if end, d := deployed(t, w, first, "d", poll); end != "Succeeded" {
		t.Errorf("the deployment ended as %s: %s", end, d.Properties.Error)
	}
	step(t, "it ends by itself", func(t *testing.T) {
		runCommand(t, first, 0, "regions", "drain", "eastus", "--reason", "again", "--until", "5s")
		first.Do(t, request(http.MethodPut, "new", "eastus")).WantError(t, 503, "LocationUnderMaintenance")
		for _, p := range w.Replicas {
			soon(t, "it can be created again", func() bool { return p.Do(t, request(http.MethodPut, "new", "eastus")).Status < 300 })
		}
	})
	feed := string(first.Admin(t, harness.Request{Path: "/admin/changes?limit=1000"}).Want(t, 200).Body)
	if strings.Count(feed, "Portico.Operations/drains/write") != 2 || strings.Count(feed, "Portico.Operations/drains/delete") != 1 {
		t.Errorf("the feed has %s", feed)
	}
}

// onlyPlanned asserts that the one problem is a planned one.
func onlyPlanned(t *testing.T, p *harness.Portico, code string) {
	t.Helper()
	if found := problems(t, p); len(found) != 1 || found[code].Severity != "planned" {
		t.Errorf("the problems are %+v", found)
	}
}

// An address that is drained gets no new calls while another one can be called, and those that
// there are if none can.
func TestDrainOfAnAddress(t *testing.T) {
	t.Parallel()
	stays, leaves := harness.StartContoso(t, "westus", harness.ContosoOptions{}), harness.StartContoso(t, "westus", harness.ContosoOptions{})
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: map[string]string{"westus": stays.URL + "," + leaves.URL}, Extra: "index: {pollFloor: 50ms}\n",
	}})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"vm", body("westus"))
	list := func() {
		w.Portico.Do(t, harness.Request{Path: w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version}).Want(t, 200)
	}
	runCommand(t, w.Portico, 0, "regions", "drain", leaves.URL, "--reason", "new disk", "--until", "2h")
	soon(t, "it gets no calls", func() bool {
		stays.ForgetRequests(t)
		leaves.ForgetRequests(t)
		for range 20 {
			list()
		}
		return len(leaves.Requests(t)) == 0 && len(stays.Requests(t)) >= 20
	})
	onlyPlanned(t, w.Portico, "addressDrained")
	leaves.Kill(t)
	for range 20 {
		list()
	}
	onlyPlanned(t, w.Portico, "addressDrained")
	leaves.Restart(t)
	stays.Kill(t)
	soon(t, "it is called as no other can be", func() bool {
		a, err := w.Portico.Try(t.Context(), harness.Request{Path: w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version})
		return err == nil && a.Status == 200 && len(leaves.Requests(t)) > 0
	})
	var regions struct {
		Value []struct {
			Endpoints []struct {
				Addresses []struct {
					URL, State string
					Drain      *struct{ Reason string }
				}
			}
		}
	}
	harness.OK(t, json.Unmarshal(w.Portico.Admin(t, harness.Request{Path: "/admin/regions"}).Want(t, 200).Body, &regions))
	drained := 0
	for _, r := range regions.Value {
		for _, e := range r.Endpoints {
			for _, a := range e.Addresses {
				if a.Drain != nil && a.URL == leaves.URL && a.Drain.Reason == "new disk" {
					drained++
				}
			}
		}
	}
	if drained == 0 {
		t.Errorf("no address is shown as drained: %+v", regions)
	}
}
