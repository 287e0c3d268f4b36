package hostile

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"portico/test/harness"
)

// provider serves every namespace in all regions. It stores each PUT, answers
// immediately, and records each request unchanged; scripts make it evil.
type provider struct {
	urls map[string]string // by region

	watch func(*http.Request) // called with each request before its answer; may be nil

	mu      sync.Mutex
	held    map[string]string // bodies by path in lower case
	scripts []script
	seen    []received
}

// received is a request that reached the provider.
type received struct {
	region, method string
	target         string // path and query, unchanged
	header         http.Header
	body           string
}

// script applies to the requests of a method (empty: any) whose target contains a text.
// Later scripts take precedence.
type script struct {
	method, part string
	answer       http.HandlerFunc
}

// notice is a notification about a subscription, which Portico sends by itself.
var notice = regexp.MustCompile(`^/subscriptions/[0-9a-f-]{36}\?api-version=2\.0$`)

func startProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{urls: map[string]string{}, held: map[string]string{}}
	for _, region := range append(harness.RegionNames(), "global") {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, region) }))
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections) // scripts may hang
		p.urls[region] = server.URL
	}
	return p
}

// on adds a script.
func (p *provider) on(method, part string, answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scripts = append(p.scripts, script{method, part, answer})
}

// received returns what has reached the provider since forget, in order of arrival,
// without notices of subscriptions.
func (p *provider) received() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func (p *provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = nil
}

// holds reports whether the provider has a resource.
func (p *provider) holds(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, held := p.held[strings.ToLower(path)]
	return held
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request, region string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the connection is closed
	}
	if p.watch != nil {
		p.watch(r)
	}
	answer := p.note(received{region, r.Method, r.RequestURI, r.Header.Clone(), string(body)})
	if answer == nil {
		p.plain(w, r, string(body))
		return
	}
	answer(w, r)
}

// note records a request and finds its script, nil if there is none.
func (p *provider) note(x received) http.HandlerFunc {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.method == http.MethodPut && notice.MatchString(x.target) {
		return nil
	}
	p.seen = append(p.seen, x)
	for _, s := range slices.Backward(p.scripts) {
		if (s.method == "" || s.method == x.method) && strings.Contains(x.target, s.part) {
			return s.answer
		}
	}
	return nil
}

// plain answers like a good provider.
func (p *provider) plain(w http.ResponseWriter, r *http.Request, body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, name := strings.ToLower(r.URL.Path), r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	before, held := p.held[key]
	w.Header().Set("Content-Type", "application/json")
	switch r.Method {
	case http.MethodPut, http.MethodPatch:
		content := strings.TrimPrefix(strings.TrimSpace(body), "{")
		text := fmt.Sprintf(`{"id":%q,"name":%q,%s`, r.URL.Path, name, content)
		if strings.TrimSpace(content) == "}" {
			text = fmt.Sprintf(`{"id":%q,"name":%q}`, r.URL.Path, name)
		}
		p.held[key] = text
		if !held {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = io.WriteString(w, text)
	case http.MethodDelete:
		delete(p.held, key)
		if !held {
			w.WriteHeader(http.StatusNoContent)
		}
	default:
		switch {
		case held:
			_, _ = io.WriteString(w, before)
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, `{}`)
		case strings.Count(key[strings.LastIndex(key, "/providers/")+1:], "/")%2 == 0: // a collection
			_, _ = io.WriteString(w, `{"value":[]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"error":{"code":"ResourceNotFound","message":"The resource '%s' was not found."}}`, r.URL.Path)
		}
	}
}
