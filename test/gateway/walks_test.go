package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/fanout"
	"portico/gateway/exchange"
)

// Each region is asked once for a page, by the same ids.
func TestCallsOfAList(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.machine("g", "a", "westus")
	s.machine("g", "b", "eastus")
	for _, e := range s.providers {
		e.requests()
	}
	const filter = "&$filter=name%20ne%20'x'"
	got := s.ok(200, "GET", machines+api+filter, "", "x-ms-client-request-id", "mine", "x-ms-portico-on-region-failure", "fail")
	ids := strings.Split(got.header.Get("X-Ms-Original-Request-Ids"), ";")
	if len(ids) != 2 || ids[0] == ids[1] || got.header.Get("X-Ms-Portico-Completed") != "true" {
		t.Errorf("%v", got.header)
	}
	for _, region := range []string{"westus", "eastus"} {
		requests := s.at(region).requests()
		if len(requests) != 1 || requests[0].Query != strings.TrimPrefix(api, "?")+filter {
			t.Fatalf("%s: %v", region, requests)
		}
		h := requests[0].Headers
		if h.Get("X-Ms-Correlation-Request-Id") != got.header.Get("X-Ms-Correlation-Request-Id") || h.Get("X-Ms-Client-Request-Id") != "mine" ||
			h.Get("Referer") != "http://portico.example"+machines+api+filter || h.Get("X-Ms-Portico-On-Region-Failure") != "" {
			t.Errorf("%s: %v", region, h)
		}
	}
	if n := len(s.at("global").requests()); n != 0 {
		t.Errorf("%d calls to the global endpoint", n)
	}
}

// A type may say that its lists go out without a region that fails; the client
// may say otherwise.
func TestPartialByType(t *testing.T) {
	for _, c := range []struct{ setting, requested string }{{"partial", ""}, {"partial", "fail"}, {"fail", "partial"}, {"fail", ""}} {
		base := newSite(t, setup{})
		types := fmt.Sprintf(declarations, endpointsOf(base))
		types = strings.Replace(types, "name: virtualMachines, kind: tracked,", "name: virtualMachines, kind: tracked, onRegionFailure: "+c.setting+",", 1)
		s := newSite(t, setup{beside: base, types: types, sections: "lists: {onRegionFailure: fail}"})
		s.group("g")
		s.machine("g", "a", "westus")
		s.machine("g", "b", "eastus")
		s.at("eastus").server.Close()
		var header []string
		if c.requested != "" {
			header = []string{"x-ms-portico-on-region-failure", c.requested}
		}
		got := s.do("GET", machines+api, "", header...)
		partial := c.requested == "partial" || c.requested == "" && c.setting == "partial"
		if partial != (got.status == 200) || got.header.Get("X-Ms-Portico-Completed") != "false" || partial != strings.HasSuffix(got.text, `,"unreachable":["eastus"]}`) {
			t.Errorf("%v: %d %v %s", c, got.status, got.header, got.text)
		}
	}
}

func endpointsOf(s *site) string {
	var all []string
	for region, e := range s.providers {
		all = append(all, fmt.Sprintf("%s: [%q]", region, e.server.URL))
	}
	return strings.Join(all, ", ")
}

// A walk goes on through another gateway, and one whose map serves the type in
// one region only; there, what is no one's token of ours is the provider's.
func TestWalkOverReplicas(t *testing.T) {
	keys := fanout.NewRandomKeys()
	s := newSite(t, setup{keys: keys})
	s.group("g")
	for i := range 4 {
		s.machine("g", fmt.Sprintf("w%d", i), "westus")
		s.machine("g", fmt.Sprintf("e%d", i), "eastus")
	}
	page := func(on *site, target string) (names []string, next string) {
		t.Helper()
		got := decode[named](t, on.ok(200, "GET", target, "", "x-contoso-page-size", "3"))
		for _, v := range got.Value {
			names = append(names, v.Name)
		}
		if got.NextLink != "" {
			next = s.local(got.NextLink)
		}
		return names, next
	}
	first, next := page(s, machines+api)
	if len(first) != 6 || next == "" {
		t.Fatalf("%v %s", first, next)
	}
	one := strings.Replace(fmt.Sprintf(declarations, endpointsOf(s)), "name: virtualMachines, kind: tracked,", "name: virtualMachines, kind: tracked, locations: [westus],", 1)
	narrow := newSite(t, setup{keys: keys, beside: s, types: one})
	for _, replica := range []*site{newSite(t, setup{keys: keys, beside: s}), narrow} {
		rest, end := page(replica, next)
		all := slices.Concat(first, rest)
		slices.Sort(all)
		if strings.Join(all, " ") != "e0 e1 e2 e3 w0 w1 w2 w3" || end != "" {
			t.Errorf("%v %s", all, end)
		}
	}
	narrow.group("g")
	narrow.machine("g", "w9", "westus")
	if names, end := page(narrow, machines+api+"&$skipToken=MS8"); strings.Join(names, " ") != "w0 w1 w2" || !strings.Contains(end, "$skipToken=MS9") {
		t.Errorf("%v %s", names, end)
	}
}

