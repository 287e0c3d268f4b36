package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

func bearer(token string) http.Header { return harness.Header("Authorization", "Bearer "+token) }

// A gateway starts without its issuer and takes tokens as soon as that is there; static
// tokens work all the time. The provider is told who calls, and no token.
func TestTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	issuer := harness.NewIssuer(t)
	issuer.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		TLS: true, Tokens: []harness.Token{alice}, Auth: issuer.Auth("", "atMostEvery: 100ms, refresh: 200ms"),
	}})
	w.PutGroup(t, "rg")
	token := issuer.Token(t)
	get := func(token string) harness.Answer {
		t.Helper()
		return w.Portico.Do(t, harness.Request{Path: w.GroupPath("rg") + version, Header: bearer(token)})
	}
	down := get(token).WantError(t, 503, "ServiceUnavailable")
	if down.Header.Get("Retry-After") == "" || down.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("%v", down.Header)
	}
	issuer.Answer(nil)
	soon(t, "the issuer's keys", func() bool { return get(token).Status == 200 })

	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"vm") + "?api-version=" + harness.Version, Header: bearer(token), Body: body("eastus"),
	}).Want(t, 201)
	received := w.Contoso("eastus").Requests(t)
	last := received[len(received)-1].Headers
	for name, want := range map[string]string{
		"X-Ms-Client-Object-Id": harness.IssuedTo, "X-Ms-Client-Tenant-Id": harness.TenantID, "X-Ms-Client-App-Id": harness.IssuedToApp,
		"X-Ms-Client-Principal-Name": harness.IssuedToName, "X-Ms-Client-Issuer": issuer.URL, "Authorization": "",
	} {
		if got := last.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}

	// The issuer changes its key.
	issuer.AddKey(t)
	soon(t, "the new key", func() bool { return get(issuer.Token(t)).Status == 200 })
	get(token).Want(t, 200)
	issuer.RemoveKeys()
	soon(t, "the old key's end", func() bool { return get(token).Status == 401 })

	// It fails; a restart finds the last good keys.
	good := issuer.Token(t)
	get(good).Want(t, 200)
	issuer.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	w.Portico.Stop(t)
	w.Portico.Restart(t)
	get(good).Want(t, 200)
	if n := metric(t, w.Portico, "portico_sign_ins_total", `method="issuer",result="accepted"`); n != 1 {
		t.Errorf("%v sign-ins", n)
	}
	if n := metric(t, w.Portico, "portico_issuer_keys_timestamp_seconds", `issuer="`+issuer.URL+`"`); n <= 0 {
		t.Errorf("keys of %v", n)
	}
	if logs := w.Portico.Logs(); strings.Contains(logs, good) || strings.Contains(logs, token) {
		t.Error("a token is in the log")
	}
}

// An issuer that somebody else wrote issues tokens that are taken.
func TestTokensOfOIDCProvider(t *testing.T) {
	t.Parallel()
	issuer := harness.StartOIDCProvider(t, harness.ForTenant)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{TLS: true, Auth: issuer.Auth()}})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: issuer.Certificate.Pool, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {harness.IssuedToApp}, "client_secret": {harness.ClientSecret}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer.URL+"/token", strings.NewReader(form.Encode()))
	harness.OK(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := client.Do(r)
	harness.OK(t, err)
	defer func() { _ = a.Body.Close() }()
	var issued struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(a.Body).Decode(&issued); err != nil || issued.Token == "" {
		t.Fatalf("%d, %v", a.StatusCode, err)
	}
	w.Portico.Token = issued.Token
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"vm", body("eastus")).Want(t, 201)
	received := w.Contoso("eastus").Requests(t)
	last := received[len(received)-1].Headers
	if last.Get("X-Ms-Client-Object-Id") != harness.IssuedTo || last.Get("X-Ms-Client-App-Id") != harness.IssuedToApp {
		t.Errorf("%v", last)
	}
	w.Portico.Token = issued.Token + "x"
	w.Portico.Do(t, harness.Request{Path: w.GroupPath("rg") + version}).Want(t, 401)
}

