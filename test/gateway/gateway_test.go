package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"portico/arm"
	"portico/gateway/chain"
	"portico/gateway/exchange"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each request is wrong in the ways of several links; the first link that it
// meets is the one that answers.
func TestChainOrder(t *testing.T) {
	open, guarded := newSite(t, setup{}), newSite(t, setup{tokens: true})
	const noRoute = "/subscriptions/x/%2e%2e"
	for _, c := range []struct {
		name   string
		site   *site
		method string
		path   string
		header []string
		status int
		code   arm.Code
	}{
		{"identity before host", open, "GET", noRoute, []string{"Host", "evil", "x-ms-client-request-id", strings.Repeat("a", 300)}, 400, arm.InvalidRequestHeader},
		{"host before classification", open, "GET", noRoute, []string{"Host", "evil"}, 421, arm.MisdirectedRequest},
		{"origin before classification", open, "GET", noRoute, []string{"Origin", "null"}, 403, arm.Forbidden},
		{"identity before authentication", guarded, "GET", noRoute, []string{"x-ms-client-request-id", strings.Repeat("a", 300)}, 400, arm.InvalidRequestHeader},
		{"authentication before method", guarded, "FOO", noRoute, nil, 401, arm.AuthenticationFailed},
		{"authentication before classification", guarded, "GET", noRoute, nil, 401, arm.AuthenticationFailed},
		{"method before path", guarded, "FOO", noRoute, []string{"Authorization", "Bearer " + secret}, 501, arm.NotImplemented},
		{"path before query", guarded, "GET", noRoute + "?api-version=1&api-version=2", []string{"Authorization", "Bearer " + secret}, 400, arm.InvalidRequestURI},
		{"query before subscription", guarded, "GET", "/subscriptions/x?api-version=1&api-version=2", []string{"Authorization", "Bearer " + secret}, 400, arm.InvalidAPIVersionParameter},
		{"subscription before api-version", guarded, "GET", "/subscriptions/x", []string{"Authorization", "Bearer " + secret}, 400, arm.InvalidSubscriptionID},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.site.log.Reset()
			answer := c.site.do(c.method, c.path, "", c.header...)
			if answer.status != c.status || answer.code != string(c.code) {
				t.Errorf("got %d %s, want %d %s", answer.status, answer.code, c.status, c.code)
			}
			if answer.header.Get("X-Ms-Failure-Cause") != "gateway" || !arm.ValidGUID(answer.header.Get("X-Ms-Correlation-Request-Id")) {
				t.Errorf("headers %v", answer.header)
			}
			if n := strings.Count(c.site.log.String(), `"msg":"request"`); n != 1 {
				t.Errorf("%d access log lines", n)
			}
		})
	}
}

func TestPanicIsA500ThatTellsNothing(t *testing.T) {
	s := newSite(t, setup{})
	for _, failure := range []any{"inner details", errors.New("inner details")} {
		s.log.Reset()
		handler := chain.Of(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(failure) }),
			exchange.Begin(s.gateway.Exchanges), s.gateway.Recover, s.gateway.Observe, chain.InTurn(s.gateway.Identify))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", http.NoBody))
		if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "inner details") || !strings.Contains(w.Body.String(), `"code":"InternalServerError"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		seen{text: w.Body.String()}.says(t, "Encountered internal server error. Diagnostic information: timestamp '"+aMoment+"', subscription id '', tracking id '"+aGUID+"', request correlation id '"+aGUID+"'.")
		if !strings.Contains(s.log.String(), "inner details") {
			t.Error("the log does not say what happened")
		}
	}
}

// A status that no one can be answered with is answered with one, for nothing has
// been sent then.
func TestStatusThatIsNone(t *testing.T) {
	s := newSite(t, setup{})
	handler := chain.Of(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(99) }), exchange.Begin(s.gateway.Exchanges), s.gateway.Observe, s.gateway.Recover)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", http.NoBody))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "InternalServerError") || !strings.Contains(s.log.String(), `"status":500`) {
		t.Errorf("%d %s; %s", w.Code, w.Body, s.log)
	}
}

// What was sent of an answer cannot be taken back: it ends broken, alone as well
// as in a batch, and nothing is put behind it.
func TestPanicInTheMiddleOfAnAnswer(t *testing.T) {
	s := newSite(t, setup{})
	handler := chain.Of(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"value":[`)
		panic("inner details")
	}), exchange.Begin(s.gateway.Exchanges), s.gateway.Observe, s.gateway.Recover)
	r := httptest.NewRequest(http.MethodGet, "/x", http.NoBody)
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if failure := recover(); failure != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				t.Errorf("it ended with %v", failure)
			}
		}()
		handler.ServeHTTP(w, r)
	}()
	if w.Body.String() != `{"value":[` {
		t.Errorf("%s", w.Body)
	}
	held := exchange.Capture(s.config.Limits.AnswerBody)
	if fault := held.Run("/x", func() { handler.ServeHTTP(held, r) }); fault == nil || fault.Code != arm.BadGatewayConnection {
		t.Errorf("in a batch: %v", fault)
	}
	if !strings.Contains(s.log.String(), "inner details") || !strings.Contains(s.log.String(), `"outcome":"broken"`) {
		t.Errorf("%s", s.log)
	}
}

