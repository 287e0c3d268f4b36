package operator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/events"
	"portico/gateway/admin/api"
)

// listener is an admin listener that has what api.Operations describe, and refuses all
// else. Its lists have pages of one element, where they have several.
type listener struct {
	*httptest.Server
	mu sync.Mutex
	// answers are what operations answer, by method and path: a value, an api.Page, or a
	// refusal.
	answers  map[string]any
	requests []*http.Request
	// unstuck is the last order to unstick.
	unstuck api.UnstickOrder
	// content is that of the last POST.
	content []byte
}

type refusal struct {
	status     int
	code, text string
}

func startListener(t *testing.T, answers map[string]any) *listener {
	t.Helper()
	l := &listener{answers: answers}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

func (l *listener) set(operation string, answer any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[operation] = answer
}

// last is the request that came last.
func (l *listener) last() *http.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests[len(l.requests)-1]
}

// count returns how many requests came.
func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.requests)
}

// sent is the last order to unstick.
func (l *listener) sent() api.UnstickOrder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unstuck
}

// sentText is the content that came last with a request that is no order to unstick.
func (l *listener) sentText() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.content)
}

// read keeps the content of a request.
func (l *listener) read(from io.Reader) {
	l.content, _ = io.ReadAll(from) // what is cut short is another text
	l.unstuck = api.UnstickOrder{}
	_ = json.Unmarshal(l.content, &l.unstuck)
}

// matches reports whether a path is of an operation's, which has {names} in it.
func matches(path, of string) bool {
	segments, names := strings.Split(path, "/"), strings.Split(of, "/")
	return slices.EqualFunc(segments, names, func(segment, name string) bool { return segment == name || strings.HasPrefix(name, "{") })
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, r)
	if r.Method == http.MethodPost {
		l.read(r.Body)
	}
	for _, o := range api.Operations() {
		if o.Method != r.Method || !matches(r.URL.Path, o.Path) {
			continue
		}
		for name := range r.URL.Query() {
			if !slices.ContainsFunc(o.Query, func(p api.Parameter) bool { return p.Name == name }) {
				l.refuse(w, refusal{400, "InvalidQueryParameter", name + " is no parameter of " + o.Path})
				return
			}
		}
		l.answer(w, r, o)
		return
	}
	http.NotFound(w, r)
}

func (l *listener) answer(w http.ResponseWriter, r *http.Request, o api.Operation) {
	text, err := json.Marshal(l.answers[o.Method+" "+o.Path])
	if refused, ok := l.answers[o.Method+" "+o.Path].(refusal); ok {
		l.refuse(w, refused)
		return
	}
	if err != nil || string(text) == "null" {
		l.refuse(w, refusal{500, "Conflict", "this test has no answer of " + o.Path})
		return
	}
	var page api.Page[json.RawMessage]
	paged := slices.ContainsFunc(o.Query, func(p api.Parameter) bool { return p.Name == "after" })
	if json.Unmarshal(text, &page) == nil && page.Value != nil && paged && o.Path != "/admin/changes" {
		text = onePage(r.URL, page.Value)
	}
	w.Header().Set("Content-Type", "application/json")
	if o.Path == "/admin/sweeps" {
		w.Header().Set("Location", "/admin/jobs/-.1234")
	}
	w.WriteHeader(o.Status)
	_, _ = w.Write(text)
}

// onePage is the element whose number ?after= says.
func onePage(u *url.URL, all []json.RawMessage) []byte {
	n := 0
	_, _ = fmt.Sscan(u.Query().Get("after"), &n)
	page := api.Page[json.RawMessage]{Value: []json.RawMessage{}}
	if n < len(all) {
		page.Value = all[n : n+1]
	}
	if n+1 < len(all) {
		query := u.Query()
		query.Set("after", fmt.Sprint(n+1))
		page.NextLink = u.Path + "?" + query.Encode()
	}
	text, _ := json.Marshal(page)
	return text
}

func (l *listener) refuse(w http.ResponseWriter, r refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": r.code, "message": r.text}})
}

const (
	someSubscription = "00000000-0000-0000-0000-000000000001"
	someGroup        = "/subscriptions/" + someSubscription + "/resourceGroups/a-group-with-a-long-name"
	someID           = someGroup + "/providers/Contoso.Compute/virtualMachines/機械-Ω-with-a-long-name"
	somebody         = "00000000-0000-0000-0000-00000000a110"
	evil             = "Evil\x1b[2J\u202e name\nof two lines"
)

