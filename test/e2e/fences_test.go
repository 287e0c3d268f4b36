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

// closingPatience bounds the wait for the end of a group's deletion after its
// providers answer again. It is no measurement: it lies far below the 6 minutes that
// a call without an answer stays open by default, and far above what the work takes.
const closingPatience = 90 * time.Second

func TestGroupGoesSoonAfterOneDELETEAnswered503(t *testing.T) {
	t.Parallel()
	wantGroupToGoSoon(t, "", harness.Fault(http.StatusServiceUnavailable, "ServiceUnavailable", "Not now."))
}

func TestGroupGoesSoonAfterOneDELETEWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	wantGroupToGoSoon(t, "upstream: {callTimeout: 3s}\n", harness.Silence)
}

// wantGroupToGoSoon deletes a group of five while the first DELETE of one of them
// fails, by the default times of the index.
func wantGroupToGoSoon(t *testing.T, settings string, failure http.Handler) {
	t.Helper()
	w := newStubWorld(t, "index: {}\n"+settings)
	resources := map[string]string{}
	for i, name := range []string{"a", "b", "c", "d", "odd"} {
		resources[stubThings+name] = harness.RegionNames()[i%2]
	}
	fill(t, w.World, "rg", resources)
	w.stub.Script(harness.Script{Method: http.MethodDelete, Part: w.thing("rg", "odd"), Times: 1, Answer: failure})
	result, _ := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantGone(t, result, "rg")
}

// wantGone wants a group's deletion to end before long with nothing left.
func (w stubWorld) wantGone(t *testing.T, result, group string) {
	t.Helper()
	w.result(t, result, closingPatience).Want(t, 200, 204)
	w.sendTo(t, http.MethodGet, w.GroupPath(group)+"?api-version=2021-04-01", "").WantError(t, 404, "ResourceGroupNotFound")
	if left := w.stub.Holding(w.GroupPath(group)); len(left) != 0 {
		t.Errorf("the providers hold %v", left)
	}
}

// waitedFor is what the status of a deletion says of one thing that it waits for.
type waitedFor struct {
	ID, Region, Reason, Until string
}

// waitsFor reads from the status of a deletion what it waits for.
func (w stubWorld) waitsFor(t *testing.T, status string) (ended bool, all []waitedFor) {
	t.Helper()
	var now struct {
		Status     string
		Waits      []waitedFor
		Properties json.RawMessage
	}
	a := w.sendTo(t, http.MethodGet, status, "").Want(t, 200)
	if err := json.Unmarshal(a.Body, &now); err != nil {
		t.Fatalf("%v\n%s", err, a.Body)
	}
	if len(now.Properties) > 0 && now.Status != "Succeeded" { // the contract has them for what has succeeded
		t.Fatalf("the status of an operation that is %s has properties: %s", now.Status, a.Body)
	}
	return slices.Contains([]string{"Succeeded", "Failed", "Canceled"}, now.Status), now.Waits
}

