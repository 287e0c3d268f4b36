package contract

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

	"github.com/google/uuid"
)

// literal is a provider of one tracked type that was made from the contract alone: it does
// what the contract demands and nothing else, and knows paths as the contract writes them.
type literal struct {
	// slow carries writes out by operations: "state" with a provisioningState, "accepted"
	// with 202 to everything. "" is at once.
	slow string

	mu         sync.Mutex
	resources  map[string]*plainThing // by the folded id
	operations map[string]*change
}

type plainThing struct {
	id     string
	body   Object
	change *change // that changes it
}

type change struct {
	ready  time.Time
	finish func() (int, any) // once; under the lock
	status int
	body   any
}

const literalTask = 20 * time.Millisecond

func (p *literal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
	status, body, header := p.answer(r)
	for name, value := range header {
		w.Header().Set(name, value)
	}
	w.Header().Set("x-ms-request-id", uuid.NewString())
	if body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	if body != nil && r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(body) // the client may have gone
	}
}

func (p *literal) settle() {
	for _, o := range p.operations {
		if o.finish != nil && !time.Now().Before(o.ready) {
			o.status, o.body = o.finish()
			o.finish = nil
		}
	}
}

func problem(status int, code string) (int, any, map[string]string) {
	return status, Object{"error": Object{"code": code, "message": "It cannot be done."}}, nil
}

// begin carries a change out later, or at once.
func (p *literal) begin(r *http.Request, finish func() (int, any)) (int, any, map[string]string) {
	if p.slow == "" {
		status, body := finish()
		return status, body, nil
	}
	id := uuid.NewString()
	p.operations[id] = &change{ready: time.Now().Add(literalTask), finish: finish}
	return http.StatusAccepted, nil, p.location(r, id)
}

func (p *literal) location(r *http.Request, id string) map[string]string {
	front, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Referer"), "https://"), "/")
	subscription := strings.Split(r.URL.Path, "/")[2]
	return map[string]string{"Location": "https://" + front + "/subscriptions/" + subscription + "/providers/Plain.Things/operationResults/" + id + "?api-version=2020-01-01", "Retry-After": "10"}
}

// answer knows the literals of paths, the namespace and the type in one casing alone.
func (p *literal) answer(r *http.Request) (int, any, map[string]string) {
	s := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(s) == 2 && s[0] == "subscriptions" && r.Method == http.MethodPut:
		return http.StatusOK, Object{}, nil
	case len(s) == 6 && s[4] == "operationResults":
		o := p.operations[s[5]]
		switch {
		case o == nil:
			return problem(http.StatusNotFound, "NotFound")
		case o.finish != nil:
			return http.StatusAccepted, nil, p.location(r, s[5])
		}
		return o.status, o.body, nil
	case r.URL.Query().Get("api-version") != "2020-01-01":
		return problem(http.StatusBadRequest, "InvalidApiVersion")
	case len(s) == 5 && s[2] == "resourcegroups" && s[4] == "moveResources":
		return p.move(r)
	case len(s) == 7 && s[2] == "resourceGroups" && s[4] == "providers" && s[5] == "Plain.Things" && s[6] == "widgets":
		return p.list(r)
	case len(s) == 8 && s[2] == "resourceGroups" && s[4] == "providers" && s[5] == "Plain.Things" && s[6] == "widgets":
		return p.instance(r)
	}
	return problem(http.StatusNotFound, "NotFound")
}

func (p *literal) list(r *http.Request) (int, any, map[string]string) {
	value := []any{}
	for key, t := range p.resources {
		if strings.HasPrefix(key, strings.ToLower(r.URL.Path)+"/") {
			value = append(value, t.body)
		}
	}
	return http.StatusOK, Object{"value": value, "nextLink": nil}, nil
}

func (p *literal) instance(r *http.Request) (int, any, map[string]string) {
	key := strings.ToLower(r.URL.Path)
	t := p.resources[key]
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if t == nil {
			return problem(http.StatusNotFound, "ResourceNotFound")
		}
		return http.StatusOK, t.body, nil
	case http.MethodPut, http.MethodPatch:
		return p.write(r, key, t)
	case http.MethodDelete:
		if t == nil {
			return http.StatusNoContent, nil, nil
		}
		if p.busy(t) {
			return problem(http.StatusConflict, "AnotherOperationInProgress")
		}
		t.state("Deleting")
		status, body, header := p.begin(r, func() (int, any) {
			delete(p.resources, key)
			return http.StatusOK, nil
		})
		return status, body, header
	}
	return problem(http.StatusMethodNotAllowed, "MethodNotAllowed")
}

// busy reports whether an operation changes the resource.
func (p *literal) busy(t *plainThing) bool {
	state := text(t.body, "properties.provisioningState")
	return t.change != nil && t.change.finish != nil || state != "Succeeded" && p.slow != ""
}

func (t *plainThing) state(s string) {
	properties, _ := t.body["properties"].(Object)
	t.body = overlay(t.body, Object{"properties": overlay(properties, Object{"provisioningState": s})})
}

