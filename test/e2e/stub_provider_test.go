package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
operations: {retryAfterMin: 1s, retryAfterMax: 1s}
`

// stub is the provider of a namespace in all regions. It answers as a plain
// synchronous provider, but for the calls that its scripts decide.
type stub struct {
	urls map[string]string // by region

	mu         sync.Mutex
	held       map[string]string // IDs as they were written, by stubKey
	operations map[string]*stubOperation
	scripts    []*stubScript
	calls      []stubCall
}

// stubCall is a request that reached the stub.
type stubCall struct {
	region, method, path, query string
	at                          time.Time
	relayed                     bool   // of a client; else Portico's own
	principal                   string // whose identity it carries; "" for none
}

// stubAnswer is what a script does with a call. The zero body is empty.
type stubAnswer struct {
	status int
	body   string
	html   bool // the body's kind; JSON else
	header http.Header
	reset  bool // the connection is closed
	silent bool // no answer comes
}

// stubScript decides about calls of a method, or of any where that is empty, whose
// path contains a text, in any casing. Later scripts come before earlier ones.
type stubScript struct {
	method, path string
	when         func(stubCall) bool // nil: always
	left         int                 // how often yet; 0: for ever
	answer       stubAnswer
}

// stubOperation is an accepted write of a resource. Nothing of it shows before it
// is finished.
type stubOperation struct {
	stub                     *stub
	name, method, region, id string
	finished                 bool // guarded by the stub's mutex
}

func newStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{urls: map[string]string{}, held: map[string]string{}, operations: map[string]*stubOperation{}}
	for _, region := range append(harness.RegionNames(), "global") {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, region) }))
		t.Cleanup(server.Close)
		s.urls[region] = server.URL
	}
	return s
}

// stubWorld is a Portico in front of a stub.
type stubWorld struct {
	*harness.World
	stub *stub
}

func newStubWorld(t *testing.T, settings string) stubWorld {
	t.Helper()
	s := newStub(t)
	var endpoints strings.Builder
	for region, url := range s.urls {
		fmt.Fprintf(&endpoints, "      %s: [%q]\n", region, url)
	}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: s.urls,
		Providers: "  - namespace: Contoso.Stub\n    registration: automatic\n    headers: {request: [" + relayedMark + "]}\n    endpoints:\n" + endpoints.String() +
			fmt.Sprintf("    resourceTypes:\n      - {name: things, kind: tracked, apiVersions: [%q, %q]}\n", harness.Version, harness.VersionOld),
		Tokens: []harness.Token{alice},
		Extra:  settings,
	}})
	return stubWorld{w, s}
}

// thing is the ID of a resource of the stub.
// newStubThing is newStubWorld with a group "rg" and the id of a resource in it,
// which is not created yet.
func newStubThing(t *testing.T, settings, name string) (w stubWorld, id string) {
	t.Helper()
	w = newStubWorld(t, settings)
	w.PutGroup(t, "rg")
	return w, w.thing("rg", name)
}

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
		if w.stub.holds(region, id) {
			holders = append(holders, region)
		}
	}
	if !slices.Equal(holders, regions) {
		t.Fatalf("%s is held in %v, want %v", id, holders, regions)
	}
}

// stubKey is how the stub finds what it holds.
func stubKey(region, id string) string { return region + " " + strings.ToLower(id) }

// hold makes a resource, remove deletes it and reports whether it was there:
// the effects of writes that came to nothing else, or late.
func (s *stub) hold(region, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[stubKey(region, id)] = id
}

func (s *stub) remove(region, id string) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was = s.held[stubKey(region, id)]
	delete(s.held, stubKey(region, id))
	return was
}

func (s *stub) holds(region, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.held[stubKey(region, id)]
	return is
}

// below lists all that is held below a path, with its regions.
func (s *stub) below(path string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.held {
		if _, id, _ := strings.Cut(key, " "); strings.HasPrefix(id, strings.ToLower(path)+"/") {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

// script adds a script, and returns what takes it away.
func (s *stub) script(added stubScript) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if added.left == 0 {
		added.left = -1
	}
	s.scripts = append(s.scripts, &added)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		added.left = 0
	}
}

// accept has the next write of a resource accepted by 202, and its operation named
// by a header.
func (s *stub) accept(method, region, id, header string) *stubOperation {
	s.mu.Lock()
	o := &stubOperation{stub: s, name: fmt.Sprintf("op-%d", len(s.operations)+1), method: method, region: region, id: id}
	s.operations[o.name] = o
	s.mu.Unlock()
	subscription, _, _ := strings.Cut(id, "/resourceGroups/")
	kind := map[string]string{"Location": "operationresults", "Azure-AsyncOperation": "operationStatuses"}[header]
	s.script(stubScript{method: method, path: id, left: 1, answer: stubAnswer{status: http.StatusAccepted, header: harness.Header(
		header, fmt.Sprintf("%s%s/providers/Contoso.Stub/locations/%s/%s/%s?api-version=%s", s.urls[region], subscription, region, kind, o.name, harness.Version))}})
	return o
}

// finish ends the operation, with its effect.
func (o *stubOperation) finish() {
	if o.method == http.MethodPut {
		o.stub.hold(o.region, o.id)
	} else {
		o.stub.remove(o.region, o.id)
	}
	o.stub.mu.Lock()
	defer o.stub.mu.Unlock()
	o.finished = true
}

// polls are the polls of the operation that Portico has made by itself.
func (o *stubOperation) polls() []stubCall {
	return o.stub.seen(func(c stubCall) bool { return !c.relayed && o.polledBy(c) })
}

func (o *stubOperation) polledBy(c stubCall) bool { return strings.HasSuffix(c.path, "/"+o.name) }

// seen are the calls so far for which fits holds.
func (s *stub) seen(fits func(stubCall) bool) (calls []stubCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if fits(c) {
			calls = append(calls, c)
		}
	}
	return calls
}

// count is how many calls of a resource have come to a region.
func (s *stub) count(region, method, id string) int {
	return len(s.seen(func(c stubCall) bool {
		return c.region == region && c.method == method && strings.EqualFold(c.path, id)
	}))
}

// own are the calls of a resource that Portico has made by itself.
func (s *stub) own(method, id string) []stubCall {
	return s.seen(func(c stubCall) bool { return !c.relayed && c.method == method && strings.EqualFold(c.path, id) })
}

func (s *stub) serve(w http.ResponseWriter, r *http.Request, region string) {
	_, _ = io.Copy(io.Discard, r.Body) // what is not read keeps the end of the connection from being seen
	a := s.decide(stubCall{
		region: region, method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, at: time.Now(),
		relayed: r.Header.Get(relayedMark) != "", principal: r.Header.Get("X-Ms-Client-Principal-Name"),
	})
	switch {
	case a.silent:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case a.reset:
		panic(http.ErrAbortHandler)
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	switch {
	case a.html:
		w.Header().Set("Content-Type", "text/html")
	case a.body != "":
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	fmt.Fprint(w, a.body)
}

// decide records a call and finds its answer.
func (s *stub) decide(c stubCall) stubAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	for _, script := range slices.Backward(s.scripts) {
		if script.left == 0 || script.method != "" && script.method != c.method || !strings.Contains(strings.ToLower(c.path), strings.ToLower(script.path)) ||
			script.when != nil && !script.when(c) {
			continue
		}
		if script.left > 0 {
			script.left--
		}
		return script.answer
	}
	return s.plainly(c)
}

// plainly answers as a provider without anything odd.
func (s *stub) plainly(c stubCall) stubAnswer {
	if o := s.operations[c.path[strings.LastIndexByte(c.path, '/')+1:]]; o != nil {
		return o.poll(c)
	}
	collection, name, _ := strings.Cut(c.path, "/"+stubThings[:len(stubThings)-1])
	switch {
	case !strings.Contains(c.path, "/"+stubThings[:len(stubThings)-1]): // a notice of a subscription
		return stubAnswer{status: http.StatusOK, body: "{}"}
	case name == "":
		return s.list(c.region, strings.TrimSuffix(collection, "/providers"))
	}
	key := stubKey(c.region, c.path)
	id, is := s.held[key]
	switch c.method {
	case http.MethodPut:
		if s.held[key] = c.path; is {
			return stubAnswer{status: http.StatusOK, body: stubText(c.path, c.region)}
		}
		return stubAnswer{status: http.StatusCreated, body: stubText(c.path, c.region)}
	case http.MethodDelete:
		if delete(s.held, key); is {
			return stubAnswer{status: http.StatusOK}
		}
		return stubAnswer{status: http.StatusNoContent}
	}
	if is {
		return stubAnswer{status: http.StatusOK, body: stubText(id, c.region)}
	}
	return stubError(http.StatusNotFound, "ResourceNotFound", "The resource '"+c.path+"' was not found.")
}

// poll answers a poll of the operation.
func (o *stubOperation) poll(c stubCall) stubAnswer {
	status := strings.Contains(c.path, "/operationStatuses/")
	switch {
	case status && o.finished:
		return stubAnswer{status: http.StatusOK, body: `{"status":"Succeeded"}`}
	case status:
		return stubAnswer{status: http.StatusOK, body: `{"status":"InProgress"}`}
	case !o.finished:
		return stubAnswer{status: http.StatusAccepted, header: harness.Header("Location", o.stub.urls[o.region]+c.path+"?"+c.query)}
	case o.method == http.MethodPut:
		return stubAnswer{status: http.StatusOK, body: stubText(o.id, o.region)}
	}
	return stubAnswer{status: http.StatusNoContent}
}

// list answers what a region holds below a scope.
func (s *stub) list(region, scope string) stubAnswer {
	elements := []json.RawMessage{}
	for key, id := range s.held {
		if strings.HasPrefix(key, stubKey(region, scope)+"/") {
			elements = append(elements, json.RawMessage(stubText(id, region)))
		}
	}
	text, err := json.Marshal(map[string]any{"value": elements})
	if err != nil {
		return stubError(http.StatusInternalServerError, "InternalServerError", err.Error())
	}
	return stubAnswer{status: http.StatusOK, body: string(text)}
}

func stubText(id, region string) string {
	return fmt.Sprintf(`{"id":%q,"name":%q,"type":"Contoso.Stub/things","location":%q,"properties":{"provisioningState":"Succeeded"}}`,
		id, id[strings.LastIndexByte(id, '/')+1:], region)
}

func stubError(status int, code, message string) stubAnswer {
	return stubAnswer{status: status, body: fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, message)}
}
