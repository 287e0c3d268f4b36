package issuer

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/test/harness"
)

// keyOptions do not limit what a test does not look at.
func keyOptions() KeyOptions {
	return KeyOptions{Refresh: time.Hour, AtMostEvery: time.Nanosecond, KeepFor: time.Hour}
}

func options(url string) Options {
	return Options{
		URL: url, Audiences: []string{harness.Audience, "second"}, Algorithms: []string{"RS256"}, ClockSkew: time.Minute, TenantClaim: "tid",
		Claims: ClaimNames{ObjectID: "oid", AppID: []string{"appid", "azp"}, Groups: "groups"},
	}
}

func keysOf(t testing.TB, url string, o KeyOptions) *Keys {
	t.Helper()
	p, err := NewRegistry(zap.NewNop(), prometheus.NewRegistry()).Prepare(map[string]KeyOptions{url: o})
	if err != nil {
		t.Fatal(err)
	}
	p.Use()
	return p.Of(url)
}

func credentials(token string) access.Credentials {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	return access.Credentials{Request: r, Token: token}
}

// result is what becomes of a token: a result of metrics, or "another's".
func result(i *Issuer, token string) string {
	p, known, refusal := i.Authenticate(credentials(token))
	switch {
	case !known:
		return "another's"
	case refusal == nil:
		if p.ObjectID == "" || p.TenantID == "" || p.Expires == 0 || p.Credential == "" {
			return fmt.Sprintf("accepted as %+v", p)
		}
		return access.Accepted
	case p != (access.Principal{}):
		return fmt.Sprintf("refused, but %+v", p)
	}
	return refusal.Result
}

func TestTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	good, other := harness.NewIssuer(t), harness.NewIssuer(t)
	i := New(options(good.URL), keysOf(t, good.URL, keyOptions()))
	key, stranger := good.Key(), harness.NewSigningKey(t, good.Key().ID)
	public, err := x509.MarshalPKIXPublicKey(key.Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	kid := func(typ string) map[jose.HeaderKey]any { return map[jose.HeaderKey]any{"kid": key.ID, "typ": typ} }
	jwk := jose.JSONWebKey{Key: stranger.Private.Public(), KeyID: key.ID}
	token := good.Token(t)
	parts := strings.Split(token, ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + "."
	now := time.Now()
	for name, c := range map[string]struct{ token, want string }{
		"a good one":                      {token, access.Accepted},
		"of type at+jwt":                  {harness.Sign(t, jose.RS256, key.Private, kid("at+JWT"), good.Claims()), access.Accepted},
		"of another type":                 {harness.Sign(t, jose.RS256, key.Private, kid("logout+jwt"), good.Claims()), access.Malformed},
		"for one of several audiences":    {good.Token(t, "aud", []string{"x", "second"}), access.Accepted},
		"for another audience":            {good.Token(t, "aud", "https://graph.example"), access.Audience},
		"for no audience":                 {good.Token(t, "aud", nil), access.Audience},
		"expired within the skew":         {good.Token(t, "exp", now.Add(-30*time.Second).Unix()), access.Accepted},
		"expired":                         {good.Token(t, "exp", now.Add(-2*time.Minute).Unix()), access.Expired},
		"without an expiry":               {good.Token(t, "exp", nil), access.Claims},
		"not valid yet, within the skew":  {good.Token(t, "nbf", now.Add(30*time.Second).Unix()), access.Accepted},
		"not valid yet":                   {good.Token(t, "nbf", now.Add(2*time.Minute).Unix()), access.Early},
		"valid from what is no time":      {good.Token(t, "nbf", "soon"), access.Malformed},
		"without a tenant":                {good.Token(t, "tid", nil), access.Claims},
		"of a tenant that is no GUID":     {good.Token(t, "tid", "contoso"), access.Claims},
		"of an object that is no GUID":    {good.Token(t, "oid", "x\r\nx-ms-client-tenant-id: y"), access.Claims},
		"of an object that is no text":    {good.Token(t, "oid", 7), access.Claims},
		"of another issuer":               {other.Token(t), "another's"},
		"another issuer's for this one":   {other.Token(t, "iss", good.URL), access.Signature},
		"for an issuer with a slash":      {good.Token(t, "iss", good.URL+"/"), "another's"},
		"for no issuer":                   {good.Token(t, "iss", nil), "another's"},
		"signed by nobody":                {unsigned, "another's"},
		"signed by no one, with text":     {unsigned + "x", access.Malformed},
		"signed by a stranger's key":      {stranger.Sign(t, good.Claims()), access.Signature},
		"with the stranger's key in it":   {harness.Sign(t, jose.RS256, stranger.Private, map[jose.HeaderKey]any{"kid": key.ID, "jwk": jwk}, good.Claims()), access.Signature},
		"with the key's place in it":      {harness.Sign(t, jose.RS256, stranger.Private, map[jose.HeaderKey]any{"kid": key.ID, "jku": other.URL + "/keys"}, good.Claims()), access.Signature},
		"signed by an unknown key":        {harness.NewSigningKey(t, "unknown").Sign(t, good.Claims()), access.UnknownKey},
		"by an algorithm that is not set": {harness.Sign(t, jose.RS384, key.Private, kid("JWT"), good.Claims()), access.Malformed},
		"by HMAC with the public key":     {harness.Sign(t, jose.HS256, public, kid("JWT"), good.Claims()), access.Malformed},
		"with claims of another":          {parts[0] + "." + strings.Split(good.Token(t, "oid", harness.TenantID), ".")[1] + "." + parts[2], access.Signature},
		"cut":                             {token[:len(token)-4], access.Signature},
		"huge":                            {good.Token(t, "padding", strings.Repeat("x", maxToken)), "another's"},
		"no token at all":                 {"secret", "another's"},
		"two dots":                        {"..", "another's"},
		"of four parts":                   {token + ".x", "another's"},
		"in JSON":                         {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "another's"},
	} {
		if got := result(i, c.token); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		traced := credentials(c.token)
		traced.Trail = &access.Trail{Fetches: true}
		_, known, refusal := i.Authenticate(traced)
		switch {
		case known == (c.want == "another's"), known && refusal == nil != (c.want == access.Accepted), refusal != nil && refusal.Result != c.want:
			t.Errorf("%s: explained as %v, %+v, want %s", name, known, refusal, c.want)
		case traced.Trail.MustFetch:
			t.Errorf("%s: keys would be fetched", name)
		case known && traced.Trail.Advice == "":
			t.Errorf("%s: no advice", name)
		}
	}
}

// An algorithm is accepted only of a key that has it.
func TestAlgorithmsOfKeys(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	o := options(good.URL)
	o.Algorithms = []string{"RS256", "RS384", "ES256", "EdDSA"}
	i := New(o, keysOf(t, good.URL, keyOptions()))
	key := good.Key() // the set says RS256 of it
	if got := result(i, harness.Sign(t, jose.RS384, key.Private, map[jose.HeaderKey]any{"kid": key.ID}, good.Claims())); got != access.UnknownKey {
		t.Error(got)
	}
}

func TestPrincipalOfAToken(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	keys := keysOf(t, good.URL, keyOptions())
	pinned := options(good.URL)
	pinned.TenantID, pinned.TenantClaim = "00000000-0000-0000-0000-0000000000ff", ""
	principal := func(o Options, changes ...any) access.Principal {
		t.Helper()
		p, _, refusal := New(o, keys).Authenticate(credentials(good.Token(t, changes...)))
		if refusal != nil {
			t.Fatal(refusal.Description)
		}
		return p
	}
	p := principal(options(good.URL), "groups", []string{"00000000-0000-0000-0000-0000000000F2", "none", "00000000-0000-0000-0000-0000000000f1"})
	if p.TenantID != harness.TenantID || p.ObjectID != harness.IssuedTo || p.AppID != harness.IssuedToApp || p.Name != harness.IssuedToName ||
		p.Issuer != good.URL || !p.Delegated || p.Kind() != "User" ||
		p.Groups != "00000000-0000-0000-0000-0000000000f1 00000000-0000-0000-0000-0000000000f2" {
		t.Errorf("%+v", p)
	}
	if p := principal(pinned); p.TenantID != pinned.TenantID {
		t.Errorf("%+v", p)
	}
	if p := principal(options(good.URL), "idtyp", "app", "name", "a\r\nb", "appid", nil, "azp", "some-app"); p.Kind() != "Application" || p.Name != "some-app" || p.AppID != "some-app" {
		t.Errorf("%+v", p)
	}
	given := options(good.URL)
	given.Claims.Name = "nickname"
	for _, c := range []struct {
		options Options
		claims  []any
		want    string
	}{
		{options(good.URL), []any{"upn", "u@x", "preferred_username", "p@x"}, "p@x"},
		{options(good.URL), []any{"upn", "u@x", "preferred_username", "a\r\nb"}, "u@x"},
		{options(good.URL), []any{"idtyp", "app"}, harness.IssuedToApp},
		{options(good.URL), []any{"idtyp", "app", "preferred_username", "service-account-x"}, "service-account-x"},
		{options(good.URL), []any{"name", "a\r\nb"}, ""},
		{given, []any{"upn", "u@x", "nickname", "n"}, "n"},
		{given, []any{"upn", "u@x"}, ""},
	} {
		if p := principal(c.options, c.claims...); p.Name != c.want {
			t.Errorf("%v: %q, want %q", c.claims, p.Name, c.want)
		}
	}
}

// A token that was verified costs neither a signature nor memory.
func TestRememberedTokensCostNothing(t *testing.T) {
	good := harness.NewIssuer(t)
	i := New(options(good.URL), keysOf(t, good.URL, keyOptions()))
	methods := access.NewMethods("", access.NewMetrics(prometheus.NewRegistry()), i)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+good.Token(t))
	if _, refusal := methods.Authenticate(r); refusal != nil {
		t.Fatal(refusal.Description)
	}
	if n := testing.AllocsPerRun(100, func() {
		if p, refusal := methods.Authenticate(r); refusal != nil || p.ObjectID != harness.IssuedTo {
			t.Error("not accepted any more")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A new key is fetched when a token names it; a token whose key has gone is refused
// after the next fetch, though it was verified before.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	i := New(options(good.URL), keysOf(t, good.URL, keyOptions()))
	old := good.Token(t)
	p, _, _ := i.Authenticate(credentials(old))
	if !i.Valid(p) {
		t.Fatal("the first key's token is refused")
	}
	good.AddKey(t)
	if got := result(i, good.Token(t)); got != access.Accepted {
		t.Errorf("the new key's token: %s", got)
	}
	if got := result(i, old); got != access.Accepted || good.Fetches() != 2 {
		t.Errorf("the old key's token: %s after %d fetches", got, good.Fetches())
	}
	good.RemoveKeys()
	if err := i.keys.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := result(i, old); got != access.UnknownKey || i.Valid(p) || i.Valid(p.WithoutExpiry(time.Now())) {
		t.Errorf("the removed key's token: %s", got)
	}
	if !i.Valid(p.WithoutExpiry(time.Now().Add(2 * time.Hour))) {
		t.Error("work does not outlast its token and the key of it")
	}
}

// Tokens that name unknown keys cost the issuer one fetch in a time, and those who bring
// good ones nothing.
func TestUnknownKeysAreFetchedSeldom(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	o := keyOptions()
	o.AtMostEvery = time.Hour
	i := New(options(good.URL), keysOf(t, good.URL, o))
	stranger, claims := harness.NewSigningKey(t, "unknown"), good.Claims()
	var flood sync.WaitGroup
	for range 50 {
		flood.Go(func() {
			if got := result(i, stranger.Sign(t, claims)); got != access.UnknownKey {
				t.Error(got)
			}
		})
	}
	flood.Wait()
	if got := result(i, good.Token(t)); got != access.Accepted || good.Fetches() != 1 {
		t.Errorf("%s after %d fetches", got, good.Fetches())
	}
}

// While an issuer hangs, a few requests wait for its keys, and known keys do for all
// others.
func TestAHangingIssuerDelaysNoOneElse(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	i := New(options(good.URL), keysOf(t, good.URL, keyOptions()))
	if got := result(i, good.Token(t)); got != access.Accepted {
		t.Fatal(got)
	}
	entered, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	good.Answer(func(http.ResponseWriter, *http.Request) {
		once.Do(func() { close(entered) })
		<-open
	})
	stranger := harness.NewSigningKey(t, "unknown").Sign(t, good.Claims())
	ended := make(chan string)
	go func() { ended <- result(i, stranger) }()
	<-entered
	if got := result(i, good.Token(t, "sub", "another")); got != access.Accepted {
		t.Error(got)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	c := credentials(stranger)
	c.Request = c.Request.WithContext(gone)
	if _, _, refusal := i.Authenticate(c); refusal == nil || refusal.Status != http.StatusServiceUnavailable {
		t.Errorf("%+v", refusal)
	}
	close(open)
	if got := <-ended; got != access.Unavailable {
		t.Error(got)
	}
}

// Keys outlive the issuer's outage, and by a folder the gateway's restart, but not
// forever.
func TestKeysOutliveAnOutage(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	o := keyOptions()
	o.Folder = t.TempDir()
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }

	good.Answer(down)
	i := New(options(good.URL), keysOf(t, good.URL, o))
	if got := result(i, good.Token(t)); got != access.Unavailable {
		t.Errorf("without any key: %s", got)
	}
	good.Answer(nil)
	if got := result(i, good.Token(t)); got != access.Accepted {
		t.Errorf("when the issuer is back: %s", got)
	}
	good.Answer(down)
	_ = i.keys.fetch(t.Context())
	if got := result(i, good.Token(t, "sub", "2")); got != access.Accepted {
		t.Errorf("during an outage: %s", got)
	}
	again := New(options(good.URL), keysOf(t, good.URL, o))
	token := good.Token(t, "sub", "3")
	if got := result(again, token); got != access.Accepted {
		t.Errorf("after a restart in an outage: %s", got)
	}
	again.now = func() time.Time { return time.Now().Add(30 * time.Minute) }
	if got := result(again, token); got != access.Accepted {
		t.Errorf("after half an hour: %s", got)
	}
	o.KeepFor = time.Nanosecond
	old := New(options(good.URL), keysOf(t, good.URL, o))
	if got := result(old, good.Token(t)); got != access.Unavailable {
		t.Errorf("with keys that are too old: %s", got)
	}
	if err := os.WriteFile(keyFile(o.Folder, good.URL), []byte(`{"issuer":"https://evil.example","keys":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := New(options(good.URL), keysOf(t, good.URL, o))
	if got := result(foreign, good.Token(t)); got != access.Unavailable {
		t.Errorf("with another issuer's file: %s", got)
	}
}

// What an issuer answers is not believed beyond what it may say.
func TestAnswersOfAnIssuerAreBounded(t *testing.T) {
	t.Parallel()
	other := harness.NewIssuer(t)
	for name, misbehave := range map[string]func(i *harness.Issuer) http.HandlerFunc{
		"it names another issuer": func(i *harness.Issuer) http.HandlerFunc { i.Claim(other.URL); return nil },
		"it redirects": func(*harness.Issuer) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
			}
		},
		"its document is megabytes": func(i *harness.Issuer) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"x":%q}`, i.URL, i.URL+"/keys", strings.Repeat("x", 2<<20))
			}
		},
		"its keys are megabytes": keysAnswer(func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"keys":[],"x":"` + strings.Repeat("x", 2<<20) + `"}`))
		}),
		"its keys are no keys":   keysAnswer(func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"keys":[7,{"kty":"oct","k":"c2VjcmV0"}]}`)) }),
		"its keys are elsewhere": documentOf("http://keys.example/"),
		"its keys are in a file": documentOf("file:///etc/passwd"),
		"it says nothing":        func(*harness.Issuer) http.HandlerFunc { return func(http.ResponseWriter, *http.Request) {} },
	} {
		good := harness.NewIssuer(t)
		good.Answer(misbehave(good))
		i := New(options(good.URL), keysOf(t, good.URL, keyOptions()))
		if got := result(i, good.Token(t)); got != access.Unavailable {
			t.Errorf("%s: %s", name, got)
		}
		if err := i.keys.fetch(t.Context()); err == nil || len(err.Error()) > 2*maxReason {
			t.Errorf("%s: %v", name, err)
		}
	}
	if other.Fetches() != 0 {
		t.Error("a redirect was followed")
	}
}

