package contoso

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sub      = "/subscriptions/00000000-0000-0000-0000-000000000001"
	otherSub = "/subscriptions/00000000-0000-0000-0000-000000000002"
	compute  = sub + "/resourceGroups/rg/providers/Contoso.Compute"
	vm       = compute + "/virtualMachines/vm1"
	version  = "?api-version=2024-01-01"
	old      = "?api-version=2023-01-01"
	public   = "https://management.example.com"
	westVM   = `{"location":"West US"}`
)

// clock is the time of a site, which passes only when a test says so.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// site is a provider behind a real listener.
type site struct {
	t *testing.T
	*Provider
	*clock
	url    string
	client *http.Client
}

func newSite(t *testing.T, region string) *site {
	return newSiteWith(t, Options{Region: region})
}

func newSiteWith(t *testing.T, o Options) *site {
	t.Helper()
	c := &clock{now: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)}
	o.Now = c.Now
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	p, err := New(o)
	must(t, err)
	server := httptest.NewServer(p)
	s := &site{t: t, Provider: p, clock: c, url: server.URL, client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       30 * time.Second,
	}}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return s
}

// must ends the test where a step fails that it only needs.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type reply struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   string
}

// send makes a request with the front door's referer. Headers are "name: value".
func (s *site) send(method, target, body string, headers ...string) (reply, error) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+target, strings.NewReader(body))
	must(s.t, err)
	r.Header.Set("Referer", public+target)
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		r.Header.Add(k, v)
	}
	a, err := s.client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return reply{s.t, method + " " + target, a.StatusCode, a.Header, string(b)}, err
}

// do makes a request that must get an answer of the given status.
func (s *site) do(status int, method, target, body string, headers ...string) reply {
	s.t.Helper()
	a, err := s.send(method, target, body, headers...)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
	if a.status != status {
		s.t.Fatalf("%s: got %d, want %d: %s", a.what, a.status, status, a.body)
	}
	return a
}

func (s *site) get(target string, headers ...string) reply {
	s.t.Helper()
	return s.do(200, "GET", target, "", headers...)
}

// refused makes a request that must get an error of the given code.
func (s *site) refused(status int, code, method, target, body string, headers ...string) {
	s.t.Helper()
	a := s.do(status, method, target, body, headers...)
	if got := a.at("error", "code"); got != code {
		s.t.Fatalf("%s: got code %v, want %s: %s", a.what, got, code, a.body)
	}
	if got := a.header.Get("Content-Type"); got != jsonContent {
		s.t.Fatalf("%s: content type %q", a.what, got)
	}
	if a.at("error", "message") == "" {
		s.t.Fatalf("%s: no message", a.what)
	}
}

// at gives the value at a path of members in the body, nil if there is none.
func (a reply) at(path ...string) any {
	a.t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		a.t.Fatalf("%s: %v: %q", a.what, err, a.body)
	}
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func (a reply) want(value any, path ...string) {
	a.t.Helper()
	got, _ := json.Marshal(a.at(path...))
	want, _ := json.Marshal(value)
	if !bytes.Equal(got, want) {
		a.t.Fatalf("%s: %v is %s, want %s", a.what, path, got, want)
	}
}

// ids gives the ids of a list's page.
func (a reply) ids() []string {
	a.t.Helper()
	var page struct{ Value []struct{ ID string } }
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || page.Value == nil {
		a.t.Fatalf("%s: no list: %s", a.what, a.body)
	}
	out := []string{}
	for _, r := range page.Value {
		out = append(out, r.ID)
	}
	return out
}

func (a reply) wantIDs(want ...string) {
	a.t.Helper()
	if got := a.ids(); strings.Join(got, " ") != strings.Join(want, " ") {
		a.t.Fatalf("%s: got ids %q, want %q", a.what, got, want)
	}
}

// local gives a URL of the public host as a target of the site.
func (a reply) local(link any) string {
	a.t.Helper()
	s, _ := link.(string)
	target, ok := strings.CutPrefix(s, public)
	if !ok {
		a.t.Fatalf("%s: the link %q is not on the public host", a.what, s)
	}
	return target
}

func TestUnknownBreaksAreRefused(t *testing.T) {
	_, err := New(Options{Region: "westus", Breaks: []string{etagStrong, "gravity"}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range append([]string{"gravity"}, etagStrong, caseSensitiveNames, headWithBody) {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not name %s", err, want)
		}
	}
}
