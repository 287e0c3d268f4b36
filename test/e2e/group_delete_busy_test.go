package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

// ownWrite is a client's write of a thing that its provider has accepted. Until it has
// ended, the provider refuses DELETEs of the thing, and names no time.
type ownWrite struct {
	*stubOperation
	w stubWorld
}

// The refusals of a DELETE while a write runs.
var (
	anotherOperation = harness.Fault(http.StatusConflict, "AnotherOperationInProgress", "Another operation on the thing is in progress.")
	waitUntilEnded   = harness.Fault(http.StatusBadRequest, "BadRequest", "The thing is being written. Wait until that has ended.")
)

// begin sends a write of a thing, which goes on. A PUT answered 201 shows the thing as
// Creating; one answered 202 does not show it yet.
func (w stubWorld) begin(t *testing.T, method, id string, status int, refusal harness.Reply) *ownWrite {
	t.Helper()
	o := &ownWrite{stubOperation: w.stub.accept(method, "westus", id, "Azure-AsyncOperation"), w: w}
	runs := func(harness.Call) bool { return !o.finished.Load() }
	if status == http.StatusCreated {
		creating := fmt.Sprintf(`{"id":%q,"location":"westus","properties":{"provisioningState":"Creating"}}`, id)
		w.stub.Script(harness.Script{Method: method, Part: id, Times: 1, Answer: harness.Reply{Status: status, Body: creating, Header: harness.Header(
			"Azure-AsyncOperation", fmt.Sprintf("%s%s/providers/Contoso.Stub/locations/westus/operationStatuses/%s?api-version=%s", w.stub.URLs["westus"], w.SubscriptionPath(), o.name, harness.Version))}})
		w.stub.Script(harness.Script{Method: http.MethodGet, Part: id, When: runs, Answer: harness.Reply{Status: http.StatusOK, Body: creating}})
	}
	w.send(t, method, id, body("westus")).Want(t, status)
	w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, When: runs, Answer: refusal})
	return o
}

// finish ends the operation, with its effect.
func (o *ownWrite) finish() {
	if o.method == http.MethodPatch {
		o.finished.Store(true)
		return
	}
	o.stubOperation.finish()
}

// fail ends the operation in a failure. A create leaves nothing behind.
func (o *ownWrite) fail() {
	o.stub.On(http.MethodGet, "/"+o.name+"?", func(w http.ResponseWriter, r *http.Request) {
		harness.Reply{Status: http.StatusOK, Body: `{"status":"Failed","error":{"code":"NoRoom","message":"There is no room."}}`}.ServeHTTP(w, r)
	})
	o.finished.Store(true)
}

// wantRefused wants a DELETE of the thing to have been refused, and the deletion's status to
// say that it waits for the write.
func (o *ownWrite) wantRefused(t *testing.T, status, what string) {
	t.Helper()
	soon(t, "a DELETE of what is busy", func() bool { return o.w.stub.count("westus", http.MethodDelete, o.id) > 0 })
	o.w.wantWaitingFor(t, status, "the "+what+" of "+o.id, func(waits waitedFor) bool {
		return waits.ID == o.id && strings.Contains(waits.Reason, "a "+what+" of it may be under way")
	})
}

// jobOf is the open job of a kind.
func jobOf(t *testing.T, p *harness.Portico, kind string) string {
	t.Helper()
	jobs := p.Admin(t, harness.Request{Path: "/admin/jobs?kind=" + kind}).Want(t, 200).Values(t)
	at := slices.IndexFunc(jobs, func(j map[string]any) bool { return j["state"] == "Waiting" })
	if at < 0 {
		t.Fatalf("no such job: %v", jobs)
	}
	return jobs[at]["id"].(string)
}

