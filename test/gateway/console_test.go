package gateway_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/gateway"
	"portico/gateway/admin"
	adminapi "portico/gateway/admin/api"
	"portico/gateway/observe"
	"portico/inventory"
)

// consoleSite is a gateway with two admin tokens.
func consoleSite(t *testing.T) *site {
	return newSite(t, setup{server: `, adminTokens: [{sha256: ` + sha("the first") + `, name: First}, {sha256: ` + sha("the second") + `, name: Second}]`})
}

func (s *site) fromConsole() []string {
	return []string{"Origin", s.admin.URL, "X-Portico-Console", "person"}
}

// signIn signs in to the console, and returns the cookie as it is sent.
func (s *site) signIn(token string) string {
	s.t.Helper()
	got := s.request(201, "", "POST", "/console/session", `{"token":"`+token+`"}`, s.fromConsole()...)
	cookie := got.header.Get("Set-Cookie")
	name, _, _ := strings.Cut(cookie, ";")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800"} {
		if !strings.Contains(cookie, want) {
			s.t.Errorf("no %s in %s", want, cookie)
		}
	}
	if strings.Contains(cookie, token) || strings.Contains(cookie, sha(token)) || strings.Contains(got.text, token) || strings.Contains(cookie, "Secure") {
		s.t.Errorf("%s %s", cookie, got.text)
	}
	return name
}

func TestConsoleFiles(t *testing.T) {
	s := consoleSite(t)
	for target, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/console/console.js": "text/javascript; charset=utf-8", "/console/console.css": "text/css; charset=utf-8", "/console/icon.svg": "image/svg+xml",
	} {
		got := s.request(200, "", "GET", target, "")
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: no %s in %s", target, want, policy)
			}
		}
		if got.header.Get("Content-Type") != kind || strings.Contains(policy, "unsafe") || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", target, got.header)
		}
	}
	s.request(404, "", "GET", "/console/nothing", "")
	s.request(200, "", "GET", "/console/console.js", "", "Origin", s.admin.URL) // as Chromium asks for modules
	s.request(403, "Forbidden", "GET", "/console/console.js", "", "Origin", "http://evil.example")
	s.request(403, "Forbidden", "GET", "/console/session", "", "Origin", s.admin.URL)
	s.request(404, "", "GET", "/console/..%2fdoc.go", "")
	s.request(403, "Forbidden", "GET", "/", "", "Host", "evil.example")
}

func TestConsoleSessions(t *testing.T) {
	s := consoleSite(t)
	if got := s.request(200, "", "GET", "/console/session", ""); got.text != `{"signedIn":false,"asked":true}` {
		t.Errorf("%s", got.text)
	}
	s.request(401, "AuthenticationFailed", "POST", "/console/session", `{"token":"guessed"}`, s.fromConsole()...)
	s.request(401, "AuthenticationFailed", "POST", "/console/session", `{}`, s.fromConsole()...)
	cookie := s.signIn("the second")
	if got := s.request(200, "", "GET", "/console/session", "", "Cookie", cookie); got.text != `{"signedIn":true,"name":"Second","asked":true}` {
		t.Errorf("%s", got.text)
	}
	s.request(200, "", "GET", "/admin/jobs", "", "Cookie", cookie)
	s.request(401, "AuthenticationFailed", "GET", "/admin/jobs", "", "Cookie", cookie[:len(cookie)-1])
	for _, want := range []string{
		`"resource":"/console/session","status":401`, `"resource":"/console/session","status":201,"outcome":"answered","name":"Second"`, `"resource":"/admin/jobs","status":200,"outcome":"answered","name":"Second"`,
	} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("no %s in %s", want, s.log)
		}
	}
	s.request(200, "", "DELETE", "/console/session", "", append(s.fromConsole(), "Cookie", cookie)...)
	s.request(401, "AuthenticationFailed", "GET", "/admin/jobs", "", "Cookie", cookie)
}

// Sign-ins that fail are paced, for a token that is right as well if no one used it from there.
func TestConsoleSignInsArePaced(t *testing.T) {
	s := consoleSite(t)
	for i := range 5 {
		s.request(401, "AuthenticationFailed", "POST", "/console/session", fmt.Sprintf(`{"token":"guess %d"}`, i), s.fromConsole()...)
	}
	if got := s.request(429, "TooManyRequests", "POST", "/console/session", `{"token":"the first"}`, s.fromConsole()...); got.header.Get("Retry-After") == "" {
		t.Errorf("%v", got.header)
	}
}

