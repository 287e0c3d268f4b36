package issuer

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/prometheus/client_golang/prometheus"

	"portico/access"
	"portico/test/harness"
)

// explained is a gateway's way to sign in by one issuer.
type explained struct {
	*access.Methods
	issuer   *Issuer
	registry *prometheus.Registry
}

func newExplained(t *testing.T, url string, o KeyOptions) explained {
	t.Helper()
	r := explained{issuer: New(options(url), keysOf(t, url, o)), registry: prometheus.NewRegistry()}
	none, err := access.NewTokens(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Methods = access.NewMethods("https://login.example", access.NewMetrics(r.registry), r.issuer, none)
	return r
}

func (r explained) of(token string, fetch bool) access.Explanation {
	q := httptest.NewRequest(http.MethodGet, "/", nil)
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	return r.Explain(q, fetch)
}

// An explanation says why a token is refused and what can be done, in words that quote no
// token.
func TestAdvice(t *testing.T) {
	t.Parallel()
	good, other := harness.NewIssuer(t), harness.NewIssuer(t)
	r := newExplained(t, good.URL, KeyOptions{Refresh: time.Hour, AtMostEvery: time.Hour, KeepFor: time.Hour})
	now := time.Now()
	hs := func(alg jose.SignatureAlgorithm, typ string) string {
		return harness.Sign(t, alg, good.Key().Private, map[jose.HeaderKey]any{"kid": good.Key().ID, "typ": typ}, good.Claims())
	}
	if said := r.of(good.Token(t), true); said.Refusal != nil || said.Method != "issuer" {
		t.Fatalf("%+v", said)
	}
	for name, c := range map[string]struct {
		token, result string
		says          []string
	}{
		"good":            {good.Token(t), "", []string{"The token expires at 20"}},
		"expired":         {good.Token(t, "exp", now.Add(-2*time.Hour).Unix()), access.Expired, []string{"It expired at " + now.Add(-2*time.Hour).UTC().Format("2006-01-02T15"), "clockSkew is 1m0s"}},
		"early":           {good.Token(t, "nbf", now.Add(2*time.Hour).Unix()), access.Early, []string{"It is valid from", "clocks"}},
		"audience":        {good.Token(t, "aud", []string{"https://graph.example", "x"}), access.Audience, []string{"'https://graph.example', 'x'", "'second'"}},
		"no audience":     {good.Token(t, "aud", nil), access.Audience, []string{"It is for the audience ''"}},
		"no expiry":       {good.Token(t, "exp", nil), access.Claims, []string{"no claim exp"}},
		"no tenant":       {good.Token(t, "tid", nil), access.Claims, []string{"no claim 'tid'", "tenantClaim"}},
		"another tenant":  {good.Token(t, "tid", "contoso"), access.Claims, []string{"'contoso'", "not a GUID"}},
		"no object":       {good.Token(t, "oid", nil), access.Claims, []string{"no claim 'oid'", "claims.objectId"}},
		"hostile object":  {good.Token(t, "oid", "a\r\n\x1b[31mb"), access.Claims, []string{"'a???[31mb'"}},
		"another issuer":  {other.Token(t), access.UnknownIssuer, []string{"'" + other.URL + "'", "'" + good.URL + "'"}},
		"a slash more":    {good.Token(t, "iss", good.URL+"/"), access.UnknownIssuer, []string{"trailing slash"}},
		"a stranger":      {harness.NewSigningKey(t, "unknown").Sign(t, good.Claims()), access.UnknownKey, []string{"'unknown'", good.Key().ID, "atMostEvery"}},
		"a wrong key":     {harness.NewSigningKey(t, good.Key().ID).Sign(t, good.Claims()), access.Signature, []string{good.Key().ID, "forged"}},
		"algorithm":       {hs(jose.RS512, "JWT"), access.Malformed, []string{"'RS512'", "'RS256'"}},
		"type":            {hs(jose.RS256, "logout+jwt"), access.Malformed, []string{"'logout+jwt'"}},
		"a static one":    {"secret", access.Unknown, []string{"auth.tokens"}},
		"none":            {"", access.Missing, []string{"has no token"}},
		"of two words":    {"a b", access.Unknown, []string{"auth.tokens"}},
		"a huge audience": {good.Token(t, "aud", strings.Repeat("x", 5000)), access.Audience, []string{strings.Repeat("x", 200) + "…'"}},
	} {
		said := r.of(c.token, false)
		result := ""
		if said.Refusal != nil {
			result = said.Refusal.Result
		}
		if result != c.result {
			t.Errorf("%s: %s, want %s", name, result, c.result)
		}
		for _, want := range c.says {
			if !strings.Contains(said.Advice, want) {
				t.Errorf("%s: %q lacks %q", name, said.Advice, want)
			}
		}
		for part := range strings.SplitSeq(c.token, ".") {
			if len(part) > 10 && strings.Contains(said.Advice, part) {
				t.Errorf("%s: %q quotes the token", name, said.Advice)
			}
		}
	}
	if n := good.Fetches(); n != 1 {
		t.Errorf("%d fetches", n)
	}
	counted, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range counted {
		for _, m := range family.GetMetric() {
			if m.GetCounter().GetValue() > 0 {
				t.Errorf("counted: %v", m)
			}
		}
	}
}

// An explanation fetches no keys unless it is told to, and says that a request would.
func TestExplanationFetchesNothing(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	r := newExplained(t, good.URL, KeyOptions{Refresh: time.Hour, AtMostEvery: time.Hour, KeepFor: time.Hour})
	token := good.Token(t)
	said := r.of(token, false)
	if !said.MustFetch || said.Refusal == nil || !strings.Contains(said.Advice, "no keys") || !strings.Contains(said.Advice, "--ask") {
		t.Errorf("%+v", said)
	}
	if n := good.Fetches(); n != 0 {
		t.Errorf("%d fetches", n)
	}
	if said = r.of(token, true); said.Refusal != nil || said.Principal.ObjectID != harness.IssuedTo {
		t.Errorf("%+v", said)
	}
	if _, known := r.issuer.known.Get(token, time.Now()); known {
		t.Error("the token is remembered")
	}

	// A fetch that has failed is not repeated at once.
	down := harness.NewIssuer(t)
	down.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	r = newExplained(t, down.URL, KeyOptions{Refresh: time.Hour, AtMostEvery: time.Hour, KeepFor: time.Hour})
	for _, fetch := range []bool{true, false} {
		said = r.of(down.Token(t), fetch)
		if said.MustFetch || said.Refusal == nil || said.Refusal.Result != access.Unavailable || !strings.Contains(said.Advice, "cannot fetch the keys of '"+down.URL+"'") || !errors.Is(said.Refusal.Error, errUnavailable) {
			t.Errorf("%+v", said)
		}
	}
	if n := down.Fetches(); n != 1 {
		t.Errorf("%d fetches", n)
	}
}