// A member that refuses to go while a write of its own runs is no reason to give up: the
// deletion waits for the end of the write, says so, and tries it again.
func TestGroupDeleteWaitsForAMembersOwnWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method  string
		status  int
		refusal harness.Reply
		fails   bool
	}{
		"a create that shows":       {http.MethodPut, 201, anotherOperation, false},
		"a create that is hidden":   {http.MethodPut, 202, waitUntilEnded, false},
		"a create that fails":       {http.MethodPut, 201, waitUntilEnded, true},
		"a hidden one that fails":   {http.MethodPut, 202, anotherOperation, true},
		"an update":                 {http.MethodPatch, 202, anotherOperation, false},
		"an update that fails":      {http.MethodPatch, 202, waitUntilEnded, true},
		"an update by another code": {http.MethodPatch, 202, harness.Fault(http.StatusPreconditionFailed, "NotNow", "Not now."), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, id := newStubThing(t, stubSettings, "Busy")
			fill(t, w.World, "rg", map[string]string{stubThings + "a": "westus", stubThings + "b": "eastus"})
			if c.method == http.MethodPatch {
				create(t, w.Portico, id, "westus")
			}
			write := w.begin(t, c.method, id, c.status, c.refusal)
			result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
			write.wantRefused(t, status, c.method)
			soon(t, "the others to go", func() bool { return len(w.stub.Holding(w.GroupPath("rg"))) <= 1 })
			// Each further pass over what was refused may try it once.
			if n := w.stub.count("westus", http.MethodDelete, id); n > 3 {
				t.Errorf("%d DELETEs of what is busy", n)
			}
			before := w.stub.count("westus", http.MethodDelete, id)
			if c.fails {
				write.fail()
			} else {
				write.finish()
			}
			w.wantGone(t, result, "rg")
			if n := w.stub.count("westus", http.MethodDelete, id); n > before+1 {
				t.Errorf("%d DELETEs after the write had ended", n-before)
			}
		})
	}
}

// The console's page and `portico jobs` name the member, and what it waits for.
func TestOperatorsSeeWhichWriteADeletionWaitsFor(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "Busy")
	write := w.begin(t, http.MethodPut, id, 201, anotherOperation)
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	write.wantRefused(t, status, http.MethodPut)
	job := jobOf(t, w.Portico, "group-delete")
	soon(t, "the members to name the write", func() bool {
		var members struct {
			Members []struct{ ID, State, OwnWrite, Why string }
		}
		harness.OK(t, json.Unmarshal(w.Portico.Admin(t, harness.Request{Path: "/admin/jobs/" + job + "/members"}).Want(t, 200).Body, &members))
		m := members.Members
		return len(m) == 1 && m[0].ID == id && m[0].State == "refused" && m[0].OwnWrite == "PUT" && strings.Contains(m[0].Why, "AnotherOperationInProgress")
	})
	text, _ := (commander{}).run(t, 0, "jobs", "show", job, "--admin", w.Portico.AdminURL)
	if !strings.Contains(text, "its own PUT") || !strings.Contains(text, "things/Busy") {
		t.Error(text)
	}
	write.finish()
	w.wantGone(t, result, "rg")
}

// The limit of the deletion ends the wait too, with the provider's own words. The group is
// given back, and can be deleted once the write has ended.
func TestGroupDeleteWhoseMemberIsBusyBeyondItsLimit(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings+"groupDelete: {limit: 4s}\n", "Busy")
	write := w.begin(t, http.MethodPut, id, 201, anotherOperation)
	result, _ := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	end := w.result(t, result, settled)
	end.WantError(t, 409, "ResourceGroupDeletionTimeout")
	var fault struct {
		Error struct {
			Details []struct{ Code, Target string }
		}
	}
	harness.OK(t, json.Unmarshal(end.Body, &fault))
	if d := fault.Error.Details; len(d) != 1 || d[0].Code != "AnotherOperationInProgress" || d[0].Target != id {
		t.Errorf("%s", end.Body)
	}
	w.sendTo(t, http.MethodGet, w.GroupPath("rg")+"?api-version=2021-04-01", "").Want(t, 200)
	write.finish()
	result, _ = ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantGone(t, result, "rg")
}

