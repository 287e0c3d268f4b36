package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/gateway/observe"
)

func TestAllowedHosts(t *testing.T) {
	for _, c := range []struct {
		public, listen string
		allowed        string
		refused        string
	}{
		{
			"http://Portico.example", "127.0.0.1:8080", "portico.example portico.example:80 localhost:8080 127.0.0.1:8080 [::1]:8080",
			"evil.example localhost portico.example:8080 127.0.0.1 127.0.0.1:80 portico.example:443 127.0.0.2:8080",
		},
		{"https://portico.example", "127.0.0.1:80", "portico.example portico.example:443 localhost localhost:80 127.0.0.1", "portico.example:80 localhost:8080"},
		{"https://portico.example:8443", "127.0.0.9:8443", "portico.example:8443 127.0.0.9:8443 localhost:8443", "portico.example portico.example:443"},
		{"http://portico.example", "localhost:1", "portico.example localhost:1", "127.0.0.9:1"},
		{"http://portico.example", "no port", "portico.example", "localhost localhost:80"},
	} {
		public, err := url.Parse(c.public)
		must(t, err)
		hosts := chain.NewHosts(public, c.listen)
		for host := range strings.FieldsSeq(c.allowed) {
			if !hosts[host] {
				t.Errorf("%s on %s refuses %s", c.public, c.listen, host)
			}
		}
		for host := range strings.FieldsSeq(c.refused) {
			if hosts[host] {
				t.Errorf("%s on %s allows %s", c.public, c.listen, host)
			}
		}
	}
}

func TestHostGuard(t *testing.T) {
	s := newSite(t, setup{})
	s.ok(200, "GET", inSubscription+own, "", "Host", "PORTICO.example")
	s.ok(200, "GET", inSubscription+own, "", "Host", "localhost:8080")
	s.want(421, "MisdirectedRequest", "GET", inSubscription+own, "", "Host", "localhost")
	s.want(403, "Forbidden", "GET", inSubscription+own, "", "Origin", "http://portico.example")
}

func TestTarget(t *testing.T) {
	for uri, want := range map[string][2]string{
		"/a%2Fb?c=d?e":                {"/a%2Fb", "c=d?e"},
		"http://portico.example/a?b":  {"/a", "b"},
		"http://portico.example":      {"/", ""},
		"http://portico.example?b":    {"/", "b"},
		"*":                           {"*", ""},
		"https://portico.example/%41": {"/%41", ""},
	} {
		if path, query := chain.Target(&http.Request{RequestURI: uri}); path != want[0] || query != want[1] {
			t.Errorf("%s: %q %q", uri, path, query)
		}
	}
}

func TestMethods(t *testing.T) {
	s := newSite(t, setup{})
	for _, method := range []string{"OPTIONS", "TRACE", "CONNECT"} {
		fault := exchange.CheckMethod(method)
		if fault == nil || fault.Status != 405 || len(fault.Allow) != 6 {
			t.Errorf("%s: %v", method, fault)
		}
	}
	if got := s.want(405, "MethodNotAllowed", "OPTIONS", inSubscription+own, ""); got.header.Get("Allow") != "GET, HEAD, PUT, PATCH, POST, DELETE" {
		t.Errorf("%v", got.header)
	}
	s.want(501, "NotImplemented", "PURGE", inSubscription+own, "")
	if label := observe.Method("PURGE"); label != "OTHER" {
		t.Errorf("a label is %s", label)
	}
}

func TestContent(t *testing.T) {
	s := newSite(t, setup{limits: "requestBody: 1KiB"})
	g := s.group("g")
	big := `{"location":"westus","tags":{"a":"` + strings.Repeat("x", 1024) + `"}}`
	for _, target := range []string{g + own, machinePath("g", "m") + api} {
		if got := s.want(413, "RequestContentTooLarge", "PUT", target, big); !strings.Contains(got.text, "1024 bytes") {
			t.Errorf("%s", got.text)
		}
		if got := s.chunked("PUT", target, big); got.status != 413 || got.code != "RequestContentTooLarge" {
			t.Errorf("without a length: %d %s", got.status, got.text)
		}
		s.want(415, "UnsupportedMediaType", "PUT", target, westus, "Content-Type", "text/plain")
		if got := s.chunked("PUT", target, westus); got.status != 200 && got.status != 201 {
			t.Errorf("without a length: %d %s", got.status, got.text)
		}
		s.ok(200, "GET", target, "no JSON, and no one asked for any", "Content-Type", "text/plain")
		s.want(400, "InvalidRequestContent", "PUT", target, `{"location":`)
	}
	s.want(400, "InvalidRequestContent", "POST", register, `{`)
	for _, method := range []string{"PUT", "PATCH"} {
		if got := s.want(400, "TagCountExceeded", method, machinePath("g", "m")+api, manyTags(51)); got.header.Get("X-Ms-Failure-Cause") != "gateway" {
			t.Errorf("the provider was called: %v", got.header)
		}
	}
	s.ok(201, "PUT", machinePath("g", "m")+"/runCommands/r"+api, `{"tags":{"a/b":"an untracked resource's are its provider's"}}`)
}