// write is PUT and PATCH. It refuses members that it does not know.
func (p *literal) write(r *http.Request, key string, t *plainThing) (int, any, map[string]string) {
	text, _ := io.ReadAll(r.Body)
	sent, ok := decode(text).(Object)
	if !ok || len(sent) == 0 {
		return problem(http.StatusBadRequest, "InvalidBody")
	}
	for name, value := range sent {
		if !slices.Contains([]string{"id", "name", "type", "location", "tags", "properties"}, name) {
			return problem(http.StatusBadRequest, "UnknownMember")
		}
		if value == nil {
			return problem(http.StatusBadRequest, "NullMember")
		}
	}
	if t == nil && r.Method == http.MethodPatch {
		return problem(http.StatusNotFound, "ResourceNotFound")
	}
	if t != nil && p.busy(t) {
		return problem(http.StatusConflict, "AnotherOperationInProgress")
	}
	segments := strings.Split(r.URL.Path, "/")
	next := &plainThing{id: r.URL.Path, body: Object{"id": r.URL.Path, "name": segments[len(segments)-1], "type": "Plain.Things/widgets"}}
	base := Object{}
	if r.Method == http.MethodPatch {
		base = t.body
	}
	properties, _ := mergePatch(base["properties"], sent["properties"]).(Object)
	next.body["location"], next.body["tags"] = base["location"], base["tags"]
	for _, name := range []string{"location", "tags"} {
		if v, given := sent[name]; given {
			next.body[name] = v
		}
	}
	next.body["properties"] = overlay(properties, Object{"made": "by the provider"})
	next.state("Succeeded")
	status := http.StatusOK
	if t == nil {
		status = http.StatusCreated
	}
	put := func() (int, any) {
		next.state("Succeeded")
		p.resources[key] = next
		return status, next.body
	}
	switch {
	case p.slow == "":
		put()
		return status, next.body, nil
	case p.slow == "state" && r.Method == http.MethodPut:
		next.state("Creating")
		next.change = &change{ready: time.Now().Add(literalTask), finish: put}
		p.operations[uuid.NewString()] = next.change
		p.resources[key] = next
		return status, next.body, nil
	}
	if t != nil {
		t.state("Updating")
	}
	code, body, header := p.begin(r, put)
	return code, body, header
}

// move moves resources within a subscription, and knows its path as the contract writes it.
func (p *literal) move(r *http.Request) (int, any, map[string]string) {
	var sent struct {
		Target    string   `json:"targetResourceGroup"`
		Resources []string `json:"resources"`
	}
	if json.NewDecoder(r.Body).Decode(&sent) != nil {
		return problem(http.StatusBadRequest, "InvalidBody")
	}
	if !strings.EqualFold(strings.Split(sent.Target, "/")[2], strings.Split(r.URL.Path, "/")[2]) {
		return problem(http.StatusBadRequest, "OtherSubscription")
	}
	for _, id := range sent.Resources {
		if p.resources[strings.ToLower(id)] == nil {
			return problem(http.StatusNotFound, "ResourceNotFound")
		}
	}
	return p.begin(r, func() (int, any) {
		for _, id := range sent.Resources {
			t := p.resources[strings.ToLower(id)]
			delete(p.resources, strings.ToLower(id))
			t.id = idInGroup(sent.Target, id)
			t.body = overlay(t.body, Object{"id": t.id})
			p.resources[strings.ToLower(t.id)] = t
		}
		return http.StatusOK, nil
	})
}

const literalDescription = `
providers:
  - namespace: Plain.Things
    resourceTypes:
      - name: widgets
        kind: tracked
        apiVersions: ["2020-01-01"]
        capabilities: {move: true}
        contract: {body: {properties: {size: 1}}, other: {properties: {size: 2}}}
`

// judged are the families that providers of every such kind keep, or leave out.
var judged = []string{"move/", "managed-by/", "envelope/", "retry/", "casing/", "race/", "throttle/", "time/", "list/writes-", "list/a-next-", "operation/ends-as-"}

// A provider that does otherwise than the reference provider what the contract leaves
// free keeps the rules.
func TestLiteralProviders(t *testing.T) {
	d, err := Load([]byte(literalDescription))
	if err != nil {
		t.Fatal(err)
	}
	for _, slow := range []string{"", "state", "accepted"} {
		t.Run(fmt.Sprintf("%q", slow), func(t *testing.T) {
			server := httptest.NewServer(&literal{slow: slow, resources: map[string]*plainThing{}, operations: map[string]*change{}})
			defer server.Close()
			var r Recorder
			if err := Try(t.Context(), Target{Adapter: Straight(map[string]string{"westus": server.URL}), Description: d, Disruptive: true, Limits: Limits{Answer: time.Hour, Pause: 50 * time.Millisecond}}, &r); err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, result := range r.Results() {
				if !slices.ContainsFunc(judged, func(family string) bool { return strings.HasPrefix(result.Case, family) }) {
					continue
				}
				if result.Outcome == Kept {
					kept++
				}
				t.Logf("%s: %s %s", result.Case, result.Outcome, result.Why)
				if result.Outcome != Kept && result.Outcome != LeftOut {
					t.Errorf("%s: %s %s", result.Case, result.Outcome, show(result.Faults))
				}
			}
			if kept < 15 {
				t.Errorf("%d cases are kept", kept)
			}
		})
	}
}