// A refusal says where to get another token, and what is wrong with this one.
func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	issuer, other := harness.NewIssuer(t), harness.NewIssuer(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		TLS: true, Tokens: []harness.Token{alice}, Auth: issuer.Auth("", ""), LoginEndpoint: "https://login.example", Metadata: "  tenant: " + harness.TenantID,
	}})
	for _, c := range []struct{ name, token, code, says string }{
		{"expired", issuer.Token(t, "exp", time.Now().Add(-time.Hour).Unix()), "ExpiredAuthenticationToken", "has expired"},
		{"not valid yet", issuer.Token(t, "nbf", time.Now().Add(time.Hour).Unix()), "InvalidAuthenticationToken", "not valid yet"},
		{"for another audience", issuer.Token(t, "aud", "https://graph.example"), "InvalidAuthenticationToken", "audience"},
		{"another issuer's", other.Token(t), "InvalidAuthenticationToken", "issuer that is not trusted here"},
		{"its issuer's with a slash more", issuer.Token(t, "iss", issuer.URL+"/"), "InvalidAuthenticationToken", "issuer that is not trusted here"},
		{"another issuer's key", other.Token(t, "iss", issuer.URL), "InvalidAuthenticationToken", "signature"},
		{"unknown key", harness.NewSigningKey(t, "x").Sign(t, issuer.Claims()), "InvalidAuthenticationToken", "unknown key"},
	} {
		a := w.Portico.Do(t, harness.Request{Path: w.SubscriptionPath() + version, Header: bearer(c.token)}).WantError(t, 401, c.code)
		challenge := a.Header.Get("WWW-Authenticate")
		if !strings.HasPrefix(challenge, `Bearer authorization_uri="https://login.example/`+harness.TenantID+`", error="invalid_token", error_description="`) ||
			!strings.Contains(challenge, c.says) {
			t.Errorf("%s: %s", c.name, challenge)
		}
		for part := range strings.SplitSeq(c.token, ".") {
			if strings.Contains(challenge+string(a.Body), part) {
				t.Errorf("%s: the answer quotes the token", c.name)
			}
		}
	}
	for _, line := range []string{`"issuer":"'` + other.URL + `'"`, `"issuer":"'` + issuer.URL + `/'","tokens":1,"configured":"'` + issuer.URL + `'"`} {
		if !strings.Contains(w.Portico.Logs(), line) {
			t.Errorf("the log lacks %s", line)
		}
	}
	w.Portico.Do(t, harness.Request{Path: w.SubscriptionPath() + version}).Want(t, 200) // alice's static token
	if received := w.Contoso("westus").Requests(t); len(received) > 0 {
		t.Errorf("%d requests reached a provider", len(received))
	}
}

// While an issuer's keys cannot be fetched, portico status says so, since when, and what
// says more; it is silent about it once they can.
func TestAnIssuerThatIsAwayIsAProblem(t *testing.T) {
	t.Parallel()
	issuer := harness.NewIssuer(t)
	issuer.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{TLS: true, Auth: issuer.Auth("", "atMostEvery: 1s")}})
	o := commander{}
	type problem struct {
		Severity, Code, Subject, Next string
		Since                         *time.Time
	}
	find := func() (found []problem) {
		t.Helper()
		var status struct{ Problems []problem }
		harness.OK(t, json.Unmarshal(w.Portico.Admin(t, harness.Request{Path: "/admin/status"}).Want(t, 200).Body, &status))
		return slices.DeleteFunc(status.Problems, func(p problem) bool { return p.Code != "issuerUnavailable" })
	}
	if found := find(); len(found) > 0 {
		t.Errorf("before any token: %+v", found)
	}
	token := issuer.Token(t)
	w.Portico.Do(t, harness.Request{Path: w.SubscriptionPath() + version, Header: bearer(token)}).WantError(t, 503, "ServiceUnavailable")
	found := find()
	if len(found) != 1 || found[0].Severity != "critical" || found[0].Subject != issuer.URL || found[0].Since == nil {
		t.Fatalf("%+v", found)
	}
	if text, _ := o.run(t, 1, "status", "--admin", w.Portico.AdminURL); !strings.Contains(text, "The keys of the issuer "+issuer.URL) {
		t.Errorf("portico status: %s", text)
	}
	file := filepath.Join(t.TempDir(), "token")
	harness.OK(t, os.WriteFile(file, []byte(token), 0o600))
	next := strings.Fields(strings.Replace(strings.TrimPrefix(found[0].Next, "portico "), "FILE", file, 1))
	if text, _ := o.run(t, 0, append(next, "--admin", w.Portico.AdminURL)...); !strings.Contains(text, "cannot fetch the keys of '"+issuer.URL+"'") {
		t.Errorf("%s says: %s", found[0].Next, text)
	}
	issuer.Answer(nil)
	soon(t, "no word of the issuer", func() bool { return len(find()) == 0 })
	w.Portico.Do(t, harness.Request{Path: w.SubscriptionPath() + version, Header: bearer(token)}).Want(t, 200)
}

