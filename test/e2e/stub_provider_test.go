package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

const (
	stubThings = "Contoso.Stub/things/"
	// relayedMark is a header of the tests' own requests. Portico passes it on, and
	// sends it with none of the calls that it makes by itself.
	relayedMark = "X-Stub-Relayed"
)

// stubSettings hurries what the tests wait for, and leaves a busy machine the time
// that it needs for calls that are answered.
const stubSettings = `
index: {sendWithin: 30s, askTimeout: 20s, lateWriteWindow: 2s, callMargin: 500ms, pollFloor: 50ms, sweepInterval: 0s}
upstream: {callTimeout: 30s}
operations: {retryAfterMin: 1s, retryAfterMax: 1s, firstAnswer: 0s}
`

// stub is the provider of a namespace in all regions.
type stub struct {
	*harness.Scripted
	accepted int // operations so far
}

// stubOperation is an accepted write of a resource. Nothing of it shows before it
// is finished.
type stubOperation struct {
	stub                     *stub
	name, method, region, id string
	finished                 atomic.Bool
}

// stubWorld is a Portico in front of a stub.
type stubWorld struct {
	*harness.World
	stub *stub
}

func newStubWorld(t *testing.T, settings string) stubWorld {
	t.Helper()
	s := &stub{Scripted: harness.StartScripted(t)}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: s.URLs,
		Providers: "  - namespace: Contoso.Stub\n    registration: automatic\n    headers: {request: [" + relayedMark + "]}\n    endpoints:\n" + s.Endpoints() +
			fmt.Sprintf("    resourceTypes:\n      - {name: things, kind: tracked, capabilities: {move: true}, apiVersions: [%q, %q]}\n", harness.Version, harness.VersionOld),
		Tokens: []harness.Token{alice},
		Extra:  settings,
	}})
	return stubWorld{w, s}
}

// newStubThing is newStubWorld with a group "rg" and the id of a resource in it,
// which is not created yet.
func newStubThing(t *testing.T, settings, name string) (w stubWorld, id string) {
	t.Helper()
	w = newStubWorld(t, settings)
	w.PutGroup(t, "rg")
	return w, w.thing("rg", name)
}

// thing is the ID of a resource of the stub.
func (w stubWorld) thing(group, name string) string { return w.ResourcePath(group, stubThings+name) }

// send makes a client's call of a resource.
func (w stubWorld) send(t *testing.T, method, id, content string) harness.Answer {
	t.Helper()
	return w.sendTo(t, method, id+"?api-version="+harness.Version, content)
}

func (w stubWorld) sendTo(t *testing.T, method, path, content string) harness.Answer {
	t.Helper()
	return w.Portico.Do(t, harness.Request{Method: method, Path: path, Body: content, Header: harness.Header(relayedMark, "yes")})
}

func (w stubWorld) put(t *testing.T, id, region string) harness.Answer {
	t.Helper()
	return w.send(t, http.MethodPut, id, body(region))
}

// shown reports whether the list of all resources has an ID.
func (w stubWorld) shown(t *testing.T, id string) bool {
	t.Helper()
	list := w.sendTo(t, http.MethodGet, w.SubscriptionPath()+"/resources?api-version=2021-04-01", "").Want(t, 200)
	return slices.ContainsFunc(list.Values(t), func(r map[string]any) bool {
		shown, _ := r["id"].(string)
		return strings.EqualFold(shown, id)
	})
}

// wantRefusedInEastUS wants the index to keep a resource of westus: a PUT to
// another region is refused, and does not reach it.
func (w stubWorld) wantRefusedInEastUS(t *testing.T, when, id string) harness.Answer {
	t.Helper()
	a := w.put(t, id, "eastus")
	if a.Status != http.StatusConflict {
		t.Fatalf("%s, a PUT to eastus: status %d, want 409; body: %s", when, a.Status, a.Body)
	}
	if n := w.stub.count("eastus", http.MethodPut, id); n != 0 {
		t.Fatalf("%s, %d PUTs reached eastus", when, n)
	}
	return a
}

// wantLiveInWestUS wants the index to know a resource of westus for certain,
// before long.
func (w stubWorld) wantLiveInWestUS(t *testing.T, id string) {
	t.Helper()
	soon(t, "the resource to be shown in /resources", func() bool { return w.shown(t, id) })
	soon(t, "a PUT to eastus to be refused as InvalidResourceLocation", func() bool {
		return w.wantRefusedInEastUS(t, "while the resource lies in westus", id).ErrorCode() == "InvalidResourceLocation"
	})
	w.send(t, http.MethodHead, id, "").Want(t, 204)
	w.send(t, http.MethodGet, id, "").Want(t, 200)
	w.wantHeldIn(t, id, "westus")
}