// A deletion that waits for a write can be cancelled, and goes on after a kill.
func TestGroupDeleteWithABusyMemberIsCancelled(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "Busy")
	write := w.begin(t, http.MethodPut, id, 201, waitUntilEnded)
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	write.wantRefused(t, status, http.MethodPut)
	w.Portico.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/jobs/" + jobOf(t, w.Portico, "group-delete") + "/cancel"}).Want(t, 202)
	w.result(t, result, settled).WantError(t, 409, "OperationCanceled")
	if ended, waits := w.waitsFor(t, status); !ended || len(waits) > 0 {
		t.Errorf("ended: %t, and it waits for %v", ended, waits)
	}
	before := w.stub.count("westus", http.MethodDelete, id)
	write.finish()
	w.wantLiveInWestUS(t, id)
	if n := w.stub.count("westus", http.MethodDelete, id); n != before {
		t.Errorf("%d DELETEs after the cancellation", n-before)
	}
}

func TestGroupDeleteWithABusyMemberOutlivesAKill(t *testing.T) {
	t.Parallel()
	for name, while := range map[string]bool{"the write goes on": true, "the write ends meanwhile": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, id := newStubThing(t, stubSettings, "Busy")
			fill(t, w.World, "rg", map[string]string{stubThings + "a": "westus"})
			write := w.begin(t, http.MethodPut, id, 201, anotherOperation)
			result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
			write.wantRefused(t, status, http.MethodPut)
			w.Portico.Kill(t)
			if !while {
				write.finish()
			}
			w.Portico.Restart(t)
			if while {
				write.wantRefused(t, status, http.MethodPut)
				write.finish()
			}
			w.wantGone(t, result, "rg")
		})
	}
}

// A write that has no answer yet when its group's deletion begins is waited for as well.
func TestGroupDeleteWaitsForAMembersOpenWrite(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "Busy")
	create(t, w.Portico, id, "westus")
	came, answer := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(release)
	held := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		close(came)
		<-answer
		harness.Reply{Status: http.StatusOK, Body: w.stub.Holding(id)[0].Text}.ServeHTTP(rw, r)
	})
	w.stub.Script(harness.Script{Method: http.MethodPut, Part: id, Times: 1, Answer: held})
	w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, Answer: anotherOperation, When: func(harness.Call) bool {
		select {
		case <-answer:
			return false
		default:
			return true
		}
	}})
	put := make(chan int, 1)
	go func() {
		a, _ := w.Portico.Try(t.Context(), harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: body("westus")})
		put <- a.Status
	}()
	<-came
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	soon(t, "the deletion to wait for the PUT", func() bool {
		ended, all := w.waitsFor(t, status)
		if ended {
			t.Fatal("the deletion has ended")
		}
		return slices.ContainsFunc(all, func(waits waitedFor) bool {
			return waits.ID == id && strings.Contains(waits.Reason, "a PUT of it may be under way")
		})
	})
	release()
	if got := <-put; got != http.StatusOK {
		t.Errorf("the PUT is answered %d", got)
	}
	w.wantGone(t, result, "rg")
}

// A DELETE of a client's that was accepted, and fails, leaves the deletion its own try, also
// if nothing else goes.
func TestGroupDeleteAfterAClientsDELETEFails(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "Busy")
	stays := w.thing("rg", "stays")
	create(t, w.Portico, id, "westus")
	create(t, w.Portico, stays, "westus")
	write := w.begin(t, http.MethodDelete, id, 202, anotherOperation)
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	w.stub.On(http.MethodDelete, stays, func(rw http.ResponseWriter, r *http.Request) {
		<-release
		harness.Fault(http.StatusConflict, "InUse", "It stays.").ServeHTTP(rw, r)
	})
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	soon(t, "a DELETE that is not answered yet", func() bool { return w.stub.count("westus", http.MethodDelete, stays) > 0 })
	w.wantWaitingFor(t, status, id, ofThing(id))
	write.fail()
	soon(t, "the index to know that the client's DELETE has failed", func() bool {
		return openJobs(t, w.Portico, "follow")+openJobs(t, w.Portico, "verify") == 0
	})
	free()
	w.result(t, result, settled).WantError(t, 409, "ResourceGroupDeletionBlocked")
	left := w.stub.Holding(w.GroupPath("rg"))
	if n := len(w.stub.own(http.MethodDelete, id)); n != 1 || len(left) != 1 || left[0].ID != stays {
		t.Errorf("%d DELETEs of the deletion's own; there are %v", n, left)
	}
}