// What an operator is to look at stands out: the gateway's failures and the
// providers', not clients' mistakes.
func TestLevelsOfTheLog(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	for status, level := range map[string]string{"500": "error", "503": "error", "499": "info", "412": "info"} {
		s.log.Reset()
		s.do("GET", m+api, "", "x-contoso-fault", "status="+status)
		if !strings.Contains(s.log.String(), `{"level":"`+level+`"`) || !strings.Contains(s.log.String(), `"cause":"service"`) {
			t.Errorf("%s: %s", status, s.log)
		}
	}
}

// What a provider is told of the way of a request.
func TestHeadersOfCalls(t *testing.T) {
	s := newSite(t, setup{server: `, trustedProxies: ["127.0.0.0/8"]`})
	s.group("g")
	m := s.machine("g", "m", "westus")
	for _, c := range []struct {
		method, target, body string
		encoding             string // that of the client passes where no one looks inside
	}{
		{"GET", m, "", "br"}, {"PATCH", m, `{"tags":{}}`, ""}, {"GET", machines, "", ""}, {"POST", m + "/start", "", ""}, {"PUT", m, westus, ""}, {"DELETE", m, "", ""},
	} {
		s.at("westus").requests()
		s.do(c.method, c.target+api+"&x=%2F", c.body, "X-Forwarded-For", "203.0.113.7", "Accept-Encoding", "br", "X-Mine", "a", "Prefer", "a", "Connection", "X-Contoso-Fault", "X-Contoso-Fault", "status=500")
		requests := s.at("westus").requests()
		if len(requests) != 1 || requests[0].Method != c.method || requests[0].Query != api[1:]+"&x=%2F" {
			t.Fatalf("%s %s: %v", c.method, c.target, requests)
		}
		for name, want := range map[string]string{
			"X-Ms-Client-Ip-Address": "203.0.113.7", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "portico.example",
			"Referer": "http://portico.example" + c.target + api + "&x=%2F", "Accept-Encoding": c.encoding, "X-Mine": "", "Prefer": "a", "X-Contoso-Fault": "",
			"X-Ms-Home-Tenant-Id": tenant, "X-Ms-Client-Principal-Name": "anyone@localhost",
		} {
			if got := requests[0].Headers.Get(name); got != want {
				t.Errorf("%s %s: %s: %q, want %q", c.method, c.target, name, got, want)
			}
		}
		if !strings.Contains(requests[0].Headers.Get("X-Forwarded-For"), "203.0.113.7") {
			t.Errorf("%v", requests[0].Headers)
		}
	}
	// Nor does it where a read may settle what is in doubt.
	for _, method := range []string{"HEAD", "GET"} {
		s.do("PUT", m+api, westus, "x-contoso-fault", "reset-after")
		s.at("westus").requests()
		s.do(method, m+api, "", "Accept-Encoding", "br")
		if requests := s.at("westus").requests(); len(requests) != 1 || requests[0].Headers.Get("Accept-Encoding") != "" {
			t.Errorf("%s: %v", method, requests)
		}
	}
}

func TestSecretsStayOutOfTheLog(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	s.do("GET", "/subscriptions/"+subscription+"?api-version=2022-12-01&sig=hidden", "", "Authorization", "Bearer "+secret, "Cookie", "crumbs")
	s.do("PUT", "/subscriptions/"+subscription+"/resourceGroups/g?api-version=2022-12-01", `{"location":"westus","tags":{"a":"content"}}`, "Authorization", "Bearer "+secret)
	for _, word := range []string{secret, "hidden", "crumbs", "content"} {
		if strings.Contains(s.log.String(), word) {
			t.Errorf("the log holds %q", word)
		}
	}
}