// wantWaitingFor wants the status to name what fits, whenever it is asked for, with
// a reason and a time at which that ends at the latest.
func (w stubWorld) wantWaitingFor(t *testing.T, status, what string, fits func(waitedFor) bool) {
	t.Helper()
	started := time.Now()
	var waits waitedFor
	find := func() bool {
		ended, all := w.waitsFor(t, status)
		if ended {
			t.Fatalf("the deletion ended while it was to wait for %s", what)
		}
		i := slices.IndexFunc(all, fits)
		if i >= 0 {
			waits = all[i]
		}
		return i >= 0
	}
	soon(t, "the status to say that the deletion waits for "+what, find)
	for range 20 {
		if !find() {
			t.Fatalf("the status does not say any more that the deletion waits for %s", what)
		}
		if until, err := time.Parse(time.RFC3339, waits.Until); waits.Reason == "" || err != nil || until.Before(started.Truncate(time.Second)) {
			t.Fatalf("of %s the status says %+v, want a reason, and a time to come (%v)", what, waits, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// ofThing matches entries about a resource, by its ID as it was written.
func ofThing(id string) func(waitedFor) bool {
	return func(waits waitedFor) bool { return waits.ID == id }
}

func TestGroupDeleteSaysThatItWaitsForADELETEAnswered503(t *testing.T) {
	t.Parallel()
	w := newStubWorld(t, stubSettings)
	fill(t, w.World, "rg", map[string]string{stubThings + "a": "westus", stubThings + "Stuck": "westus"})
	id := w.thing("rg", "Stuck")
	end := w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, Answer: harness.Fault(http.StatusServiceUnavailable, "ServiceUnavailable", "Not now.")})
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantWaitingFor(t, status, id, ofThing(id))
	end()
	w.wantGone(t, result, "rg")
}

func TestGroupDeleteSaysThatItWaitsForAnAcceptedDELETE(t *testing.T) {
	t.Parallel()
	w := newStubWorld(t, stubSettings)
	fill(t, w.World, "rg", map[string]string{stubThings + "a": "westus", stubThings + "Slow": "westus"})
	id := w.thing("rg", "Slow")
	remove := w.stub.accept(http.MethodDelete, "westus", id, "Location")
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantWaitingFor(t, status, id, ofThing(id))
	remove.finish()
	w.wantGone(t, result, "rg")
}

func TestGroupDeleteSaysThatItWaitsForAnAcceptedPUT(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "late")
	create := w.stub.accept(http.MethodPut, "westus", id, "Location")
	w.put(t, id, "westus").Want(t, 202)
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantWaitingFor(t, status, id, ofThing(id))
	create.finish()
	w.wantGone(t, result, "rg")
}

func TestGroupDeleteSaysThatItWaitsForARegion(t *testing.T) {
	t.Parallel()
	w := newStubWorld(t, stubSettings)
	fill(t, w.World, "rg", map[string]string{stubThings + "a": "westus", stubThings + "far": "eastus"})
	id := w.thing("rg", "far")
	end := w.stub.Script(harness.Script{Part: "/resourceGroups/rg/", Answer: harness.Reset, When: func(c harness.Call) bool { return c.Region == "eastus" }})
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantWaitingFor(t, status, "eastus, or what lies there", func(waits waitedFor) bool { return waits.Region == "eastus" || strings.EqualFold(waits.ID, id) })
	end()
	w.wantGone(t, result, "rg")
}

// fenceSettings are for calls that bring no answer. The window is long enough that
// a fence stands while it is looked at, on a busy machine too.
const (
	fenceWindow   = 45 * time.Second
	fenceSettings = `
index: {sendWithin: 4s, askTimeout: 4s, lateWriteWindow: 45s, callMargin: 500ms, pollFloor: 50ms, sweepInterval: 0s}
upstream: {callTimeout: 4s}
operations: {retryAfterMin: 1s, retryAfterMax: 1s, firstAnswer: 0s}
`
)

// fence is one as operators see it.
type fence struct {
	ID, Region, Kind string
	Until            time.Time
}

// fences are those that stand for an ID.
func (w stubWorld) fences(t *testing.T, id string) (of []fence) {
	t.Helper()
	var all struct{ Value []fence }
	a := w.Portico.Admin(t, harness.Request{Path: "/admin/fences"}).Want(t, 200)
	if err := json.Unmarshal(a.Body, &all); err != nil || all.Value == nil {
		t.Fatalf("the fences: %v\n%s", err, a.Body)
	}
	for _, f := range all.Value {
		if strings.EqualFold(f.ID, id) {
			of = append(of, f)
		}
	}
	return of
}

// wantFence wants one fence to stand for an ID in westus, and returns it.
func (w stubWorld) wantFence(t *testing.T, id, kind string) fence {
	t.Helper()
	all := w.fences(t, id)
	i := slices.IndexFunc(all, func(f fence) bool { return strings.EqualFold(f.Kind, kind) && f.Region == "westus" })
	switch {
	case i < 0:
		t.Fatalf("no fence for %s, left by a %s in westus, among %+v", id, kind, all)
	case all[i].Until.Before(time.Now()) || all[i].Until.After(time.Now().Add(fenceWindow+time.Minute)):
		t.Fatalf("it is %v, and the fence stands until %v", time.Now(), all[i].Until)
	}
	return all[i]
}

// wantFenced wants a client to find nothing at an ID under a fence, and to be able
// to make nothing there, in any region and casing.
func (w stubWorld) wantFenced(t *testing.T, id string) {
	t.Helper()
	for _, written := range []string{id, strings.Replace(id, stubThings, strings.ToUpper(stubThings), 1), strings.ToUpper(id[:len(id)-1]) + id[len(id)-1:]} {
		for _, region := range []string{"westus", "eastus"} {
			if a := w.put(t, written, region).WantError(t, 409, "Conflict"); a.Header.Get("Retry-After") == "" {
				t.Errorf("PUT %s: no Retry-After", written)
			}
		}
	}
	w.send(t, http.MethodGet, id, "").WantError(t, 404, "ResourceNotFound")
	w.send(t, http.MethodHead, id, "").Want(t, 404)
	if w.shown(t, id) {
		t.Error("/resources shows it")
	}
}

func TestFenceOfADELETEWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	w := newStubWorld(t, fenceSettings)
	fill(t, w.World, "rg", map[string]string{stubThings + "a": "eastus", stubThings + "odd": "westus"})
	id := w.thing("rg", "odd")
	w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, Times: 1, Answer: harness.Silence})
	result, _ := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantGone(t, result, "rg")
	if n := w.stub.count("westus", http.MethodDelete, id); n < 2 {
		t.Fatalf("the resource went by %d DELETEs, want the one without an answer and another", n)
	}

	w.PutGroup(t, "rg")
	f := w.wantFence(t, id, "DELETE")
	w.wantFenced(t, id)
	create(t, w.Portico, w.thing("rg", "other"), "westus")
	w.Portico.Kill(t)
	w.Portico.Restart(t)
	w.wantFence(t, id, "DELETE")
	w.wantFenced(t, id)
	if w.stub.Remove("westus", id) {
		t.Error("the late DELETE hit a resource that was made after its group had gone")
	}

	soon(t, "the resource to be made again", func() bool {
		return w.put(t, id, "westus").Want(t, 200, 201, 409, 503, 504).Status/100 == 2 // those of a busy machine among them
	})
	calls := w.stub.seen(func(c harness.Call) bool { return c.Method == http.MethodPut && strings.EqualFold(c.Path, id) })
	if last := calls[len(calls)-1]; last.At.Before(f.Until) {
		t.Errorf("it was made at %v, before the end of the fence at %v", last.At, f.Until)
	}
	soon(t, "the fence to go", func() bool { return len(w.fences(t, id)) == 0 })
	w.send(t, http.MethodGet, id, "").Want(t, 200)
	w.wantHeldIn(t, id, "westus")
	w.wantHeldIn(t, w.thing("rg", "other"), "westus")
}

