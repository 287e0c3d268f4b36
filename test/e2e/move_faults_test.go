package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// moveMisbehaves adds a fault for the move calls of an endpoint.
func moveMisbehaves(t *testing.T, w *harness.World, region, fault string, count int) {
	t.Helper()
	w.Contoso(region).Do(t, harness.Request{
		Method: http.MethodPost, Path: "/contoso/faults", Body: fmt.Sprintf(`{"method":"POST","pathContains":"oveResources","fault":%q,"count":%d}`, fault, count),
	}).Want(t, 201)
}

// What passes, passes; and where a provider does a thing by halves, or later than
// anybody waits for, the index says what it has done.
func TestMoveAmongFaults(t *testing.T) {
	t.Parallel()
	w := movers(t, harness.WorldOptions{})
	from, to := group(t, w, harness.SubscriptionID, "from"), group(t, w, otherSubscription, "to")
	ids := makeIn(t, w, from, oneOfEach())
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: from + "/providers/Contoso.Compute/virtualMachines/vm-westus/disks/d?api-version=" + harness.Version, Body: `{}`,
	}).Want(t, 201)
	for _, round := range [][]string{
		{"async=location", "async=azure-async-only", "async=azure-async", "async=no-url"},
		{"reset-before", "reset-after", "throttle=1", "status=503"},
		{"late=1s", "late=3s", "delay=1s", "delay=4s"},
		{"halfway", "foreign-location", "own-location", "slow=1s"},
	} {
		for i, fault := range round {
			moveMisbehaves(t, w, append(harness.RegionNames(), "global")[i], fault, 1)
		}
		if a := beginMove(t, w.Portico, moveRequest("moveResources", from, to, ids...)).end(t, w.Portico); a.Status != 204 {
			t.Fatalf("%v: %d %s", round, a.Status, a.Body)
		}
		if n := len(agree(t, w, w.Portico, from, to)); n != len(ids)+1 {
			t.Errorf("%v: %d resources arrived", round, n)
		}
		behave(t, w)
		for i, id := range ids {
			ids[i] = to + id[len(from):]
		}
		from, to = to, from
	}
}

// Resources whose move a provider refuses stay and are reported; the rest moves.
func TestMoveInPart(t *testing.T) {
	t.Parallel()
	w := movers(t, harness.WorldOptions{Config: harness.Config{Extra: patient(moveSettings)}})
	from, to := group(t, w, harness.SubscriptionID, "from"), group(t, w, otherSubscription, "to")
	ids := makeIn(t, w, from, map[string]string{"Contoso.Compute/virtualMachines/a": "westus", "Contoso.Compute/virtualMachines/b": "eastus"})
	linked := makeIn(t, w, from, map[string]string{"Contoso.Compute/networkInterfaces/n": "westus"})[0]
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: ids[0] + "?api-version=" + harness.Version, Body: fmt.Sprintf(`{"location":"westus","properties":{"linkedTo":%q}}`, linked),
	}).Want(t, 200)
	// Asked beforehand it says so, and changes nothing.
	refused := beginMove(t, w.Portico, moveRequest("validateMoveResources", from, to, ids...)).fault(t, w.Portico, "ResourceMoveProviderValidationFailed")
	if d := refused.Error.Details; len(d) != 1 || d[0].Target != "Contoso.Compute/virtualMachines" || !strings.Contains(d[0].Message, "MissingMoveDependentResources") || !strings.Contains(d[0].Message, linked) {
		t.Errorf("%+v", refused)
	}
	if !strings.HasPrefix(refused.Error.Message, "Resource move validation failed. Please see details. Diagnostic information: timestamp '") {
		t.Errorf("%s", refused.Error.Message)
	}
	if arrived := agree(t, w, w.Portico, from, to); len(arrived) != 0 {
		t.Errorf("%v", arrived)
	}
	all := append(slices.Clone(ids), linked)
	moveMisbehaves(t, w, "eastus", "async=location", 1)
	if a := beginMove(t, w.Portico, moveRequest("validateMoveResources", from, to, all...)).end(t, w.Portico); a.Status != 204 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	o := beginMove(t, w.Portico, moveRequest("moveResources", from, to, ids...))
	fault := o.fault(t, w.Portico, "ResourceMoveFailed")
	if d := fault.Error.Details; len(d) != 1 || d[0].Target != ids[0] || !strings.Contains(d[0].Message, "MissingMoveDependentResources") || !strings.Contains(fault.Error.Message, "1 of 2 resources") {
		t.Errorf("%+v", fault)
	}
	var now struct {
		Status               string
		Total, Moved, Failed int
		PercentComplete      float64
		Error                struct{ Code string }
	}
	if err := json.Unmarshal(w.Portico.Do(t, harness.Request{Path: o.status}).Want(t, 200).Body, &now); err != nil ||
		now.Status != "Failed" || now.Total != 2 || now.Moved != 1 || now.Failed != 1 || now.Error.Code != "ResourceMoveFailed" {
		t.Errorf("%+v %v", now, err)
	}
	if arrived := agree(t, w, w.Portico, from, to); len(arrived) != 1 {
		t.Errorf("%v", arrived)
	}
	moveMisbehaves(t, w, "westus", "async-fails=azure-async", 1)
	fault = beginMove(t, w.Portico, moveRequest("moveResources", from, to, ids[0], linked)).fault(t, w.Portico, "ResourceMoveFailed")
	if d := fault.Error.Details; len(d) != 2 || !strings.Contains(d[0].Message, "OperationFailed") {
		t.Errorf("%+v", fault)
	}
	if a := beginMove(t, w.Portico, moveRequest("moveResources", from, to, ids[0], linked)).end(t, w.Portico); a.Status != 204 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if arrived := agree(t, w, w.Portico, from, to); len(arrived) != 3 {
		t.Errorf("%v", arrived)
	}
}