// The write of a stray, which no one follows, is asked for.
func TestGroupDeleteWaitsForTheWriteOfAStray(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "Busy")
	fill(t, w.World, "rg", map[string]string{stubThings + "Busy": "westus", stubThings + "b": "eastus"})
	var ended atomic.Bool
	runs := func(c harness.Call) bool { return c.Region == "eastus" && !ended.Load() }
	w.stub.Hold("eastus", id)
	w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, When: runs, Answer: anotherOperation})
	w.stub.Script(harness.Script{Method: http.MethodGet, Part: id, When: runs, Answer: harness.Reply{
		Status: http.StatusOK, Body: fmt.Sprintf(`{"id":%q,"location":"eastus","properties":{"provisioningState":"Updating"}}`, id),
	}})
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantWaitingFor(t, status, "the write of a stray", func(waits waitedFor) bool {
		return waits.Region == "eastus" && strings.Contains(waits.Reason, "a write of it may be under way")
	})
	ended.Store(true)
	w.wantGone(t, result, "rg")
}

// A parent is refused because of the write of its child, which goes before or with it.
func TestGroupDeleteWaitsForTheWriteOfAChild(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: deletionSettings}})
	fill(t, w, "rg", map[string]string{"Contoso.Compute/virtualMachines/vm": "westus", "Contoso.Compute/networkInterfaces/nic": "eastus"})
	for _, child := range []string{"virtualMachines/vm/disks/d", "networkInterfaces/nic/ipConfigurations/i"} {
		w.Portico.Do(t, harness.Request{
			Method: http.MethodPut, Path: w.ResourcePath("rg", "Contoso.Compute/"+child) + "?api-version=" + harness.Version, Body: `{"properties":{}}`,
			Header: harness.Header("x-contoso-async", "azure-async", "x-contoso-duration", "3s"),
		}).Want(t, 201)
	}
	misbehave(t, w, "DELETE", "/resourceGroups/rg/", "busy=AnotherOperationInProgress", -1)
	beginDelete(t, w, w.Portico, "rg").gone(t, w.Portico)
}

// onlyThing has one thing, and no other in its group.
const onlyThing = `{"properties": {"mode": "Complete", "template": {
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
  "resources": [{"type": "Contoso.Stub/things", "apiVersion": "2024-01-01", "name": "kept", "location": "westus", "properties": {}}]}}}`

// complete begins a deployment in complete mode, over a thing with a write of its own.
func (w stubWorld) complete(t *testing.T, write *ownWrite) (poll string) {
	t.Helper()
	poll = putDeployment(t, w.World, w.Portico, "d", onlyThing, 201)
	soon(t, "a DELETE of what is busy", func() bool { return w.stub.count("westus", http.MethodDelete, write.id) > 0 })
	return poll
}

// waitsInDeployment wants the deployment's page to say that it waits for the write.
func (o *ownWrite) waitsInDeployment(t *testing.T, what string) {
	t.Helper()
	soon(t, "the step to say what it waits for", func() bool {
		var d struct {
			Steps []struct{ ID, State, Why, WaitsFor string }
		}
		harness.OK(t, json.Unmarshal(o.w.Portico.Admin(t, harness.Request{Path: "/admin/jobs/" + jobOf(t, o.w.Portico, "deployment") + "/deployment"}).Want(t, 200).Body, &d))
		for _, s := range d.Steps {
			if s.ID == o.id && s.State == "Waiting" && s.Why != "" && strings.Contains(s.WaitsFor, "a "+what+" of it may be under way") {
				return true
			}
		}
		return false
	})
}

