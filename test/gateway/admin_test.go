package gateway_test

import (
	"io"
	"runtime/pprof"
	"strings"
	"testing"

	"portico/inventory"
)

// ask sends a request to the admin listener.
func (s *site) ask(method, target, body string, header ...string) seen {
	s.t.Helper()
	return exchangeWith(s.t, s.admin, method, target, body, header...)
}

func (s *site) request(status int, code, method, target, body string, header ...string) seen {
	s.t.Helper()
	got := s.ask(method, target, body, header...)
	if got.status != status || got.code != code {
		s.t.Errorf("%s %s %s %q: %d %q, want %d %q: %s", method, target, body, header, got.status, got.code, status, code, got.text)
	}
	return got
}

var profiles = []string{"/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/trace?seconds=0.01"}

func TestAdminRoutes(t *testing.T) {
	s := newSite(t, setup{})
	s.ok(200, "GET", inSubscription+own, "")
	for target, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if got := s.request(200, "", "GET", target, ""); got.text != want || got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %q %v", target, got.text, got.header)
		}
	}
	got := s.request(200, "", "GET", "/metrics", "")
	for _, metric := range []string{`portico_requests_total{cause="none",class="own",code="200",method="GET"} 1`, "portico_request_seconds", "portico_spoofed_headers_total 0"} {
		if !strings.Contains(got.text, metric) {
			t.Errorf("no %s in %s", metric, got.text)
		}
	}
	for _, target := range profiles {
		s.request(200, "", "GET", target, "")
	}
	// One profile of the CPU at a time; to be told so takes no second.
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		defer pprof.StopCPUProfile()
	}
	if got := s.request(500, "", "GET", "/debug/pprof/profile?seconds=1", ""); !strings.Contains(got.text, "CPU profiling") {
		t.Errorf("%s", got.text)
	}
	s.request(404, "", "GET", "/nothing", "")
	s.request(405, "", "POST", "/healthz", "")
	s.request(405, "", "DELETE", "/admin/subscriptions/"+subscription, "")
}

func TestReadiness(t *testing.T) {
	s := newSite(t, setup{})
	s.gateway.Drain()
	if got := s.request(503, "", "GET", "/readyz", ""); got.text != "draining\n" {
		t.Errorf("%q", got.text)
	}
	s.request(200, "", "GET", "/healthz", "")
	s.ok(200, "GET", inSubscription+own, "") // it goes on answering

	down := newSite(t, setup{})
	must(t, down.store.Close())
	if got := down.request(503, "", "GET", "/readyz", ""); got.text != "the store does not answer\n" {
		t.Errorf("%q", got.text)
	}
	down.request(200, "", "GET", "/healthz", "")
	for _, c := range [][3]string{{"GET", "/admin/subscriptions", ""}, {"GET", "/admin/subscriptions/" + foreign, ""}, {"PUT", "/admin/subscriptions/" + foreign, `{"tenantId":"` + tenant + `"}`}} {
		if got := down.request(503, "ServiceUnavailable", c[0], c[1], c[2]); strings.Contains(got.text, "inventory") || strings.Contains(got.text, "SELECT") {
			t.Errorf("%s", got.text)
		}
		_, line, _ := strings.Cut(down.log.String(), `"path":"`+c[1]+`","error":"`)
		if line, _, _ = strings.Cut(line, "\n"); !strings.Contains(line, "inventory: the store is unavailable") {
			t.Errorf("the log does not say why: %s", down.log)
		}
	}
}

func TestAdminHosts(t *testing.T) {
	s := newSite(t, setup{server: `, adminHosts: [ops.example]`})
	targets := append([]string{"/healthz", "/readyz", "/metrics", "/admin/subscriptions"}, profiles[0])
	for _, target := range targets {
		for _, host := range []string{"127.0.0.1", "127.0.0.1:1", "10.1.2.3:8081", "[::1]:8081", "[::1]", "localhost", "LOCALHOST:8081", "ops.example", "Ops.Example:8081"} {
			s.request(200, "", "GET", target, "", "Host", host)
		}
		for _, host := range []string{"evil.example", "evil.example:8081", "localhost.evil.example", "portico.example", "127.0.0.1.evil.example"} {
			s.request(403, "Forbidden", "GET", target, "", "Host", host)
		}
		for _, origin := range []string{"http://evil.example", "null", s.admin.URL, ""} {
			s.request(403, "Forbidden", "GET", target, "", "Origin", origin)
		}
	}
}

