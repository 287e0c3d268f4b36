package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"portico/arm"
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
	handler := chain(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("inner details") }),
		s.gateway.begin, s.gateway.recover, s.gateway.observe, s.gateway.identify)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "inner details") || !strings.Contains(w.Body.String(), "InternalServerError") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(s.log.String(), "inner details") {
		t.Error("the log does not say what happened")
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

func TestForgedLogLines(t *testing.T) {
	s := newSite(t, setup{})
	s.do("GET", "/subscriptions/a%0a%7b%22FAKE%22/x%1b[31m", "", "x-ms-client-request-id", `a"b\n{`)
	if lines := strings.Split(strings.TrimSpace(s.log.String()), "\n"); len(lines) != 1 || !json.Valid([]byte(lines[0])) {
		t.Errorf("%q", s.log.String())
	}
}

func TestMetricsAreBounded(t *testing.T) {
	s := newSite(t, setup{})
	for i := range 50 {
		s.do(fmt.Sprintf("M%d", i), fmt.Sprintf("/subscriptions/%d/x%d?api-version=%d", i, i, i), "", "User-Agent", fmt.Sprint(i))
	}
	if n := testutil.CollectAndCount(s.gateway.metrics.requests); n != 1 {
		t.Errorf("%d series", n)
	}
}

func TestRetryAfterIsClamped(t *testing.T) {
	s := newSite(t, setup{})
	for sent, want := range map[string]string{
		"": "", "0": "10", "15": "15", "9999": "600", "-1": "10", "junk": "", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): "600",
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): "10",
	} {
		h := http.Header{}
		if sent != "" {
			h.Set("Retry-After", sent)
		}
		s.gateway.clampRetryAfter(h)
		if h.Get("Retry-After") != want {
			t.Errorf("%q became %q, want %q", sent, h.Get("Retry-After"), want)
		}
	}
}
