package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Scripted is a provider of any namespace, in several regions and in the test's own
// process. It keeps what is PUT and answers at once, as a plain provider would, but for the
// calls that its scripts decide; and it records what it gets.
type Scripted struct {
	URLs map[string]string // by region

	mu      sync.Mutex
	watch   func(*http.Request)
	held    map[[2]string]Held // by region and folded path
	scripts []*Script
	calls   []Call
}

// Held is a resource of a Scripted provider: its ID as it was written, and its text.
type Held struct{ Region, ID, Text string }

// Call is a request that has reached a Scripted provider.
type Call struct {
	Region, Method string
	Target         string // path and query, unchanged
	Path, Query    string // decoded, and as it came
	Header         http.Header
	Body           string
	At             time.Time
}

// Script decides about calls of a method, or of any where that is empty, whose target
// contains a text, in any casing. Later scripts come before earlier ones.
type Script struct {
	Method, Part string
	When         func(Call) bool // nil: always
	Times        int             // how often yet; 0: for ever
	Answer       http.Handler
}

// Reply is an answer as it stands. Its body is JSON, unless Header says otherwise.
type Reply struct {
	Status int
	Body   string
	Header http.Header
}

// Reset closes the connection, and Silence brings no answer.
var (
	Reset   http.HandlerFunc = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	Silence http.HandlerFunc = func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
)

// Fault is an error of a provider's.
func Fault(status int, code, message string) Reply {
	return Reply{Status: status, Body: fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, message)}
}

// ServeHTTP implements http.Handler.
func (a Reply) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if a.Body != "" {
		w.Header().Set("Content-Type", "application/json")
	}
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body)
}

// StartScripted starts an endpoint of a Scripted provider in each region, and a global one.
func StartScripted(t testing.TB) *Scripted {
	t.Helper()
	p := &Scripted{URLs: map[string]string{}, held: map[[2]string]Held{}}
	for _, region := range append(RegionNames(), "global") {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, region) }))
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections) // scripts may be silent
		p.URLs[region] = server.URL
	}
	return p
}

// Endpoints is the provider's endpoints as YAML, indented by six spaces.
func (p *Scripted) Endpoints() string {
	var text strings.Builder
	for region, url := range p.URLs {
		fmt.Fprintf(&text, "      %s: [%q]\n", region, url)
	}
	return text.String()
}

// Watch shows each further request but notices before it is answered.
func (p *Scripted) Watch(watch func(*http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = watch
}

// Script adds a script, and returns what takes it away.
func (p *Scripted) Script(s Script) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Part = strings.ToLower(s.Part); s.Times == 0 {
		s.Times = -1
	}
	p.scripts = append(p.scripts, &s)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.Times = 0
	}
}

// On adds a script that holds for ever.
func (p *Scripted) On(method, part string, answer http.HandlerFunc) {
	p.Script(Script{Method: method, Part: part, Answer: answer})
}

// Calls returns what has come since Forget, in its order, without notices of subscriptions.
func (p *Scripted) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Forget empties the record.
func (p *Scripted) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

func heldKey(region, path string) [2]string { return [2]string{region, strings.ToLower(path)} }

// Hold makes a resource, Remove deletes it and reports whether it was there: the effects of
// writes that came to nothing else, or late.
func (p *Scripted) Hold(region, id string) {
	name := id[strings.LastIndexByte(id, '/')+1:]
	p.HoldText(region, id, fmt.Sprintf(`{"id":%q,"name":%q,"location":%q,"properties":{"provisioningState":"Succeeded"}}`, id, name, region))
}

// HoldText makes a resource that is shown with a text, or gives it another text.
func (p *Scripted) HoldText(region, id, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[heldKey(region, id)] = Held{region, id, text}
}

// Remove deletes a resource; see Hold.
func (p *Scripted) Remove(region, id string) (was bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, was = p.held[heldKey(region, id)]
	delete(p.held, heldKey(region, id))
	return was
}

// Holds reports whether a region, or any where that is empty, has a resource.
func (p *Scripted) Holds(region, id string) bool {
	return slices.ContainsFunc(p.Holding(id), func(h Held) bool {
		return strings.EqualFold(h.ID, id) && (region == "" || region == h.Region)
	})
}