func TestFenceOfAPUTThatLandsAfterItsGroupHasGone(t *testing.T) {
	t.Parallel()
	w, id := newLatePUT(t)
	f := w.wantFence(t, id, "PUT")
	w.PutGroup(t, "rg")
	w.wantFenced(t, id)
	calls := len(w.stub.own(http.MethodGet, id))
	soon(t, "Portico to ask for what the PUT may have made", func() bool { return len(w.stub.own(http.MethodGet, id)) > calls })
	w.wantLatePUTDeleted(t, id, f)
}

// newLatePUT deletes a group into which a PUT was sent that has brought no answer,
// and may yet land.
func newLatePUT(t *testing.T) (w stubWorld, id string) {
	t.Helper()
	w = newStubWorld(t, fenceSettings)
	fill(t, w.World, "rg", map[string]string{stubThings + "a": "eastus"})
	id = w.thing("rg", "late")
	w.stub.Script(harness.Script{Method: http.MethodPut, Part: id, Times: 1, Answer: harness.Silence})
	soon(t, "the PUT to be sent", func() bool {
		return w.put(t, id, "westus").Want(t, 503, 504).Status == http.StatusGatewayTimeout // 503: too busy to send it
	})
	if n := w.stub.count("westus", http.MethodPut, id); n != 1 {
		t.Fatalf("%d PUTs reached westus", n)
	}
	result, _ := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantGone(t, result, "rg")
	return w, id
}

