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

const (
	otherSubscription = "00000000-0000-0000-0000-000000000002"
	ownVersion        = "?api-version=2021-04-01"
)

// moveSettings shortens what these tests would otherwise wait for.
const moveSettings = deletionSettings + `
move: {transientBudget: 20s, limit: 2m}
`

// movers is a world with two subscriptions.
func movers(t *testing.T, options harness.WorldOptions) *harness.World {
	t.Helper()
	if options.Config.Extra == "" {
		options.Config.Extra = moveSettings
	}
	for i, id := range []string{harness.SubscriptionID, otherSubscription} {
		options.Config.Subscriptions = append(options.Config.Subscriptions, harness.Subscription{
			ID: id, TenantID: harness.TenantID, DisplayName: fmt.Sprint("S", i), State: "Enabled",
		})
	}
	return harness.NewWorld(t, options)
}

// group makes a group in a subscription, and returns its id.
func group(t *testing.T, w *harness.World, sub, name string) string {
	t.Helper()
	id := "/subscriptions/" + sub + "/resourceGroups/" + name
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: id + ownVersion, Body: `{"location":"westus"}`}).Want(t, 200, 201)
	return id
}

// make puts resources into a group: each is a type with a name, and the region
// where it shall be.
func makeIn(t *testing.T, w *harness.World, group string, resources map[string]string) (ids []string) {
	t.Helper()
	for name, region := range resources {
		id := group + "/providers/" + name
		create(t, w.Portico, id, region)
		ids = append(ids, id)
	}
	if t.Failed() {
		t.FailNow()
	}
	slices.Sort(ids)
	return ids
}

// oneOfEach is a resource of each movable type in each region.
func oneOfEach() map[string]string {
	all := map[string]string{"Contoso.Insight/profiles/p": "global"}
	for _, region := range harness.RegionNames() {
		for _, typ := range []string{"Contoso.Compute/virtualMachines/vm-", "Contoso.Compute/networkInterfaces/nic-", "Contoso.Insight/workspaces/w-"} {
			all[typ+region] = region
		}
	}
	return all
}

func moveRequest(action, from, to string, ids ...string) harness.Request {
	text, _ := json.Marshal(map[string]any{"targetResourceGroup": to, "resources": ids})
	return harness.Request{Method: http.MethodPost, Path: from + "/" + action + ownVersion, Body: string(text)}
}

// operation is a move under way.
type moveOperation struct{ result, status string }

func beginMove(t *testing.T, p *harness.Portico, r harness.Request) moveOperation {
	t.Helper()
	result, status := ownOperation(t, p.Do(t, r).Want(t, 202))
	return moveOperation{result, status}
}

func (o moveOperation) end(t *testing.T, p *harness.Portico) (a harness.Answer) {
	t.Helper()
	for bound := time.Now().Add(3 * time.Minute); time.Now().Before(bound); time.Sleep(30 * time.Millisecond) {
		if a = p.Do(t, harness.Request{Path: o.result}); a.Status != http.StatusAccepted {
			return a
		}
	}
	t.Fatalf("the move does not end: %s\n%s", p.Do(t, harness.Request{Path: o.status}).Body, p.Admin(t, harness.Request{Path: "/admin/jobs"}).Body)
	return a
}

// moveFault is how a move that failed says why.
type moveFault struct {
	Error struct {
		Code, Message string
		Details       []struct{ Target, Message string }
	}
}

func (o moveOperation) fault(t *testing.T, p *harness.Portico, code string) (f moveFault) {
	t.Helper()
	harness.OK(t, json.Unmarshal(o.end(t, p).WantError(t, 409, code).Body, &f))
	return f
}