// lose kills the provider in a region, and returns when Portico knows that the
// connections it had are gone: a write that leaves by one of them before that may,
// for all that anybody can tell, have arrived.
func lose(t *testing.T, w *harness.World, region string) {
	t.Helper()
	c := w.Contoso(region)
	c.Kill(t)
	soon(t, "the connections are gone", func() bool {
		return metric(t, w.Portico, "portico_upstream_connections", fmt.Sprintf("endpoint=%q,region=%q", hostOf(c.URL), region)) == 0
	})
}

// waitingJob waits until the only job of a kind is between two attempts, with some
// time until the next, and returns its id. A job cancelled during an attempt would
// wait for the region, because its call may have been sent.
func waitingJob(t *testing.T, p *harness.Portico, kind string) (id string) {
	t.Helper()
	soon(t, "the job rests", func() bool {
		var jobs struct {
			Value []struct {
				ID, Owner string
				Due       time.Time
			}
		}
		if err := json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/jobs?kind=" + kind}).Want(t, 200).Body, &jobs); err != nil || len(jobs.Value) != 1 {
			t.Fatal(jobs, err)
		}
		id = jobs.Value[0].ID
		return jobs.Value[0].Owner == "" && time.Until(jobs.Value[0].Due) > time.Second
	})
	return id
}

// While a region is down its resources wait, by name; an operator can call it off,
// and the time for it ends: what has moved has moved.
func TestMoveThatWaitsForARegion(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]string{"resumed": "", "cancelled": "OperationCanceled", "over": "ResourceMoveFailed"} {
		t.Run(name, func(t *testing.T) {
			extra := moveSettings
			if name == "over" {
				extra = strings.Replace(extra, "limit: 2m}\n", "limit: 10s}\n", 1)
			}
			w := movers(t, harness.WorldOptions{Config: harness.Config{Extra: extra}})
			from, to := group(t, w, harness.SubscriptionID, "from"), group(t, w, harness.SubscriptionID, "to")
			ids := makeIn(t, w, from, map[string]string{"Contoso.Compute/virtualMachines/a": "westus", "Contoso.Compute/virtualMachines/b": "eastus"})
			lose(t, w, "eastus")
			o := beginMove(t, w.Portico, moveRequest("moveResources", from, to, ids...))
			soon(t, "the status names the region", func() bool {
				text := string(w.Portico.Do(t, harness.Request{Path: o.status}).Want(t, 200).Body)
				return strings.Contains(text, `"waitingFor":["eastus"]`) && strings.Contains(text, `"moved":1`)
			})
			for _, r := range []harness.Request{
				{Method: http.MethodDelete, Path: from + ownVersion}, {Method: http.MethodDelete, Path: to + ownVersion},
				{Method: http.MethodPut, Path: to + "/providers/Contoso.Compute/virtualMachines/new?api-version=" + harness.Version, Body: body("westus")},
				moveRequest("moveResources", to, from, to+"/providers/Contoso.Compute/virtualMachines/a"),
			} {
				w.Portico.Do(t, r).WantError(t, 409, "ResourcesBeingMoved")
			}
			if name == "cancelled" {
				w.Portico.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/jobs/" + waitingJob(t, w.Portico, "move") + "/cancel"}).Want(t, 202)
			}
			if ends == "" {
				w.Contoso("eastus").Restart(t)
				if a := o.end(t, w.Portico); a.Status != 204 {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			} else {
				fault := o.fault(t, w.Portico, ends)
				if d := fault.Error.Details; len(d) != 1 || d[0].Target != ids[1] {
					t.Errorf("%+v", fault)
				}
				w.Contoso("eastus").Restart(t)
			}
			want := 2
			if ends != "" {
				want = 1
			}
			if arrived := agree(t, w, w.Portico, from, to); len(arrived) != want {
				t.Errorf("%v", arrived)
			}
		})
	}
}