func manyTags(n int) string {
	var tags []string
	for i := range n {
		tags = append(tags, fmt.Sprintf(`"%d":""`, i))
	}
	return `{"location":"westus","tags":{` + strings.Join(tags, ",") + `}}`
}

// chunked sends content without saying how long it is.
func (s *site) chunked(method, target, body string) seen {
	s.t.Helper()
	r := request(s.t, s.server, method, target, body, "Host", "portico.example")
	r.ContentLength, r.GetBody = -1, nil
	answer, err := s.server.Client().Do(r)
	must(s.t, err)
	defer answer.Body.Close()
	return read(s.t, answer)
}

// brokenBody is content that breaks off.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("gone") }
func (brokenBody) Close() error             { return nil }

func TestContentThatBreaksOff(t *testing.T) {
	s := newSite(t, setup{})
	r := httptest.NewRequest(http.MethodPut, groupPath("g")+own, brokenBody{})
	r.Host = "portico.example"
	w := httptest.NewRecorder()
	s.gateway.Public().ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "InvalidRequestContent") || strings.Contains(w.Body.String(), "gone") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// deadlines notes the read deadlines that are set on a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// Content has its time to arrive, what follows has its own.
func TestTimeOfContent(t *testing.T) {
	s := newSite(t, setup{})
	for _, c := range []struct {
		name   string
		length int64
		within time.Duration
	}{
		{"as declared", 128 << 10, exchange.ContentTime(0) + 2*time.Second},
		{"not declared", -1, exchange.ContentTime(0) + 64*time.Second},
		{"more than allowed", 1 << 40, exchange.ContentTime(0) + 64*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPut, groupPath("g")+own, strings.NewReader(westus))
			r.Host, r.ContentLength = "portico.example", c.length
			r.Header.Set("Content-Type", "application/json")
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			before := time.Now()
			s.gateway.Public().ServeHTTP(w, r)
			after := time.Now()
			if len(w.set) == 0 || w.set[0].Before(before.Add(c.within)) || w.set[0].After(after.Add(c.within)) {
				t.Fatalf("deadlines %v, want one in %v", w.set, c.within)
			}
			if read := c.length < 1<<30; read && !w.set[len(w.set)-1].IsZero() {
				t.Errorf("the deadline stays once all is read: %v", w.set)
			}
		})
	}
	r := httptest.NewRequest(http.MethodGet, groupPath("g")+own, http.NoBody)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	s.gateway.Public().ServeHTTP(w, r)
	if len(w.set) != 0 {
		t.Errorf("a request without content has deadlines: %v", w.set)
	}
}

// Nor does anybody keep a connection of the admin listener by content that comes
// byte by byte.
func TestTimeOfContentForTheAdmin(t *testing.T) {
	s := newSite(t, setup{})
	none, all := exchange.ContentTime(0), exchange.ContentTime(64<<10)
	for target, within := range map[string]time.Duration{
		"PUT /admin/subscriptions/" + subscription:                      none, // read by a handler
		"POST /admin/reload":                                            none, // read by no one
		"POST /debug/pprof/symbol":                                      all,
		"PUT /admin/subscriptions/00000000-0000-0000-0000-0000000000d1": all,
	} {
		method, path, _ := strings.Cut(target, " ")
		r := httptest.NewRequest(method, path, strings.NewReader(`{"tenantId":"`+tenant+`"}`))
		r.Host = "localhost"
		if within == all {
			r.ContentLength = -1
		}
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		s.gateway.Admin().ServeHTTP(w, r)
		after := time.Now()
		if len(w.set) == 0 || w.set[0].Before(before.Add(within)) || w.set[0].After(after.Add(within)) {
			t.Fatalf("%s: deadlines %v, want one in %v", target, w.set, within)
		}
		if put := method == http.MethodPut; put && (w.Code/100 != 2 || !w.set[len(w.set)-1].IsZero()) {
			t.Errorf("%s: %d, and the deadline stays once all is read: %v", target, w.Code, w.set)
		}
	}
}