// Holding returns what lies at a path, or below it, ordered by region.
func (p *Scripted) Holding(path string) (all []Held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holding("", strings.ToLower(path))
}

func (p *Scripted) holding(region, path string) (all []Held) {
	for key, held := range p.held {
		if (region == "" || region == held.Region) && strings.HasPrefix(key[1]+"/", path+"/") {
			all = append(all, held)
		}
	}
	slices.SortFunc(all, func(a, b Held) int { return strings.Compare(a.Region+a.ID, b.Region+b.ID) })
	return all
}

var notice = regexp.MustCompile(`^PUT /subscriptions/[0-9a-f-]{36}\?api-version=2\.0$`)

// IsNotice reports whether a call is a notification about a subscription, which Portico sends
// by itself and at any time.
func IsNotice(method, target string) bool { return notice.MatchString(method + " " + target) }

func (p *Scripted) serve(w http.ResponseWriter, r *http.Request, region string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the connection is closed
	}
	if IsNotice(r.Method, r.RequestURI) {
		Reply{Status: http.StatusOK, Body: "{}"}.ServeHTTP(w, r)
		return
	}
	p.mu.Lock()
	watch := p.watch
	p.mu.Unlock()
	if watch != nil {
		watch(r)
	}
	p.decide(Call{region, r.Method, r.RequestURI, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(body), time.Now()}).ServeHTTP(w, r)
}

// decide records a call and finds its answer.
func (p *Scripted) decide(c Call) http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	for _, s := range slices.Backward(p.scripts) {
		if s.Times == 0 || s.Method != "" && s.Method != c.Method || !strings.Contains(strings.ToLower(c.Target), s.Part) || s.When != nil && !s.When(c) {
			continue
		}
		if s.Times > 0 {
			s.Times--
		}
		return s.Answer
	}
	return p.plain(c)
}

// plain answers as a provider without anything odd.
func (p *Scripted) plain(c Call) Reply {
	key := heldKey(c.Region, c.Path)
	before, held := p.held[key]
	switch {
	case c.Method == http.MethodPut, c.Method == http.MethodPatch:
		name := c.Path[strings.LastIndexByte(c.Path, '/')+1:]
		content := "," + strings.TrimPrefix(strings.TrimSpace(c.Body), "{")
		if strings.TrimSpace(content[1:]) == "}" || content == "," {
			content = "}"
		}
		p.held[key] = Held{c.Region, c.Path, fmt.Sprintf(`{"id":%q,"name":%q%s`, c.Path, name, content)}
		return Reply{Status: map[bool]int{true: http.StatusOK, false: http.StatusCreated}[held], Body: p.held[key].Text}
	case c.Method == http.MethodDelete:
		delete(p.held, key)
		return Reply{Status: map[bool]int{true: http.StatusOK, false: http.StatusNoContent}[held]}
	case held && c.Method != http.MethodPost:
		return Reply{Status: http.StatusOK, Body: before.Text}
	case c.Method == http.MethodPost:
		return Reply{Status: http.StatusOK, Body: `{}`}
	case strings.Count(c.Path[strings.LastIndex(c.Path, "/providers/")+1:], "/")%2 == 0:
		return p.list(c)
	}
	return Fault(http.StatusNotFound, "ResourceNotFound", "The resource '"+c.Path+"' was not found.")
}

// list answers what a region holds of a type, at the scope of a collection and below.
func (p *Scripted) list(c Call) Reply {
	scope, typ, _ := strings.Cut(strings.ToLower(c.Path), "/providers/")
	elements := []json.RawMessage{}
	for _, held := range p.holding(c.Region, scope) {
		if strings.Contains(strings.ToLower(held.ID), "/providers/"+typ+"/") {
			elements = append(elements, json.RawMessage(held.Text))
		}
	}
	text, err := json.Marshal(map[string]any{"value": elements})
	if err != nil {
		return Fault(http.StatusInternalServerError, "InternalServerError", err.Error())
	}
	return Reply{Status: http.StatusOK, Body: string(text)}
}
