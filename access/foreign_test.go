package access

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// ofIssuer is the method of an issuer whose tokens are "iss ISSUER SECRET".
type ofIssuer struct {
	*Tokens
	url string
}

func (o ofIssuer) Issuer() string { return o.url }

func (o ofIssuer) Named(c Credentials) string {
	named, _ := strings.CutPrefix(c.Token, "iss ")
	named, _, _ = strings.Cut(named, " ")
	return named
}

func (o ofIssuer) Authenticate(Credentials) (p Principal, known bool, refusal *Refusal) {
	return p, false, nil
}

// Which issuers refused tokens name stands in the log: once a minute, those that are
// nearly right for themselves, without a token, on one line. The caller is told that its
// issuer is not trusted, in words that quote nothing.
func TestForeignIssuersAreLoggedSparsely(t *testing.T) {
	core, lines := observer.New(zap.InfoLevel)
	foreign, now := NewForeignTokens(zap.New(core)), time.Now()
	foreign.now = func() time.Time { return now }
	methods := NewMethods("", NewMetrics(prometheus.NewRegistry()), ofIssuer{url: "https://a.example/t"}, ofIssuer{url: "https://b.example/"}).Reporting(foreign)
	send := func(issuer string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer iss "+issuer+" SECRET")
		_, refusal := methods.Authenticate(r)
		if refusal == nil || refusal.Result != UnknownIssuer || !strings.Contains(refusal.Description, "issuer") {
			t.Fatalf("%+v", refusal)
		}
		if text := methods.Challenge(refusal) + refusal.Message; strings.Contains(text, "example") {
			t.Errorf("%s quotes what the client sent", text)
		}
	}
	said := func() (all []string) {
		for _, line := range lines.TakeAll() {
			fields := line.ContextMap()
			text, _ := fields["issuer"].(string)
			if near, ok := fields["configured"].(string); ok {
				text += " near " + near
			}
			if fields["tokens"] != int64(1) {
				text += " several"
			}
			all = append(all, text)
		}
		return all
	}
	for range 100 {
		send("https://c.example/\x1b[31m" + strings.Repeat("x", 1000))
		send("https://a.example/t/")
		send("http://A.example/t")
		send("https://b.example")
	}
	want := []string{
		"'https://c.example/?[31m" + strings.Repeat("x", 200-len("https://c.example/?[31m")) + "…'",
		"'https://a.example/t/' near 'https://a.example/t'",
		"'https://b.example' near 'https://b.example/'",
	}
	if got := said(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	now = now.Add(foreignEvery)
	send("https://a.example/t/")
	send("https://d.example")
	if got, want := said(), []string{"'https://a.example/t/' near 'https://a.example/t' several", "'https://d.example' several"}; !slices.Equal(got, want) {
		t.Errorf("a minute later: %q, want %q", got, want)
	}
	if _, refusal := methods.Authenticate(httptest.NewRequest(http.MethodGet, "/", nil)); refusal.Result != Missing || lines.Len() > 0 {
		t.Errorf("without a token: %+v, %d lines", refusal, lines.Len())
	}
}