// Complete mode waits for the own writes of what it deletes as the deletion of a group does.
func TestDeploymentInCompleteModeWaitsForOwnWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method       string
		status       int
		refusal      harness.Reply
		fails, kills bool
	}{
		"a create":             {http.MethodPut, 201, anotherOperation, false, false},
		"a create that fails":  {http.MethodPut, 201, waitUntilEnded, true, false},
		"an update":            {http.MethodPatch, 202, waitUntilEnded, false, false},
		"an update that fails": {http.MethodPatch, 202, anotherOperation, true, false},
		"a create, and a kill": {http.MethodPut, 201, anotherOperation, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, id := newStubThing(t, stubSettings, "Busy")
			fill(t, w.World, "rg", map[string]string{stubThings + "a": "eastus"})
			if c.method == http.MethodPatch {
				create(t, w.Portico, id, "westus")
			}
			write := w.begin(t, c.method, id, c.status, c.refusal)
			poll := w.complete(t, write)
			write.waitsInDeployment(t, c.method)
			if c.kills {
				w.Portico.Kill(t)
				w.Portico.Restart(t)
				write.waitsInDeployment(t, c.method)
			}
			if c.fails {
				write.fail()
			} else {
				write.finish()
			}
			end, d := deployed(t, w.World, w.Portico, "d", poll)
			left := w.stub.Holding(w.GroupPath("rg"))
			if end != "Succeeded" || len(left) != 1 || !strings.HasSuffix(left[0].ID, "/kept") {
				t.Errorf("%s: %s: %v", end, d.Properties.Error, left)
			}
		})
	}
}

func TestDeploymentInCompleteModeWhoseMemberIsBusyBeyondItsLimit(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings+"deployments: {limit: 6s}\n", "Busy")
	write := w.begin(t, http.MethodPut, id, 201, anotherOperation)
	end, d := deployed(t, w.World, w.Portico, "d", w.complete(t, write))
	if fault := string(d.Properties.Error); end != "Failed" || !strings.Contains(fault, "AnotherOperationInProgress") || !strings.Contains(fault, "time of 6s was over") {
		t.Errorf("%s: %s", end, fault)
	}
}

func TestDeploymentInCompleteModeWithABusyMemberIsCancelled(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "Busy")
	write := w.begin(t, http.MethodPut, id, 201, anotherOperation)
	poll := w.complete(t, write)
	write.waitsInDeployment(t, http.MethodPut)
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w.World, "d") + "/cancel?api-version=2021-04-01"}).Want(t, 204)
	if end, _ := deployed(t, w.World, w.Portico, "d", poll); end != "Canceled" {
		t.Error(end)
	}
	write.finish()
	w.wantLiveInWestUS(t, id)
}

// A client polls its own write as before, whatever becomes of the group.
func TestPollsOfAWriteWhoseGroupIsDeleted(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "Busy")
	o := w.stub.accept(http.MethodPut, "westus", id, "Azure-AsyncOperation")
	w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, When: func(harness.Call) bool { return !o.finished.Load() }, Answer: anotherOperation})
	link, err := url.Parse(w.put(t, id, "westus").Want(t, 202).Header.Get("Azure-AsyncOperation"))
	harness.OK(t, err)
	state := func() string {
		state, _ := w.sendTo(t, http.MethodGet, link.RequestURI(), "").Want(t, 200).JSON(t)["status"].(string)
		return state
	}
	result, status := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))
	w.wantWaitingFor(t, status, id, ofThing(id))
	if got := state(); got != "InProgress" {
		t.Errorf("while it is waited for, the write is %q", got)
	}
	o.finish()
	w.wantGone(t, result, "rg")
	if got := state(); got != "Succeeded" {
		t.Errorf("after its group has gone, the write is %q", got)
	}
}