// Whatever is written to both groups while a move begins and goes on is before
// it, or refused.
func TestMoveAgainstWrites(t *testing.T) {
	t.Parallel()
	w := movers(t, harness.WorldOptions{Config: harness.Config{Extra: patient(moveSettings)}})
	from, to := group(t, w, harness.SubscriptionID, "from"), group(t, w, otherSubscription, "to")
	ids := makeIn(t, w, from, oneOfEach())
	misbehave(t, w, "PUT", "/race-", "delay=150ms", -1)
	stop, groups := make(chan struct{}), []string{from, to}
	var writers sync.WaitGroup
	for n := range 6 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				in := groups[n%2]
				id := fmt.Sprintf("%s/providers/Contoso.Compute/virtualMachines/race-%d-%d", in, n, i%5)
				if n < 2 {
					id = fmt.Sprintf("%s/providers/Contoso.Compute/virtualMachines/vm-westus/disks/race-%d", in, i)
				}
				for _, r := range []harness.Request{
					{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: body("westus")}, {Method: http.MethodDelete, Path: id + "?api-version=" + harness.Version},
				} {
					a, err := w.Portico.Try(t.Context(), r)
					if err != nil || a.Status >= 500 || a.Status == 409 && a.ErrorCode() != "ResourcesBeingMoved" {
						t.Errorf("%s: %v %d %s", r.Path, err, a.Status, a.Body)
					}
				}
			}
		})
	}
	for range 4 {
		if a := beginMove(t, w.Portico, moveRequest("moveResources", from, to, ids...)).end(t, w.Portico); a.Status != 204 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		for i, id := range ids {
			ids[i] = to + id[len(from):]
		}
		from, to = to, from
	}
	close(stop)
	writers.Wait()
	behave(t, w)
	agree(t, w, w.Portico, from, to)
}

// What a provider says of a move is a claim. What has not moved stays where it was, in the
// index as at its provider, and no one makes it a second time; what is nowhere is gone.
func TestMoveThatIsOnlyClaimed(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { testMoveThatIsOnlyClaimed(t, "") })
	t.Run("postgres", func(t *testing.T) {
		testMoveThatIsOnlyClaimed(t, harness.StartPostgres(t).CreateDatabase(t, "portico"))
	})
}

func testMoveThatIsOnlyClaimed(t *testing.T, database string) {
	w := movers(t, harness.WorldOptions{Config: harness.Config{Postgres: database, Extra: moveSettings}})
	for name, c := range map[string]struct {
		fault        string
		stays, moves []string
		why          string
	}{
		"none":      {"moved=none", []string{"a", "b"}, nil, "has it where it was"},
		"half":      {"moved=half", []string{"b"}, []string{"a"}, "has it where it was"},
		"away":      {"moved=away", nil, nil, "was not found"},
		"accepted":  {"moved=half,location", []string{"b"}, []string{"a"}, "has it where it was"},
		"by status": {"moved=none,azure-async-only", []string{"a", "b"}, nil, "has it where it was"},
	} {
		t.Run(name, func(t *testing.T) {
			word := strings.ReplaceAll(name, " ", "")
			from, to := group(t, w, harness.SubscriptionID, "from-"+word), group(t, w, otherSubscription, "to-"+word)
			ids := makeIn(t, w, from, map[string]string{machines + "a": "westus", machines + "b": "westus"})
			for _, id := range ids {
				create(t, w.Portico, id+"/disks/d", "westus")
			}
			w.Contoso("westus").Do(t, harness.Request{
				Method: http.MethodPost, Path: "/contoso/faults", Body: fmt.Sprintf(`{"method":"POST","pathContains":%q,"fault":%q,"count":1}`, "/from-"+word+"/moveResources", c.fault),
			}).Want(t, 201)
			fault := beginMove(t, w.Portico, moveRequest("moveResources", from, to, ids...)).fault(t, w.Portico, "ResourceMoveFailed")
			if len(fault.Error.Details) != len(ids)-len(c.moves) {
				t.Errorf("%+v", fault)
			}
			for _, d := range fault.Error.Details {
				if !strings.Contains(d.Message, c.why) {
					t.Errorf("%s: %s", d.Target, d.Message)
				}
			}
			for in, names := range map[string][]string{from: c.stays, to: c.moves} {
				for _, name := range []string{"a", "b"} {
					id, want := in+"/providers/"+machines+name, 404
					if slices.Contains(names, name) {
						want = 200
						elsewhere := harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: body("eastus")}
						w.Portico.Do(t, elsewhere).WantError(t, 409, "InvalidResourceLocation")
					}
					for _, below := range []string{"", "/disks/d"} {
						w.Portico.Do(t, harness.Request{Path: id + below + "?api-version=" + harness.Version}).Want(t, want)
					}
				}
			}
			agree(t, w, w.Portico, from, to)
		})
	}
}