// So are tokens that requests bring, for the address alone that guesses. Whoever used a right
// token from there before goes on, while few enough are guessed. A program that goes on with
// one wrong token guesses nothing, and whoever is signed in stays so.
func TestAdminTokensArePaced(t *testing.T) {
	s := consoleSite(t)
	cookie := s.signIn("the second")
	for range 20 {
		s.request(401, "AuthenticationFailed", "GET", "/admin/jobs", "", "Authorization", "Bearer withdrawn")
		s.request(401, "AuthenticationFailed", "GET", "/admin/jobs", "", "Authorization", "Bearer withdrawn as well")
		s.request(401, "AuthenticationFailed", "GET", "/admin/jobs", "")
		s.request(401, "AuthenticationFailed", "GET", "/admin/jobs", "", "Authorization", "Basic withdrawn")
	}
	for i := range 3 {
		s.request(200, "", "GET", "/admin/jobs", "", "Authorization", "Bearer the first")
		s.request(401, "AuthenticationFailed", "GET", "/admin/jobs", "", "Authorization", fmt.Sprint("Bearer guess ", i))
	}
	got := s.request(429, "TooManyRequests", "GET", "/admin/jobs", "", "Authorization", "Bearer guess 5")
	if seconds, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 60 || got.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%v", got.header)
	}
	for i := range 90 {
		s.request(429, "TooManyRequests", "GET", "/admin/jobs", "", "Authorization", fmt.Sprint("Bearer more ", i))
		s.request(200, "", "GET", "/admin/jobs", "", "Authorization", "Bearer the first")
	}
	for i := range 10 {
		s.request(429, "TooManyRequests", "GET", "/admin/jobs", "", "Authorization", fmt.Sprint("Bearer still more ", i))
	}
	s.request(429, "TooManyRequests", "GET", "/admin/jobs", "", "Authorization", "Bearer the first")
	s.request(200, "", "GET", "/admin/jobs", "", "Cookie", cookie)
	s.request(200, "", "GET", "/healthz", "")

	elsewhere := http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}}
	defer elsewhere.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin.URL+"/admin/jobs", http.NoBody)
	must(t, err)
	r.Header.Set("Authorization", "Bearer the first")
	answer, err := elsewhere.Do(r)
	must(t, err)
	if got := read(t, answer); got.status != 200 {
		t.Errorf("from elsewhere: %d %s", got.status, got.text)
	}
	_ = answer.Body.Close()
}

// Behind a trusted proxy each client guesses for itself; behind one that is not trusted, no one
// can be told apart by what it says.
func TestAdminTokensArePacedByClient(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		s := newSite(t, setup{server: `, adminTokens: [{sha256: ` + sha("right") + `, name: First}], trustedProxies: [` + map[bool]string{true: "127.0.0.0/8", false: "192.0.2.0/24"}[trusted] + `]`})
		from := func(client, token string) []string {
			return []string{"X-Forwarded-For", "198.51.100.99, " + client, "Authorization", "Bearer " + token}
		}
		for i := range 6 {
			status, code := 401, "AuthenticationFailed"
			if i == 5 {
				status, code = 429, "TooManyRequests"
			}
			s.request(status, code, "GET", "/admin/jobs", "", from("198.51.100.1", fmt.Sprint("guess ", i))...)
		}
		s.request(429, "TooManyRequests", "GET", "/admin/jobs", "", from("198.51.100.1", "right")...)
		if trusted {
			s.request(200, "", "GET", "/admin/jobs", "", from("198.51.100.2", "right")...)
		} else {
			s.request(429, "TooManyRequests", "GET", "/admin/jobs", "", from("198.51.100.2", "right")...)
		}
	}
}