// wantForgotten wants the index to know nothing of a resource of westus, before
// long: it can be made in eastus.
func (w stubWorld) wantForgotten(t *testing.T, id string) {
	t.Helper()
	soon(t, "the resource to be made in eastus", func() bool {
		return w.put(t, id, "eastus").Want(t, 201, 409).Status == http.StatusCreated
	})
	w.wantHeldIn(t, id, "eastus")
}

// wantHeldIn wants exactly these regions to hold a resource.
func (w stubWorld) wantHeldIn(t *testing.T, id string, regions ...string) {
	t.Helper()
	var holders []string
	for _, region := range harness.RegionNames() {
		if w.stub.Holds(region, id) {
			holders = append(holders, region)
		}
	}
	if !slices.Equal(holders, regions) {
		t.Fatalf("%s is held in %v, want %v", id, holders, regions)
	}
}

// accept has the next write of a resource accepted by 202, and its operation named
// by a header.
func (s *stub) accept(method, region, id, header string) *stubOperation {
	s.accepted++
	o := &stubOperation{stub: s, name: fmt.Sprintf("op-%d", s.accepted), method: method, region: region, id: id}
	s.On("", "/"+o.name+"?", o.poll)
	subscription, _, _ := strings.Cut(id, "/resourceGroups/")
	kind := map[string]string{"Location": "operationresults", "Azure-AsyncOperation": "operationStatuses"}[header]
	s.Script(harness.Script{Method: method, Part: id, Times: 1, Answer: harness.Reply{Status: http.StatusAccepted, Header: harness.Header(
		header, fmt.Sprintf("%s%s/providers/Contoso.Stub/locations/%s/%s/%s?api-version=%s", s.URLs[region], subscription, region, kind, o.name, harness.Version))}})
	return o
}

// finish ends the operation, with its effect.
func (o *stubOperation) finish() {
	if o.method == http.MethodPut {
		o.stub.Hold(o.region, o.id)
	} else {
		o.stub.Remove(o.region, o.id)
	}
	o.finished.Store(true)
}

// poll answers a poll of the operation.
func (o *stubOperation) poll(w http.ResponseWriter, r *http.Request) {
	answer := harness.Reply{Status: http.StatusNoContent}
	switch status, finished := strings.Contains(r.URL.Path, "/operationStatuses/"), o.finished.Load(); {
	case status && finished:
		answer = harness.Reply{Status: http.StatusOK, Body: `{"status":"Succeeded"}`}
	case status:
		answer = harness.Reply{Status: http.StatusOK, Body: `{"status":"InProgress"}`}
	case !finished:
		answer = harness.Reply{Status: http.StatusAccepted, Header: harness.Header("Location", o.stub.URLs[o.region]+r.RequestURI)}
	case o.method == http.MethodPut:
		answer = harness.Reply{Status: http.StatusOK, Body: o.stub.Holding(o.id)[0].Text}
	}
	answer.ServeHTTP(w, r)
}

// polls are the polls of the operation that Portico has made by itself.
func (o *stubOperation) polls() []harness.Call {
	return o.stub.seen(func(c harness.Call) bool { return !relayed(c) && strings.HasSuffix(c.Path, "/"+o.name) })
}

// relayed reports whether a call is a client's; else it is Portico's own.
func relayed(c harness.Call) bool { return c.Header.Get(relayedMark) != "" }

// seen are the calls so far for which fits holds.
func (s *stub) seen(fits func(harness.Call) bool) []harness.Call {
	return slices.DeleteFunc(s.Calls(), func(c harness.Call) bool { return !fits(c) })
}

// count is how many calls of a resource have come to a region.
func (s *stub) count(region, method, id string) int {
	return len(s.seen(func(c harness.Call) bool {
		return c.Region == region && c.Method == method && strings.EqualFold(c.Path, id)
	}))
}

// own are the calls of a resource that Portico has made by itself.
func (s *stub) own(method, id string) []harness.Call {
	return s.seen(func(c harness.Call) bool { return !relayed(c) && c.Method == method && strings.EqualFold(c.Path, id) })
}