// holdings are the keys that the providers hold in a group.
func holdings(t *testing.T, w *harness.World, group string) (ids []string) {
	t.Helper()
	for _, region := range append(harness.RegionNames(), "global") {
		for _, id := range w.Contoso(region).Resources(t) {
			if strings.HasPrefix(id, strings.ToLower(group)+"/") {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// workEnds waits until no work is left but sweeps.
func workEnds(t *testing.T, p *harness.Portico) {
	t.Helper()
	soon(t, "no work is left", func() bool {
		var jobs struct {
			Value []struct{ State, Kind string }
		}
		harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/jobs?limit=1000"}).Want(t, 200).Body, &jobs))
		return !slices.ContainsFunc(jobs.Value, func(j struct{ State, Kind string }) bool {
			return j.State == "Waiting" && j.Kind != "sweep"
		})
	})
}

// agree wants the index to have in both groups what the providers hold there, and
// each resource in one of them alone. It returns what is in the second.
func agree(t *testing.T, w *harness.World, p *harness.Portico, from, to string) []string {
	t.Helper()
	var arrived []string
	workEnds(t, p)
	names := map[string]string{}
	for _, group := range []string{from, to} {
		var listed []string
		for _, r := range p.Do(t, harness.Request{Path: group + "/resources" + ownVersion}).Want(t, 200).Values(t) {
			listed = append(listed, strings.ToLower(fmt.Sprint(r["id"])))
		}
		slices.Sort(listed)
		there := holdings(t, w, group)
		if !slices.Equal(listed, there) {
			t.Errorf("the index has %v\nthe providers hold %v", listed, there)
		}
		for _, id := range there {
			name := id[len(group):]
			if in := names[name]; in != "" {
				t.Errorf("%s is in %s and in %s", name, in, group)
			}
			names[name] = group
		}
		if state := p.Do(t, harness.Request{Path: group + ownVersion}).Want(t, 200).JSON(t)["properties"]; fmt.Sprint(state) != "map[provisioningState:Succeeded]" {
			t.Errorf("%s is %v", group, state)
		}
		arrived = there
	}
	return arrived
}

// A group's resources move, of several providers and regions, with all that lies
// below them, also out of the subscription; and back.
func TestMove(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{harness.SubscriptionID, otherSubscription} {
		t.Run("to "+sub[len(sub)-1:], func(t *testing.T) {
			w := movers(t, harness.WorldOptions{Config: harness.Config{Extra: patient(moveSettings)}})
			from, to := group(t, w, harness.SubscriptionID, "From"), group(t, w, sub, "To")
			resources := oneOfEach()
			ids := makeIn(t, w, from, resources)
			child := "/providers/Contoso.Compute/virtualMachines/vm-eastus/disks/d"
			w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: from + child + "?api-version=" + harness.Version, Body: `{"tags":{"a":"b"}}`}).Want(t, 201)
			lock := "/providers/Contoso.Compute/virtualMachines/vm-eastus/providers/Microsoft.Authorization/locks/keep?api-version=2016-09-01"
			w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: from + lock, Body: `{"properties":{"level":"CanNotDelete"}}`}).Want(t, 201)
			for _, region := range append(harness.RegionNames(), "global") {
				w.Contoso(region).ForgetRequests(t)
			}
			const correlation = "00000000-0000-0000-0000-00000000cafe"
			request := moveRequest("moveResources", from, to, append(ids, strings.ToUpper(ids[0]))...)
			request.Header = harness.Header("x-ms-correlation-request-id", correlation)
			o := beginMove(t, w.Portico, request)
			if a := o.end(t, w.Portico); a.Status != 204 || len(a.Body) != 0 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			wantOneCallEach(t, w, correlation)
			for _, id := range ids {
				moved := to + id[len(from):]
				for _, m := range []string{"GET", "HEAD"} {
					w.Portico.Do(t, harness.Request{Method: m, Path: id + "?api-version=" + harness.Version}).Want(t, 404)
					w.Portico.Do(t, harness.Request{Method: m, Path: moved + "?api-version=" + harness.Version}).Want(t, 200, 204)
				}
			}
			if got := w.Portico.Do(t, harness.Request{Path: to + child + "?api-version=" + harness.Version}).Want(t, 200).JSON(t)["id"]; got != to+child {
				t.Errorf("the child is %v", got)
			}
			w.Portico.Do(t, harness.Request{Path: from + child + "?api-version=" + harness.Version}).Want(t, 404)
			if n := len(agree(t, w, w.Portico, from, to)); n != len(ids)+1 {
				t.Errorf("%d resources arrived", n)
			}
			w.Portico.Do(t, harness.Request{Path: from + lock}).Want(t, 404)
			kept := w.Portico.Do(t, harness.Request{Path: to + lock}).Want(t, 200)
			if id := kept.JSON(t)["id"]; id != to+strings.TrimSuffix(lock, "?api-version=2016-09-01") {
				t.Errorf("the lock is %v", id)
			}
			if again := w.Portico.Do(t, harness.Request{Path: to + lock, Header: harness.Header("If-None-Match", kept.Header.Get("ETag"))}); again.Status != 304 {
				t.Errorf("%d", again.Status)
			}
			// Others can be made where they were, and the whole way back is open.
			w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: from + ownVersion}).Want(t, 200, 202)
			soon(t, "the source goes", func() bool { return w.Portico.Do(t, harness.Request{Path: from + ownVersion}).Status == 404 })
			from = group(t, w, harness.SubscriptionID, "from")
			back := make([]string, len(ids))
			for i, id := range ids {
				back[i] = to + id[len(from):]
			}
			if a := beginMove(t, w.Portico, moveRequest("moveResources", to, from, back...)).end(t, w.Portico); a.Status != 204 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			agree(t, w, w.Portico, to, from)
			text := metricsOf(t, w.Portico)
			if want := fmt.Sprintf("portico_moved_resources_total{fate=\"moved\"} %d\n", 2*len(ids)); !strings.Contains(text, want) {
				t.Errorf("there is no %s", want)
			}
			if log := w.Portico.Log(); strings.Count(log, correlation) < 3 || !strings.Contains(log, "move ended") {
				t.Error("the log does not tell")
			}
		})
	}
}

// wantOneCallEach wants each provider to have had one call in each region, all
// with the same correlation id and the same systemData.
func wantOneCallEach(t *testing.T, w *harness.World, correlation string) {
	t.Helper()
	stamps := map[string]bool{}
	for region, want := range map[string]int{"westus": 2, "eastus": 2, "northeurope": 2, "global": 1} {
		n := 0
		for _, r := range w.Contoso(region).Requests(t) {
			if r.Method != http.MethodPost {
				continue
			}
			n++
			stamps[r.Headers.Get("X-Ms-Arm-Resource-System-Data")] = true
			if got := r.Headers.Get("X-Ms-Correlation-Request-Id"); got != correlation || !strings.HasSuffix(r.Path, "/moveResources") ||
				!strings.HasPrefix(r.Headers.Get("Referer"), w.Portico.URL+"/subscriptions/") || r.Headers.Get("X-Ms-Home-Tenant-Id") != harness.TenantID {
				t.Errorf("%s %v", r.Path, r.Headers)
			}
		}
		if n != want {
			t.Errorf("%s had %d calls, want %d", region, n, want)
		}
	}
	if len(stamps) != 1 {
		t.Errorf("%v", stamps)
	}
}