// What the listener answers is kept by no one, and taken for nothing else.
func TestAdminAnswersAreNotKept(t *testing.T) {
	s := consoleSite(t)
	right := []string{"Authorization", "Bearer the first"}
	for _, c := range []struct {
		status       int
		method, path string
		header       []string
	}{
		{200, "GET", "/admin/jobs", right},
		{200, "GET", "/admin/changes", right},
		{200, "GET", "/admin/openapi.json", right},
		{200, "GET", "/debug/pprof/cmdline", right},
		{200, "GET", "/console/session", nil},
		{200, "GET", "/healthz", nil},
		{200, "GET", "/readyz", nil},
		{200, "GET", "/metrics", nil},
		{400, "GET", "/admin/jobs?limit=none", right},
		{401, "GET", "/admin/jobs", nil},
		{403, "GET", "/admin/jobs", []string{"Host", "evil.example"}},
		{404, "GET", "/nothing", right},
		{404, "GET", "/admin/subscriptions/00000000-0000-0000-0000-0000000000ff", right},
		{405, "DELETE", "/admin/jobs", right},
	} {
		got := s.ask(c.method, c.path, "", c.header...)
		if got.status != c.status || got.header.Get("Cache-Control") != "no-store" || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%d to %s %s, want %d: %v", got.status, c.method, c.path, c.status, got.header)
		}
	}
}

// A stream of changes ends with the session of whoever reads it.
func TestChangeStreamEndsWithItsSession(t *testing.T) {
	s := consoleSite(t)
	cookie := s.signIn("the first")
	_, lines := s.follow(t.Context(), "after=latest", "Cookie", cookie)
	next(t, lines, "id")
	s.request(200, "", "DELETE", "/console/session", "", append(s.fromConsole(), "Cookie", cookie)...)
	ends(t, lines)
}

// ends waits for the end of a stream.
func ends(t *testing.T, lines <-chan string) {
	t.Helper()
	for bound := time.After(time.Minute); ; {
		select {
		case _, more := <-lines:
			if !more {
				return
			}
		case <-bound:
			t.Fatal("the stream goes on")
		}
	}
}

// A configuration without an admin token ends what was begun with it, and nothing else.
func TestReloadEndsStreamsOfTokensThatAreGone(t *testing.T) {
	s := consoleSite(t)
	first, second := []string{"Authorization", bearer("the first")}, []string{"Authorization", bearer("the second")}
	_, ofToken := s.follow(t.Context(), "after=latest", first...)
	_, ofSession := s.follow(t.Context(), "after=latest", "Cookie", s.signIn("the first"))
	_, stays := s.follow(t.Context(), "after=latest", second...)
	for _, lines := range []<-chan string{ofToken, ofSession, stays} {
		next(t, lines, "id")
	}
	at := decode[changePage](t, s.request(200, "", "GET", "/admin/changes?after=latest", "", second...)).Next
	waited := make(chan seen, 1)
	go func() { waited <- s.ask("GET", "/admin/changes?wait=60s&after="+at, "", first...) }()

	changed := *s.config
	changed.Server.AdminTokens = s.config.Server.AdminTokens[1:]
	live := gateway.NewLive(s.gateway)
	live.Replace(s.gateway.Succeed(&changed, s.authenticator(), nil, nil))
	ends(t, ofToken)
	ends(t, ofSession)
	// Whoever was still on the way when the token went is refused at once.
	if got := <-waited; got.status != 401 {
		t.Errorf("a page that was awaited: %d %s", got.status, got.text)
	}
	s.group("g")
	if reported := next(t, stays, "event"); !strings.HasPrefix(reported, "Microsoft.Resources.") {
		t.Errorf("the other reader was told %q", reported)
	}

	// Where tokens are asked for from now on, a reader without one is none any more.
	free := newSite(t, setup{})
	_, lines := free.follow(t.Context(), "after=latest")
	next(t, lines, "id")
	closed := *free.config
	closed.Server.AdminTokens = s.config.Server.AdminTokens
	free.gateway.Succeed(&closed, free.authenticator(), nil, nil)
	ends(t, lines)
}