func keysAnswer(write func(http.ResponseWriter)) func(*harness.Issuer) http.HandlerFunc {
	return func(i *harness.Issuer) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				write(w)
				return
			}
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/keys")
		}
	}
}

func documentOf(keys string) func(*harness.Issuer) http.HandlerFunc {
	return func(i *harness.Issuer) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, keys)
		}
	}
}

func TestValidityOfAPrincipal(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	keys := keysOf(t, good.URL, keyOptions())
	i := New(options(good.URL), keys)
	p, _, _ := i.Authenticate(credentials(good.Token(t)))
	pinned := options(good.URL)
	pinned.TenantID = "00000000-0000-0000-0000-0000000000ff"
	later := New(options(good.URL), keys)
	later.now = func() time.Time { return time.Now().Add(62 * time.Minute) }
	restarted := New(options(good.URL), keysOf(t, good.URL, keyOptions()))
	foreign := p
	foreign.Issuer = "https://other.example"
	for name, c := range map[string]struct {
		by   *Issuer
		p    access.Principal
		want bool
	}{
		"as it was":                             {i, p, true},
		"expired":                               {later, p, false},
		"of another issuer":                     {i, foreign, false},
		"of a tenant that is not pinned":        {New(pinned, keys), p, false},
		"before any keys were had":              {restarted, p, true},
		"expired, which its work does not mind": {later, p.WithoutExpiry(later.now()), true},
		"of work by another issuer":             {later, foreign.WithoutExpiry(later.now()), false},
	} {
		if got := c.by.Valid(c.p); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The refusals' texts are fit for a header, whatever the token holds.
func TestChallengesQuoteNothing(t *testing.T) {
	t.Parallel()
	good := harness.NewIssuer(t)
	i := New(options(good.URL), keysOf(t, good.URL, keyOptions()))
	methods := access.NewMethods("https://login.example", access.NewMetrics(prometheus.NewRegistry()), i)
	for _, token := range []string{good.Token(t, "aud", `evil", x="y`), good.Token(t, "oid", "evil"), good.Token(t, "exp", 1), good.Token(t, "exp", "evil")} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		_, refusal := methods.Authenticate(r)
		if refusal == nil {
			t.Fatal("accepted")
		}
		challenge := methods.Challenge(refusal)
		if strings.Contains(challenge, "evil") || strings.Contains(refusal.Message, "evil") || strings.Count(challenge, `"`) != 6 {
			t.Errorf("%s, %s", challenge, refusal.Message)
		}
		if refusal.Code != arm.InvalidAuthenticationToken && refusal.Code != arm.ExpiredAuthenticationToken {
			t.Error(refusal.Code)
		}
	}
}

// FuzzToken holds that no text becomes a principal but one that is signed by the
// issuer's key.
func FuzzToken(f *testing.F) {
	good := harness.NewIssuer(f)
	o := keyOptions()
	o.AtMostEvery = time.Hour
	i := New(options(good.URL), keysOf(f, good.URL, o))
	signed := map[string]bool{}
	for _, changes := range [][]any{nil, {"exp", 1}, {"aud", []string{"x"}}, {"groups", []string{harness.TenantID}}} {
		token := good.Token(f, changes...)
		signed[token[:strings.LastIndexByte(token, '.')]] = true
		f.Add("Bearer " + token)
		// The issuer's address is another at each run: its place is taken by a word.
		header, rest, _ := strings.Cut(token, ".")
		_, signature, _ := strings.Cut(rest, ".")
		f.Add("Bearer " + header + ".eyJpc3MiOiJJU1NVRVIifQ." + signature)
	}
	f.Add("Bearer eyJhbGciOiJub25lIn0.eyJpc3MiOiJJU1NVRVIifQ.x")
	f.Add("Bearer ..")
	f.Add("bearer  x")
	methods := access.NewMethods("", access.NewMetrics(prometheus.NewRegistry()), i)
	f.Fuzz(func(t *testing.T, header string) {
		for _, text := range []string{header, named(header, good.URL)} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header["Authorization"] = []string{text}
			p, refusal := methods.Authenticate(r)
			if refusal != nil {
				if p != (access.Principal{}) {
					t.Fatalf("refused, but %+v", p)
				}
				continue
			}
			_, token, _ := strings.Cut(text, " ")
			token = strings.TrimSpace(token)
			if !signed[token[:max(0, strings.LastIndexByte(token, '.'))]] {
				t.Fatalf("%q is %+v", text, p)
			}
		}
	})
}

// named puts the issuer's name into the payload, so that the token is this issuer's to
// judge.
func named(header, issuer string) string {
	parts := strings.Split(header, ".")
	if len(parts) != 3 {
		return header
	}
	claims := map[string]any{}
	if text, err := base64.RawURLEncoding.DecodeString(parts[1]); err != nil || json.Unmarshal(text, &claims) != nil || claims == nil {
		return header
	}
	claims["iss"] = issuer
	text, err := json.Marshal(claims)
	if err != nil {
		return header
	}
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(text) + "." + parts[2]
}