// Callers show certificates, over both versions of HTTP. Changes of the configuration
// hold for connections that are open.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	const ann = "ann.contoso.example"
	authority, stranger := harness.NewCertificate(t, t.TempDir()), harness.NewCertificate(t, t.TempDir())
	ca := filepath.Join(t.TempDir(), "ca.pem")
	copyFile(t, authority.AuthorityFile, ca)
	auth := func(name string) string {
		return fmt.Sprintf("  clientCertificates:\n    ca: %q\n    principals:\n      - {san: %s, tenantId: %s, objectId: %s, name: ann}", ca, name, harness.TenantID, harness.IssuedTo)
	}
	config := harness.Config{TLS: true, Server: unwatched, Tokens: []harness.Token{alice}, Auth: auth(ann)}
	w := harness.NewWorld(t, harness.WorldOptions{Config: config})
	w.PutGroup(t, "rg")
	client := func(http2 bool, certificates ...tls.Certificate) *http.Client {
		trusted := w.Portico.Client.Transport.(*http.Transport).TLSClientConfig.RootCAs
		transport := &http.Transport{
			ForceAttemptHTTP2: http2, TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: certificates, MinVersion: tls.VersionTLS12},
		}
		if !http2 {
			transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	status := func(c *http.Client, header http.Header) (status, major int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Portico.URL+w.GroupPath("rg")+version, nil)
		harness.OK(t, err)
		r.Header = header
		a, err := c.Do(r)
		harness.OK(t, err)
		_ = a.Body.Close()
		return a.StatusCode, a.ProtoMajor
	}
	of := authority.Client(t, ann)
	one, two := client(false, of), client(true, of)
	for major, c := range map[int]*http.Client{1: one, 2: two} {
		if got, proto := status(c, http.Header{}); got != 200 || proto != major {
			t.Errorf("HTTP/%d: %d over HTTP/%d", major, got, proto)
		}
	}
	unknown := client(true, authority.Client(t, "bob.contoso.example"))
	if got, _ := status(unknown, http.Header{}); got != 401 {
		t.Errorf("a certificate of no one: %d", got)
	}
	if got, _ := status(unknown, as(alice)); got != 200 {
		t.Errorf("that with a static token: %d", got)
	}
	if got, _ := status(client(true), http.Header{}); got != 401 {
		t.Errorf("no certificate: %d", got)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Portico.URL, nil)
	harness.OK(t, err)
	if a, err := client(false, stranger.Client(t, ann)).Do(r); err == nil {
		_ = a.Body.Close()
		if a.StatusCode != 401 {
			t.Errorf("a certificate of a stranger's: %d", a.StatusCode)
		}
	}

	config = w.Config
	config.Auth = auth("bob.contoso.example")
	w.Portico.Write(t, w.Portico.Text(t, config))
	reload(t, w.Portico).Want(t, 200)
	for _, c := range []*http.Client{one, two} {
		if got, _ := status(c, http.Header{}); got != 401 {
			t.Errorf("after its owner went: %d", got)
		}
	}
	if got, _ := status(unknown, http.Header{}); got != 200 {
		t.Errorf("the new owner: %d", got)
	}
	copyFile(t, stranger.AuthorityFile, ca)
	reload(t, w.Portico).Want(t, 200)
	if got, _ := status(unknown, http.Header{}); got != 401 {
		t.Errorf("after its authority went: %d", got)
	}
}