// answers are what a service with much to say answers.
func answers() map[string]any {
	at := time.Now().Add(-3*time.Minute - time.Second)
	before := at.Add(-time.Hour)
	later := time.Now().Add(2*time.Hour + time.Minute)
	covered := true
	waiting := api.Waiting{
		Reason: "writeWithoutAnswer", Message: "The call of the write ended without a definite answer; the provider may still apply it.",
		Kind: "PUT", Region: "northeurope", Job: someSubscription + ".0123456789abcdef0123456789abcdef", Attempts: 3, LastOutcome: "503 from the provider", Since: at, Until: &later, Next: &later,
	}
	fence := api.Fence{ID: someID, Subscription: someSubscription, Region: "northeurope", Kind: "PUT", Reason: "A PUT got no answer before its " +
		"resource group was deleted. If it creates a resource, that will be deleted.", Since: at, Until: later}
	lock := api.Lock{ID: someGroup + "/providers/Microsoft.Authorization/locks/keep", Scope: someGroup, Name: "keep", Level: "CanNotDelete", Notes: evil}
	row := api.Resource{ID: someID, Type: "Contoso.Compute/virtualMachines", Region: "northeurope", Phase: "Accepted", Flags: []string{"verify", "followPut"}, Created: &at, Changed: &at}
	job := api.Job{
		ID: someSubscription + ".0123456789abcdef0123456789abcdef", Kind: "group-delete", Subscription: someSubscription, Subject: someGroup, State: "Waiting", Due: &later,
		Owner: "replica-1", Attempts: 12, Created: at, Changed: at, Progress: json.RawMessage(`{"total":40,"deleted":10,"inFlight":2,"waiting":28,"waitingFor":["westus"]}`),
		Steps: &api.Steps{Done: 10, Of: 40}, Parts: true, Cancellable: true,
	}
	done := job
	done.ID, done.State = "-.00000000000000000000000000001234", "Done"
	event := &events.CloudEvent{SpecVersion: "1.0", ID: somebody, Source: "/", Type: "Microsoft.Resources.ResourceWriteSuccess", Subject: someID, Time: at, Sequence: "4711"}
	sink := api.Sink{
		Name: "audit", Host: "hooks.with-a-long-name.example.com:8443", State: "Away", Owner: somebody, After: "1.0.4710", Lag: 1234, LagSeconds: 4000.5, Retrying: 17, Dead: 3,
		Delivered: 1234567, Forgotten: 5, LastSuccess: &before, LastFailure: &at, AwaySince: &before, Failure: "denied", Status: 401, FailedEvent: "4711",
	}
	return map[string]any{
		"GET /admin/status": api.Status{
			Version: "1.2.3", Region: "westus", Started: at, Generation: 4, Store: "sqlite", Replicas: 1,
			Problems: []api.Problem{
				{Severity: api.Critical, Code: "regionDown", Summary: "The region northeurope is down: no address of it can be reached, and every call is refused with 503.", Subject: "northeurope", Since: &at, Next: "portico regions"},
				{Severity: api.Warning, Code: "strays", Summary: "Resources exist in a region other than that in the index.", Count: 17, Next: "portico sweep --dry-run"},
			},
		},
		"GET /admin/regions": api.Page[api.Region]{Value: []api.Region{
			{Name: "northeurope", DisplayName: "North Europe", State: api.Down, Endpoints: []api.Endpoint{{Namespace: "Contoso.Compute", ResourceTypes: []string{"virtualMachines"}, Addresses: []api.Address{
				{URL: "https://compute.northeurope.example.com:8443", State: api.Down, Reason: "connections are refused", Circuit: "open", Since: &at, Requests: 1234567, Failures: 1234, InFlight: 3},
				{URL: "https://compute-2.northeurope.example.com:8443", State: api.Unknown, Circuit: "closed"},
			}}}},
			{Name: "nowhere", State: api.Unknown},
		}},
		"GET /admin/providers": api.Page[api.Provider]{Value: []api.Provider{{Namespace: "Contoso.Compute", Registration: "required", ResourceTypes: []api.ResourceType{
			{Name: "virtualMachines/disks", Kind: "tracked", Routing: "regional", APIVersions: []string{"2024-01-01", "2024-06-01-preview"}, Locations: []string{"westus", "eastus", "northeurope"}},
			{Name: "operations", Kind: "proxyOnly", Routing: "global", APIVersions: []string{"2024-01-01"}},
		}}}},
		"GET /admin/subscriptions": api.Page[api.Subscription]{Value: []api.Subscription{
			{ID: someSubscription, TenantID: somebody, DisplayName: evil, State: "Enabled", Covered: &covered, Features: []string{"A/b"}},
			{ID: somebody, TenantID: somebody, DisplayName: "日本語の名前はとても長いです、そして広いです", State: "Deleted", Erased: true},
		}},
		"GET /admin/resources": api.Page[api.Resource]{Value: []api.Resource{row, {ID: someGroup + "/providers/A.B/c/d", Type: "A.B/c", Region: "westus", Phase: "Stable", Flags: []string{}}}},
		"GET /admin/why": api.Why{
			Subject: api.WhySubject{Kind: "id", ID: someID}, Verdict: "It waits for northeurope: " + evil + ". " + strings.Repeat("More of it. ", 20), Searched: "everything",
			Actions: []api.WhyAction{{Text: "Try again now. " + evil, Command: "portico unstick " + someSubscription + ".0123456789abcdef0123456789abcdef --ask"}},
			Known: []api.WhyEntry{
				{Time: at, What: "event", Text: "Contoso.Compute/virtualMachines/write Failed ScopeLocked: " + evil, By: "Ada", CorrelationID: somebody, Link: someID}, {What: "lock", Text: "CanNotDelete"},
			},
		},
		"GET /admin/locks":                     api.Page[api.Lock]{Value: []api.Lock{lock}},
		"GET /admin/roles":                     api.Page[api.RoleAssignment]{Value: []api.RoleAssignment{{ID: someGroup + "/providers/Microsoft.Authorization/roleAssignments/" + somebody, Scope: someGroup, PrincipalID: somebody, PrincipalType: "ServicePrincipal", Role: "User Access Administrator"}}},
		"GET /admin/fences":                    api.Page[api.Fence]{Value: []api.Fence{fence}},
		"GET /admin/doubts":                    api.Page[api.Doubt]{Value: []api.Doubt{{ID: someID, Region: "northeurope", Phase: "Accepted", Flags: []string{"verify"}, Why: []api.Waiting{waiting, waiting}, Until: &later}}},
		"GET /admin/errors":                    api.Page[api.ErrorAnswer]{Value: []api.ErrorAnswer{{Time: at, Method: "DELETE", Path: someID, Status: 503, Cause: "gateway", Blame: "unreachable", Message: "The network connectivity issue encountered.", Code: "BadGatewayConnection", Region: "northeurope", CorrelationID: somebody}}},
		"GET /admin/configuration":             api.ConfigurationInUse{Settings: []api.Setting{{Path: "providers[Contoso.Compute].resourceTypes[virtualMachines/disks].apiVersions", Value: evil}}},
		"GET /admin/configurations":            api.Page[api.Configuration]{Value: []api.Configuration{{Generation: 4, Time: at, Outcome: api.ConfigurationTaken, Why: "POST /admin/reload", By: evil, Changes: []api.SettingChange{{Path: "providers[Contoso.Compute].resourceTypes[virtualMachines/disks].apiVersions", To: evil}}}}},
		"GET /admin/jobs":                      api.Page[api.Job]{Value: []api.Job{job, done}},
		"GET /admin/jobs/{id}":                 done,
		"GET /admin/jobKinds":                  api.Page[api.JobKind]{Value: []api.JobKind{{Kind: "group-delete", Cancellable: true}}},
		"POST /admin/jobs/{id}/cancel":         job,
		"GET /admin/sinks":                     api.Page[api.Sink]{Value: []api.Sink{sink, {Name: "fresh", Host: "hooks.example.com", State: "Starting"}}},
		"GET /admin/sinks/{name}":              sink,
		"POST /admin/sinks/{name}/test":        api.SinkTest{Outcome: "denied", Status: 401},
		"POST /admin/sinks/{name}/dead/replay": api.Replayed{Replayed: 2},
		"GET /admin/sinks/{name}/retrying": api.Page[api.RetriedEvent]{Value: []api.RetriedEvent{
			{ID: "4711", Failure: "refused", Status: 422, Attempts: 12, Since: &at, Next: &later, Event: event}, {ID: "4712", Event: event},
		}},
		"GET /admin/sinks/{name}/dead": api.Page[api.DeadLetter]{Value: []api.DeadLetter{
			{ID: "4700", Failure: "refused", Status: 422, Attempts: 12, Since: at, GivenUp: at, Reason: evil, Event: event}, {ID: "1", Failure: "timeout", Since: at, GivenUp: at},
		}},
		"POST /admin/reload": api.Reloaded{Generation: 5, NeedsRestart: []string{"server.listen"}},
		"POST /admin/roles/who": api.RoleHolders{Value: []api.RoleHolder{
			{PrincipalID: somebody, PrincipalType: "User", PrincipalName: "Ada" + evil, Grant: api.RoleGrant{Assignment: someID, Scope: someGroup, Role: "Contributor"}}, {PrincipalID: somebody, Grant: api.RoleGrant{Owner: true, Scope: "/", Role: "Owner"}},
		}},
		"POST /admin/roles/check": api.RoleAnswer{Reason: "no role", WouldAllow: []string{"Owner"}},
		"GET /admin/changes":      api.Changes{Value: []api.Change{{RawMessage: json.RawMessage(`{"specversion":"1.0","id":"1","source":"/","type":"Microsoft.Resources.ResourceWriteSuccess","subject":"` + someID + `","time":"2026-01-02T03:04:05Z","data":{"operationName":"Contoso.Compute/virtualMachines/write","status":"Succeeded","origin":"answer","objectId":"` + somebody + `"}}`)}}, Next: "1.0.1"},
	}
}