// What changes something needs the session, the own origin and the header, all three;
// whoever brings a token is no page.
func TestConsoleRefusesForeignPages(t *testing.T) {
	s := consoleSite(t)
	cookie := s.signIn("the first")
	const dry = `{"dryRun":true}`
	type headers = []string
	for name, h := range map[string]headers{
		"no origin":         {"Cookie", cookie},
		"no origin, header": {"Cookie", cookie, "X-Portico-Console", "person"},
		"no header":         {"Cookie", cookie, "Origin", s.admin.URL},
		"foreign origin":    {"Cookie", cookie, "Origin", "http://evil.example", "X-Portico-Console", "person"},
		"another port":      {"Cookie", cookie, "Origin", "http://127.0.0.1:1", "X-Portico-Console", "person"},
		"another scheme":    {"Cookie", cookie, "Origin", "https" + strings.TrimPrefix(s.admin.URL, "http"), "X-Portico-Console", "person"},
		"null":              {"Cookie", cookie, "Origin", "null", "X-Portico-Console", "person"},
		"a token":           {"Authorization", "Bearer the first", "Origin", s.admin.URL, "X-Portico-Console", "person"},
		"a token beside it": {"Cookie", cookie, "Authorization", "Bearer the first", "Origin", s.admin.URL, "X-Portico-Console", "person"},
		"no session":        {"Origin", s.admin.URL, "X-Portico-Console", "person"},
		"foreign host":      {"Cookie", cookie, "Host", "evil.example", "Origin", "http://evil.example", "X-Portico-Console", "person"},
		"cross-site":        {"Cookie", cookie, "Origin", s.admin.URL, "X-Portico-Console", "person", "Sec-Fetch-Site", "cross-site"},
		"same-site":         {"Cookie", cookie, "Origin", s.admin.URL, "X-Portico-Console", "person", "Sec-Fetch-Site", "same-site"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.ask("POST", "/admin/sweeps", dry, h...); got.status != 403 {
				t.Errorf("%d %s", got.status, got.text)
			}
		})
	}
	s.request(403, "Forbidden", "POST", "/console/session", `{"token":"the first"}`)
	s.request(403, "Forbidden", "POST", "/console/session", `{"token":"the first"}`, "Origin", s.admin.URL)
	s.request(403, "Forbidden", "GET", "/admin/jobs", "", "Cookie", cookie, "Sec-Fetch-Site", "same-site")
	s.request(200, "", "GET", "/", "", "Sec-Fetch-Site", "cross-site") // a link to the console
	if jobs := s.request(200, "", "GET", "/admin/jobs?kind=sweep", "", "Cookie", cookie); jobs.text != `{"value":[]}` {
		t.Errorf("%s", jobs.text)
	}
	s.request(202, "", "POST", "/admin/sweeps", dry, append(s.fromConsole(), "Cookie", cookie, "Sec-Fetch-Site", "same-origin")...)
}

// Without tokens the page needs no session, and pages of other origins get no further.
func TestConsoleWithoutTokens(t *testing.T) {
	s := newSite(t, setup{})
	if got := s.request(200, "", "GET", "/console/session", ""); got.text != `{"signedIn":true,"asked":false}` {
		t.Errorf("%s", got.text)
	}
	s.request(202, "", "POST", "/admin/sweeps", `{"dryRun":true}`, s.fromConsole()...)
	s.request(403, "Forbidden", "POST", "/admin/sweeps", `{"dryRun":true}`, "Origin", s.admin.URL)
	s.request(403, "Forbidden", "POST", "/admin/sweeps", `{"dryRun":true}`, "Origin", "http://evil.example", "X-Portico-Console", "person")
}

// A cookie is only for TLS where the browser speaks TLS, as a proxy that is trusted says.
func TestConsoleCookieBehindTLS(t *testing.T) {
	s := newSite(t, setup{server: `, adminToken: {sha256: ` + sha("the first") + `}, trustedProxies: [127.0.0.1, "::1"]`})
	origin := "https" + strings.TrimPrefix(s.admin.URL, "http")
	got := s.request(201, "", "POST", "/console/session", `{"token":"the first"}`, "Origin", origin, "X-Portico-Console", "person", "X-Forwarded-Proto", "https")
	if !strings.Contains(got.header.Get("Set-Cookie"), "; Secure") {
		t.Errorf("%v", got.header)
	}
	s.request(403, "Forbidden", "POST", "/console/session", `{"token":"the first"}`, "Origin", s.admin.URL, "X-Portico-Console", "person", "X-Forwarded-Proto", "https")
}