func TestAdminToken(t *testing.T) {
	s := newSite(t, setup{server: `, adminToken: {sha256: ` + sha("the admin's") + `}`})
	for _, target := range []string{"/healthz", "/readyz", "/metrics"} {
		s.request(200, "", "GET", target, "")
	}
	for _, target := range append([]string{"/admin/subscriptions", "/admin/subscriptions/" + subscription, "/debug/pprof/profile"}, profiles...) {
		for _, authorization := range [][]string{nil, {"Authorization", "Bearer guessed"}, {"Authorization", "Basic the admin's"}, {"Authorization", "the admin's"}, {"Authorization", "Bearer " + sha("the admin's")}} {
			got := s.request(401, "AuthenticationFailed", "GET", target, "", authorization...)
			if got.header.Get("WWW-Authenticate") != `Bearer realm="portico admin"` {
				t.Errorf("%v", got.header)
			}
		}
	}
	s.request(401, "AuthenticationFailed", "PUT", "/admin/subscriptions/"+foreign, `{"tenantId":"`+tenant+`"}`)
	if _, err := s.store.Subscription(t.Context(), foreign); err == nil {
		t.Error("a refused PUT made a subscription")
	}
	for _, scheme := range []string{"Bearer", "bearer"} {
		s.request(200, "", "GET", "/admin/subscriptions", "", "Authorization", scheme+" the admin's")
		s.request(200, "", "GET", profiles[0], "", "Authorization", scheme+" the admin's")
	}
	s.request(403, "Forbidden", "GET", "/admin/subscriptions", "", "Authorization", "Bearer the admin's", "Host", "evil.example")
}

func TestAdminSubscriptions(t *testing.T) {
	s := newSite(t, setup{})
	target := "/admin/subscriptions/" + foreign
	s.request(404, "SubscriptionNotFound", "GET", target, "")
	created := s.request(201, "", "PUT", target, `{"tenantId":"`+strings.ToUpper(otherTenant)+`"}`)
	if want := `{"id":"` + foreign + `","tenantId":"` + otherTenant + `","displayName":"` + foreign + `","state":"Enabled","covered":true}`; created.text != want || created.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("%s, want %s", created.text, want)
	}
	stored, err := s.store.Subscription(t.Context(), foreign)
	if err != nil || !stored.Covered {
		t.Errorf("%+v %v", stored, err)
	}
	changed := s.request(200, "", "PUT", strings.ToUpper(target[:1])+target[1:], `{"id":"`+foreign+`","tenantId":"`+otherTenant+`","displayName":"D","state":"warned"}`)
	if read := s.request(200, "", "GET", target, ""); read.text != changed.text || !strings.Contains(read.text, `"displayName":"D","state":"Warned"`) {
		t.Errorf("%s and %s", read.text, changed.text)
	}
	if got := s.request(200, "", "GET", "/admin/subscriptions", ""); got.text !=
		`{"value":[{"id":"`+subscription+`","tenantId":"`+tenant+`","displayName":"First","state":"Enabled","covered":true},`+changed.text+`]}` {
		t.Errorf("%s", got.text)
	}
	s.want(409, "ReadOnlyDisabledSubscription", "PUT", "/subscriptions/"+foreign+"/resourceGroups/g"+own, westus)

	for _, c := range []struct{ target, body, code string }{
		{"/admin/subscriptions/x", `{"tenantId":"` + tenant + `"}`, "InvalidSubscriptionId"},
		{target, ``, "InvalidRequestContent"},
		{target, `{`, "InvalidRequestContent"},
		{target, `[]`, "InvalidRequestContent"},
		{target, `{}`, "InvalidRequestContent"},
		{target, `{"tenantId":"t"}`, "InvalidRequestContent"},
		{target, `{"tenantId":"` + tenant + `","colour":"red"}`, "InvalidRequestContent"},
		{target, `{"tenantId":"` + tenant + `","state":"Asleep"}`, "InvalidRequestContent"},
		{target, `{"tenantId":"` + tenant + `","id":"` + subscription + `"}`, "InvalidRequestContent"},
		{target, `{"tenantId":"` + tenant + `"}{}`, "InvalidRequestContent"},
		{target, `{"tenantId":"` + tenant + `","displayName":"` + strings.Repeat("x", 65<<10) + `"}`, "InvalidRequestContent"},
	} {
		s.request(400, c.code, "PUT", c.target, c.body)
	}
	if stored, err := s.store.Subscription(t.Context(), foreign); err != nil || stored.State != inventory.Warned || stored.DisplayName != "D" {
		t.Errorf("a refused PUT left %+v %v", stored, err)
	}
}