// Without a resource anywhere no one is asked; a token is judged all the same.
func TestEmptyListJudgesTokens(t *testing.T) {
	s := newSite(t, setup{})
	for _, target := range []string{machines + api, inSubscription + "/providers/Contoso.Insight/workspaces?api-version=2024-06-01-preview"} { // the latter unregistered
		s.ok(200, "GET", target, "")
		s.ok(200, "GET", target+"&$skipToken=", "")
		s.want(400, "InvalidSkipToken", "GET", target+"&$skipToken=garbage", "")
		s.want(400, "InvalidRequestHeader", "GET", target, "", "x-ms-portico-on-region-failure", "perhaps")
	}
	for region, e := range s.providers {
		if requests := e.requests(); len(requests) != 0 {
			t.Errorf("%s was asked: %v", region, requests)
		}
	}
}

// Who may not see the subscription any more does not see the next page either.
func TestEveryPageIsAuthorised(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	s.subscribe(subscription, tenant, 0)
	ann := []string{"Authorization", bearer(secret)}
	s.want(201, "", "PUT", groupPath("g")+own, westus, ann...)
	for _, name := range []string{"a", "b"} {
		s.want(201, "", "PUT", machinePath("g", name)+api, eastus, ann...)
	}
	var page struct{ NextLink string }
	got := s.ok(200, "GET", machines+api+"&$top=1", "", ann...)
	if err := json.Unmarshal([]byte(got.text), &page); err != nil || page.NextLink == "" {
		t.Fatalf("%v %s", err, got.text)
	}
	next := s.local(page.NextLink)
	s.want(404, "SubscriptionNotFound", "GET", next, "", "Authorization", bearer(stranger))
	s.want(401, "AuthenticationFailed", "GET", next, "")
	s.want(400, "InvalidSkipToken", "GET", next, "", "Authorization", bearer(second))
	s.ok(200, "GET", next, "", ann...)
}

// A client that goes away while regions are asked ends their calls.
func TestClientThatLeavesItsList(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.machine("g", "a", "westus")
	s.machine("g", "b", "eastus")
	ctx, cancel := context.WithCancel(context.Background())
	r := request(t, s.server, "GET", machines+api, "", "Host", "portico.example", "x-contoso-fault", "stall").WithContext(ctx)
	ended := make(chan error, 1)
	go func() {
		answer, err := s.server.Client().Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		ended <- err
	}()
	s.within("both regions are asked", func() bool {
		n := 0
		for _, region := range []string{"westus", "eastus"} {
			n += len(slices.DeleteFunc(s.at(region).peek(), func(r received) bool { return r.Method != http.MethodGet }))
		}
		return n >= 2
	})
	cancel()
	if err := <-ended; err == nil {
		t.Error("the request had an answer")
	}
	s.within("the gateway has given up", func() bool { return s.metric(`portico_fanout_pages_total{outcome="abandoned"}`) == "1" })
	if got := s.ok(200, "GET", machines+api, ""); !strings.Contains(got.text, `"name":"b"`) {
		t.Errorf("%s", got.text)
	}
}

// What does not fit into the memory of a list waits for the next page.
func TestBudgetsOfTheConfiguration(t *testing.T) {
	s := newSite(t, setup{limits: "answerBody: 256KiB, callerShare: 100%", sections: "lists: {memory: 256KiB, totalMemory: 256KiB}", callTimeout: 10 * time.Second})
	s.group("g")
	s.machine("g", "a", "westus")
	s.machine("g", "b", "eastus")
	// A page of 240,000 bytes fits beside nothing else.
	got := decode[named](t, s.ok(200, "GET", machines+api, "", "x-contoso-fault", "big-chunked=240000"))
	if got.NextLink == "" {
		t.Error("both fitted at once")
	}
	if deferred := s.metric(`portico_fanout_regions_total{outcome="deferred",region="westus"}`) + s.metric(`portico_fanout_regions_total{outcome="deferred",region="eastus"}`); deferred != "1" {
		t.Errorf("%s deferred", deferred)
	}
	if got = decode[named](t, s.ok(200, "GET", s.local(got.NextLink), "", "x-contoso-fault", "big-chunked=240000")); got.NextLink != "" {
		t.Error("a third page")
	}
}

// timed is an answer's writer that knows until when it may be written, and may
// break.
type timed struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
	broken    bool
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at)
	return nil
}

func (w *timed) Write(p []byte) (int, error) {
	if w.broken {
		return 0, os.ErrDeadlineExceeded
	}
	return w.ResponseRecorder.Write(p)
}

// A page is held until it is sent, so a client has to take it in time; one that
// does not is cut off, and the memory is given back.
func TestClientThatDoesNotTakeItsPage(t *testing.T) {
	s := newSite(t, setup{limits: "answerBody: 64KiB, callerShare: 100%", sections: "lists: {memory: 64KiB, totalMemory: 64KiB}"})
	s.group("g")
	s.machine("g", "a", "westus")
	list := func(w *timed) (ended any) {
		defer func() { ended = recover() }()
		r := httptest.NewRequest("GET", machines+api, nil)
		r.Host = "portico.example"
		s.gateway.Public().ServeHTTP(w, r)
		return nil
	}
	for range 50 { // the memory would be used up by a fraction of them
		w := &timed{ResponseRecorder: httptest.NewRecorder(), broken: true}
		if ended := list(w); ended != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
			t.Fatalf("ended with %v", ended)
		}
	}
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	started := time.Now()
	if ended := list(w); ended != nil || w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"a"`) {
		t.Errorf("%v: %d %s", ended, w.Code, w.Body)
	}
	// The last of it may leave when all of it was written: the time is not lifted.
	if d := w.deadlines; len(d) != 2 || d[1].Before(started.Add(exchange.DeliveryTime(0))) || d[1].After(time.Now().Add(exchange.DeliveryTime(0)+time.Second)) {
		t.Errorf("%v", d)
	}
}
