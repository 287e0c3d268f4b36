package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/access"
	"portico/arm"
	"portico/config"
	"portico/inventory"
	"portico/test/contoso"
	"portico/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	tenant       = "00000000-0000-0000-0000-0000000000aa"
	secret       = "a secret"
)

// site is a gateway over a real store and a real provider in two regions.
type site struct {
	t       *testing.T
	gateway *Gateway
	server  *httptest.Server
	log     *bytes.Buffer
}

func newSite(t *testing.T, auth string) *site {
	t.Helper()
	s := &site{t: t, log: &bytes.Buffer{}}
	endpoints := ""
	for _, region := range []string{"westus", "eastus", "global"} {
		provider, err := contoso.New(contoso.Options{Region: region, Log: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(provider)
		t.Cleanup(func() {
			server.Close()
			if err := provider.Close(); err != nil {
				t.Error(err)
			}
		})
		endpoints += fmt.Sprintf("%s: [%q], ", region, server.URL)
	}
	cfg, err := config.Parse("test.yaml", fmt.Appendf(nil, `
server: {publicURL: "http://portico.example", region: westus, listen: "127.0.0.1:8080"}
auth: %s
regions: [{name: westus}, {name: eastus}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {%s}
    resourceTypes: [{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}]
subscriptions: [{id: %s, tenantId: %s, covered: true}]
`, auth, strings.TrimSuffix(endpoints, ", "), subscription, tenant))
	if err != nil {
		t.Fatal(err)
	}
	store, err := inventory.Open(context.Background(), inventory.Options{
		DSN: filepath.Join(t.TempDir(), "portico.db"), SendWithin: 5 * time.Second, CallLimit: time.Minute,
		CacheTTL: time.Minute, CacheEntries: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.SeedSubscriptions(context.Background(), []inventory.Subscription{{ID: subscription, TenantID: tenant, Covered: true}}); err != nil {
		t.Fatal(err)
	}
	client := upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: cfg.Limits.AnswerBody})
	var authenticator access.Authenticator = access.Anyone{}
	if cfg.Auth.Mode == config.AuthTokens {
		sum := sha256.Sum256([]byte(secret))
		if authenticator, err = access.NewTokens(map[string]access.Principal{hex.EncodeToString(sum[:]): {TenantID: tenant, ObjectID: "o"}}, "https://login.example"); err != nil {
			t.Fatal(err)
		}
	}
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	s.gateway = New(Options{
		Config: cfg, Store: store, Upstream: client, Authenticator: authenticator, Metrics: prometheus.NewRegistry(),
		Log: zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(s.log)), zapcore.DebugLevel)),
	})
	s.server = httptest.NewServer(s.gateway.Public())
	t.Cleanup(func() {
		s.server.Close()
		client.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

const tokensAuth = `{mode: tokens, tokens: [{sha256: "984ca5162200734c592148f1820b71057f098573d138666b48663e4e30cd8d3a", tenantId: ` + tenant + `, objectId: ` + subscription + `}]}`

// seen is an answer, read whole.
type seen struct {
	status int
	header http.Header
	code   string // of an error
}

// do sends a request under the public host.
func (s *site) do(method, path, body string, header ...string) seen {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.server.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Host = "portico.example"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := s.server.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var fault struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal(text, &fault)
	return seen{answer.StatusCode, answer.Header, fault.Error.Code}
}

// Each request is wrong in the ways of several links; the first link that it
// meets is the one that answers.
func TestChainOrder(t *testing.T) {
	open, guarded := newSite(t, "{mode: none}"), newSite(t, tokensAuth)
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
	s := newSite(t, "{mode: none}")
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
	s := newSite(t, tokensAuth)
	s.do("GET", "/subscriptions/"+subscription+"?api-version=2022-12-01&sig=hidden", "", "Authorization", "Bearer "+secret, "Cookie", "crumbs")
	s.do("PUT", "/subscriptions/"+subscription+"/resourceGroups/g?api-version=2022-12-01", `{"location":"westus","tags":{"a":"content"}}`, "Authorization", "Bearer "+secret)
	for _, word := range []string{secret, "hidden", "crumbs", "content"} {
		if strings.Contains(s.log.String(), word) {
			t.Errorf("the log holds %q", word)
		}
	}
}

func TestForgedLogLines(t *testing.T) {
	s := newSite(t, "{mode: none}")
	s.do("GET", "/subscriptions/a%0a%7b%22FAKE%22/x%1b[31m", "", "x-ms-client-request-id", `a"b\n{`)
	if lines := strings.Split(strings.TrimSpace(s.log.String()), "\n"); len(lines) != 1 || !json.Valid([]byte(lines[0])) {
		t.Errorf("%q", s.log.String())
	}
}

func TestMetricsAreBounded(t *testing.T) {
	s := newSite(t, "{mode: none}")
	for i := range 50 {
		s.do(fmt.Sprintf("M%d", i), fmt.Sprintf("/subscriptions/%d/x%d?api-version=%d", i, i, i), "", "User-Agent", fmt.Sprint(i))
	}
	if n := testutil.CollectAndCount(s.gateway.metrics.requests); n != 1 {
		t.Errorf("%d series", n)
	}
}

func TestRetryAfterIsClamped(t *testing.T) {
	s := newSite(t, "{mode: none}")
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