// The last errors show whose they were, without values of queries, and a caller that is
// refused again and again pushes out no failure. Those that are alike are one group.
func TestConsoleErrors(t *testing.T) {
	s := newSite(t, setup{})
	const id = "00000000-0000-0000-0000-00000000feed"
	s.ok(200, "GET", inSubscription+own, "")
	s.want(404, "ResourceGroupNotFound", "GET", inSubscription+"/resourceGroups/nothing"+own+"&secret=hunter2", "", "x-ms-correlation-request-id", id)
	var page adminapi.Page[adminapi.ErrorAnswer]
	read := func(query string) {
		must(t, json.Unmarshal([]byte(s.request(200, "", "GET", "/admin/errors?limit=1000"+query, "").text), &page))
	}
	read("&each=true")
	if len(page.Value) != 1 {
		t.Fatalf("%+v", page)
	}
	got := page.Value[0]
	if got.Status != 404 || got.Code != "ResourceGroupNotFound" || got.Cause != "gateway" || got.CorrelationID != id || got.Path != inSubscription+"/resourceGroups/nothing" || got.Method != http.MethodGet {
		t.Errorf("%+v", got)
	}
	if strings.Contains(fmt.Sprint(page), "hunter2") {
		t.Errorf("%+v", page)
	}
	for range 600 {
		s.want(404, "ResourceGroupNotFound", "GET", inSubscription+"/resourceGroups/other"+own, "")
	}
	read("&each=true")
	if len(page.Value) != 250 {
		t.Errorf("%d are remembered", len(page.Value))
	}
	read("")
	if len(page.Value) != 1 || page.Value[0].Count != 601 || page.Value[0].Path != inSubscription+"/resourceGroups/other" || page.Value[0].Caller == "" || page.Value[0].Replica == "" || !page.Value[0].First.Before(page.Value[0].Time) {
		t.Errorf("%+v", page)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/errors?each=x", "")
}

// The traffic is that of the intervals, and no interval is told twice.
func TestConsoleTraffic(t *testing.T) {
	s := newSite(t, setup{})
	begin := time.Now()
	metrics := observe.NewMetrics(prometheus.NewRegistry())
	s.gateway.Observe = s.observer(metrics, zap.NewNop()).Observe
	s.answerBy(s.gateway)
	traffic := observe.NewTraffic(metrics, s.store.Traffic, "a")
	s.admin.Config.Handler = admin.New(admin.Options{Config: s.config, Store: s.store, Traffic: traffic, Audit: observe.NewAudit(zap.NewNop()), Log: zap.NewNop()})
	traffic.Sample(begin)
	for range 3 {
		s.ok(200, "GET", inSubscription+own, "")
	}
	s.want(404, "ResourceGroupNotFound", "GET", inSubscription+"/resourceGroups/nothing"+own, "")
	traffic.Sample(begin.Add(5 * time.Second))
	traffic.Sample(begin.Add(10 * time.Second))
	var got adminapi.Traffic
	read := func(query string) {
		must(t, json.Unmarshal([]byte(s.request(200, "", "GET", "/admin/traffic"+query, "").text), &got))
	}
	read("")
	if len(got.Intervals) != 2 || got.Intervals[0].Requests != 4 || got.Intervals[0].Refusals != 1 || got.Intervals[0].Failures != 0 || got.Intervals[0].P95 <= 0 || got.Intervals[0].Seconds != 5 || got.Intervals[1].Requests != 0 {
		t.Errorf("%+v", got)
	}
	read("?after=" + begin.Add(5*time.Second).UTC().Format(time.RFC3339Nano))
	if len(got.Intervals) != 1 || got.Intervals[0].Requests != 0 {
		t.Errorf("%+v", got)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/traffic?after=now", "")
	for i := range 400 {
		traffic.Sample(begin.Add(time.Duration(3+i) * 5 * time.Second))
	}
	if read(""); len(got.Intervals) != 180 {
		t.Errorf("%d intervals are remembered", len(got.Intervals))
	}
}

// What replicas stored of the traffic outlasts them, and is that of all of them.
func TestStoredTraffic(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	machine := s.machine("g", "m", "westus")
	metrics := observe.NewMetrics(prometheus.NewRegistry())
	s.gateway.Observe = s.observer(metrics, zap.NewNop()).Observe
	s.answerBy(s.gateway)
	a, b := observe.NewTraffic(metrics, s.store.Traffic, "a"), observe.NewTraffic(metrics, s.store.Traffic, "b")
	began := time.Now().Truncate(time.Minute).Add(-10 * time.Minute)
	for i := range 3 { // two minutes, and a part of one
		for _, replica := range []*observe.Traffic{a, b} {
			replica.Sample(began.Add(time.Duration(60*i+3) * time.Second))
			replica.Share(t.Context(), false)
		}
		s.ok(200, "GET", machine+api, "")
	}
	for _, replica := range []*observe.Traffic{a, b} {
		replica.Sample(began.Add(150 * time.Second))
		replica.Share(t.Context(), true)
	}
	s.admin.Config.Handler = admin.New(admin.Options{
		Config: s.config, Store: s.store, Traffic: observe.NewTraffic(metrics, s.store.Traffic, "c"), Audit: observe.NewAudit(zap.NewNop()), Log: zap.NewNop(),
	})
	for span, want := range map[string]struct{ intervals, most int }{"1h": {60, 2}, "6h": {180, 4}, "24h": {180, 6}} {
		var got adminapi.Traffic
		must(t, json.Unmarshal([]byte(s.request(200, "", "GET", "/admin/traffic?region=westus&range="+span, "").text), &got))
		sum, region, most := 0, 0, 0
		for _, i := range got.Intervals {
			sum, most = sum+i.Requests, max(most, i.Requests)
			for _, r := range i.Regions {
				region += r.Requests
			}
			if i.Requests > 0 && (i.P95 <= 0 || i.Mean <= 0 || i.Time.Before(began) || i.Time.After(began.Add(time.Duration(i.Seconds+180)*time.Second))) {
				t.Errorf("%s: %+v", span, i)
			}
		}
		if n := len(got.Intervals); n != want.intervals || sum != 6 || region != 6 || most > want.most {
			t.Errorf("%s: %d intervals, %d requests, %d to the region, at most %d in one", span, n, sum, region, most)
		}
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/traffic?range=1y", "")
}

// Strays are listed in pages, and are members of their group's deletion.
func TestConsoleStraysAndMembers(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	for _, name := range []string{"m", "n"} {
		id := s.machine("g", name, "westus")
		q, err := s.store.Adopt(t.Context(), inventory.Discovery{ListedSince: s.store.Now(), Resource: inventory.Resource{
			Subscription: subscription, Group: "g", ID: id, Type: "Contoso.Compute/virtualMachines", Region: "eastus",
		}})
		if err != nil || q != inventory.Strayed {
			t.Fatal(q, err)
		}
	}
	var seen []string
	for next := "/admin/strays?limit=1"; next != ""; {
		var page adminapi.Page[adminapi.Stray]
		if err := json.Unmarshal([]byte(s.request(200, "", "GET", next, "").text), &page); err != nil || len(page.Value) != 1 {
			t.Fatalf("%+v %v", page, err)
		}
		seen, next = append(seen, page.Value[0].Region+page.Value[0].ID), page.NextLink
	}
	if want := []string{"eastus" + machinePath("g", "m"), "eastus" + machinePath("g", "n")}; !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/strays?after=x", "")

	s.ok(202, "DELETE", g+own, "")
	var jobs adminapi.Page[struct{ ID, Kind string }]
	must(t, json.Unmarshal([]byte(s.request(200, "", "GET", "/admin/jobs", "").text), &jobs))
	for _, job := range jobs.Value {
		if job.Kind != inventory.GroupDeleteJob {
			s.request(409, "Conflict", "GET", "/admin/jobs/"+job.ID+"/members", "")
			continue
		}
		var members adminapi.DeletionMembers
		must(t, json.Unmarshal([]byte(s.request(200, "", "GET", "/admin/jobs/"+job.ID+"/members", "").text), &members))
		strays := 0
		for _, m := range members.Members {
			if m.State != adminapi.MemberWaiting {
				t.Errorf("%+v", m)
			}
			if m.Stray {
				strays++
			}
		}
		if members.Group != g || len(members.Members) != 4 || strays != 2 {
			t.Errorf("%+v", members)
		}
	}
	s.request(404, "ResourceNotFound", "GET", "/admin/jobs/nothing/members", "")
}
