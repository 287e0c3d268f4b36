package gateway_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// scripted is a provider that answers what it was told to.
type scripted struct {
	*site
	at    string // its own address
	mu    sync.Mutex
	says  map[string]said // by method and request target
	polls []string
	heard func(call string) // runs with the lock, before each answer; may be nil
}

type said struct {
	status int
	header http.Header
	body   string
}

func newScripted(t *testing.T, as setup) *scripted {
	t.Helper()
	p := &scripted{says: map[string]said{}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.at = server.URL
	as.types = `
regions: [{name: westus, displayName: West US}]
providers:
  - namespace: Contoso.Script
    registration: automatic
    endpoints: {westus: ["` + server.URL + `"], global: ["` + server.URL + `"]}
    redirectHosts: [elsewhere.example]
    resourceTypes:
      - {name: items, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: plans, kind: proxyOnly, routing: global, apiVersions: ["2024-01-01"]}
`
	p.site = newSite(t, as)
	if !as.tokens {
		p.group("g")
	}
	return p
}

// ServeHTTP implements http.Handler.
func (p *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	call := r.Method + " " + r.RequestURI
	p.polls = append(p.polls, call)
	if p.heard != nil {
		p.heard(call)
	}
	answer, reported := p.says[call]
	if !reported {
		answer = absence(r.URL.Path)
	}
	maps.Copy(w.Header(), answer.header)
	w.WriteHeader(answer.status)
	fmt.Fprint(w, answer.body)
}

// absence is how ARM's providers say that a resource is not there.
func absence(id string) said {
	return said{status: http.StatusNotFound, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body: `{"error":{"code":"ResourceNotFound","message":"The Resource '` + id + `' was not found."}}`}
}

// leaves has the provider know nothing of a resource from now on.
func (p *scripted) leaves(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.says, "GET "+id+api)
}

// say has the provider answer a call from now on, with headers by pairs.
func (p *scripted) say(call string, status int, body string, header ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	p.says[call] = said{status, h, body}
}

// reached tells whether the provider got a call since this was last asked.
func (p *scripted) reached(call string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	requested := strings.Join(p.polls, "\n") + "\n"
	p.polls = nil
	return strings.Contains(requested, call+"\n")
}

// item makes a resource.
func (p *scripted) item(name string) string {
	p.t.Helper()
	id := groupPath("g") + "/providers/Contoso.Script/items/" + name
	p.say("PUT "+id+api, 201, `{"id":"`+id+`","location":"westus"}`)
	p.ok(201, "PUT", id+api, westus)
	return id
}

const scriptOperations = inSubscription + "/providers/Contoso.Script/locations/westus/operationResults/"

// A polling URL may change with every poll.
func TestPollsThatMove(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	statuses := strings.Replace(scriptOperations, "operationResults", "operationStatuses", 1)
	one, two, three, four := scriptOperations+"one", statuses+"two?t=a%2Fb", scriptOperations+"three?x=1", "/operations/four"
	p.say("DELETE "+item+api, 202, "", "Location", p.at+one)
	p.say("GET "+one, 202, "", "Location", p.at+two)
	p.say("GET "+two, 202, "", "Location", "https://evil.example"+three)
	p.say("GET "+three, 202, "", "Location", p.at+four)
	p.say("GET "+four, 202, "", "Azure-Asyncoperation", "https://evil.example/status")

	poll := p.local(p.ok(202, "DELETE", item+api, "").header.Get("Location"))
	for i, want := range []struct{ polls, next string }{{one, two}, {two, two}, {three, two}, {four, two}, {four, two}} {
		p.reached("")
		got := p.ok(202, "GET", poll, "")
		if !p.reached("GET " + want.polls) {
			t.Errorf("poll %d did not ask for %s", i, want.polls)
		}
		if len(got.header["Azure-Asyncoperation"]) != 0 {
			t.Errorf("poll %d: %v", i, got.header)
		}
		if next := got.header.Get("Location"); next != "" {
			poll = p.local(next)
		}
		if poll != want.next {
			t.Errorf("poll %d leads to %s, want %s", i, poll, want.next)
		}
	}
	p.say("GET "+four, 204, "")
	p.ok(204, "GET", poll, "")
	if _, there := p.row(item); there {
		t.Error("the end of the poll left the row")
	}
	p.ok(204, "GET", poll, "")
}