// wantLatePUTDeleted has the PUT land, and wants Portico to find what it made and to
// delete it, and no client to get at it meanwhile, though the group is there again.
func (w stubWorld) wantLatePUTDeleted(t *testing.T, id string, f fence) {
	t.Helper()
	deletes := len(w.stub.own(http.MethodDelete, id))
	w.stub.Hold("westus", id)
	w.send(t, http.MethodGet, id, "").WantError(t, 404, "ResourceNotFound")
	soon(t, "Portico to delete what the late PUT has made", func() bool {
		return !w.stub.Holds("westus", id)
	})
	if n := len(w.stub.own(http.MethodDelete, id)); n <= deletes {
		t.Errorf("%d DELETEs came, want more than the %d of before", n, deletes)
	}
	if n := w.stub.count("westus", http.MethodPut, id); n != 1 {
		t.Errorf("%d PUTs reached westus", n)
	}
	soon(t, "the fences to go", func() bool { return len(w.fences(t, id)) == 0 })
	requests := w.stub.own(http.MethodGet, id)
	if !slices.ContainsFunc(requests, func(c harness.Call) bool { return c.At.After(f.Until) }) {
		t.Errorf("it is %v, and the fence that stood until %v went before Portico had asked once more", time.Now(), f.Until)
	}
	w.wantHistoryOfLanding(t, id)
	w.wantHeldIn(t, id)
	w.put(t, id, "westus").Want(t, 201)
	w.send(t, http.MethodGet, id, "").Want(t, 200)
}

// wantHistoryOfLanding wants the history of an ID to say that its PUT has landed late, and
// what became of that, each with the request that asked for it: the PUT, and the deletion of
// the group.
func (w stubWorld) wantHistoryOfLanding(t *testing.T, id string) {
	t.Helper()
	history := func(id string) (story, requests []string) { // the newest first
		for _, change := range w.sendTo(t, http.MethodGet, id+"/providers/Microsoft.Resources/changes?api-version=2022-05-01", "").Want(t, 200).Values(t) {
			p := change["properties"].(map[string]any)
			story = append(story, fmt.Sprint(p["changeType"], " ", p["status"], " ", p["origin"], " ", p["job"]))
			requests = append(requests, fmt.Sprint(p["changeAttributes"].(map[string]any)["correlationId"]))
		}
		return story, requests
	}
	story, by := history(id)
	sent := slices.Index(story, "Create Started answer <nil>")
	landed := slices.Index(story, "Create Succeeded landing <nil>")
	deleted := slices.Index(story, "Delete Succeeded answer group-delete")
	if deleted < 0 || landed < deleted || sent < landed {
		t.Fatalf("the history of %s is %q", id, story)
	}
	ofGroup, askers := history(w.GroupPath("rg"))
	asked := askers[slices.Index(ofGroup, "Delete Succeeded portico group-delete")]
	if by[landed] != by[sent] || by[deleted] != asked || by[sent] == asked {
		t.Errorf("the history of %s is %q by %q; the group was deleted by %s", id, story, by, asked)
	}
}