// Polling URLs need no api-version, no location and no resource, nor a group,
// and may be spelled in any way that is in use.
func TestPollsInEveryForm(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	p.say("DELETE "+item+api, 202, "")
	polls := map[string]string{}
	for i, kind := range []string{"operationResults", "operationresults", "operationsStatus", "operationStatuses", "operationsStatuses", "operationStatus", "OPERATIONRESULTS"} {
		for j, place := range []string{inSubscription + "/providers/Contoso.Script/", inSubscription + "/providers/contoso.script/locations/westus/", item + "/", groupPath("gone") + "/providers/Contoso.Script/items/never/"} {
			link := fmt.Sprintf("%s%s/%d-%d", place, kind, i, j)
			p.say("DELETE "+item+api, 202, "", "Location", p.at+link)
			p.say("GET "+link, 202, "")
			if got := p.local(p.ok(202, "DELETE", item+api, "").header.Get("Location")); got != link {
				t.Errorf("%s became %s", link, got)
			}
			polls[link] = "GET " + link
		}
	}
	// Some names no one routes by. They are stood in for.
	for _, link := range []string{
		inSubscription + "/operationresults/o", "/providers/Contoso.Script/operationResults/o", item + "/operationResults/o?api-version=1&api-version=2",
	} {
		p.say("DELETE "+item+api, 202, "", "Location", p.at+link)
		p.say("GET "+link, 202, "")
		got := p.local(p.ok(202, "DELETE", item+api, "").header.Get("Location"))
		if !strings.HasPrefix(got, scriptOperations[:len(scriptOperations)-len("operationResults/")]) {
			t.Errorf("%s became %s", link, got)
		}
		polls[got] = "GET " + link
	}
	check := func() {
		t.Helper()
		for poll, call := range polls {
			p.reached("")
			p.ok(202, "GET", poll, "")
			if !p.reached(call) {
				t.Errorf("%s did not ask for %s", poll, call)
			}
			p.ok(202, "GET", strings.Replace(poll, "?api-version=2024-01-01", "", 1), "")
		}
	}
	check()
	list := "GET " + groupPath("g") + "/providers/Contoso.Script/items" + api
	p.say(list, 200, `{"value":[]}`)
	p.want(404, "ResourceNotFound", "GET", item+api, "")
	p.ok(200, "DELETE", groupPath("g")+own, "")
	check()
}

// A redirect leads to the front door where it led to the provider, and to where
// it leads otherwise.
func TestRedirectsOfWrites(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	for sent, want := range map[string]string{
		p.at + item + "?x": "http://portico.example" + item + "?x", "https://elsewhere.example/a": "https://elsewhere.example/a",
	} {
		for _, method := range []string{"PUT", "PATCH", "DELETE", "POST"} {
			target, body := item+api, ""
			if method != "DELETE" {
				body = westus
			}
			if method == "POST" {
				target = item + "/act" + api
			}
			p.say(method+" "+target, 307, "", "Location", sent)
			r := request(t, p.server, method, target, body, "Host", "portico.example")
			answer, err := p.server.Client().Transport.RoundTrip(r)
			must(t, err)
			_ = answer.Body.Close()
			if got := answer.Header["Location"]; answer.StatusCode != 307 || len(got) != 1 || got[0] != want {
				t.Errorf("%s to %s: %d %v", method, sent, answer.StatusCode, got)
			}
		}
	}
}

// A DELETE that names its resource as what to poll is told of its end, not of
// an absence.
func TestDeleteThatNamesItsResource(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	p.say("DELETE "+item+api, 202, "", "Location", p.at+item+api)
	poll := p.local(p.ok(202, "DELETE", item+api, "").header.Get("Location"))
	p.say("GET "+item+api, 202, "")
	p.ok(202, "GET", poll, "")
	p.leaves(item)
	p.ok(204, "GET", poll, "")
}

// The endpoint that named a URL may have left the map.
func TestStandInWithoutAnEndpoint(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	kept, gone := machinePath("g", "kept"), s.machine("g", "gone", "eastus")
	lie := []string{"x-contoso-fault", "foreign-location", "x-contoso-duration", "1h"}
	first := s.stoodIn(s.ok(202, "PUT", kept+api, eastus, lie...).header, "Location")
	second := s.stoodIn(s.ok(202, "DELETE", gone+api, "", lie...).header, "Location")
	third := s.local(s.ok(202, "POST", s.machine("g", "busy", "eastus")+"/restart"+api, "", "x-contoso-duration", "1h").header.Get("Location"))
	s.at("eastus").clock.advance(2 * hour)
	s.ok(200, "GET", second, "")
	west := s.at("westus").server.URL
	narrow := newSite(t, setup{beside: s, path: s.path, types: `
regions: [{name: westus, displayName: West US}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {westus: ["` + west + `"], global: ["` + west + `"]}
    resourceTypes: [{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}]
`})
	narrow.want(503, "NoRegisteredProviderFound", "GET", first, "")
	narrow.ok(204, "GET", second, "")
	// What is the provider's own URL tells of no absence either.
	narrow.want(503, "NoRegisteredProviderFound", "GET", third, "")
	s.ok(204, "GET", third, "")
}

// A record lasts for as long as its URL is polled, by the store's clock.
func TestRecordsAreRenewed(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.clock.advance(1000 * hour)
	m := s.machine("g", "m", "eastus")
	first := s.ok(202, "POST", m+"/restart"+api, "", "x-contoso-duration", "300h", "x-contoso-async", "azure-async-only", "x-contoso-operation-path", "provider")
	poll := s.local(first.header.Get("Azure-Asyncoperation"))
	for range 5 {
		s.clock.advance(20 * hour)
		s.ok(200, "GET", poll, "")
	}
	record, err := s.recordedOperation(poll)
	if left := record.Until.Sub(s.clock.now()); err != nil || left < 24*hour || left > 48*hour {
		t.Errorf("%v left, %v", left, err)
	}
	s.clock.advance(49 * hour)
	s.want(404, "OperationNotFound", "GET", poll, "") // at the global endpoint
}
