package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portico/gateway/admin/api"
	"portico/test/harness"
)

// explainWith runs `portico explain` with a standard input.
func explainWith(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), harness.Build(t).Portico, append([]string{"explain"}, args...)...)
	var said bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &said, &said
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	return said.String()
}

func fileWith(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	harness.OK(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// The command says why a token is refused, as the gateway refuses it, and quotes it
// nowhere.
func TestExplainTokensByCommand(t *testing.T) {
	t.Parallel()
	issuer, other := harness.NewIssuer(t), harness.NewIssuer(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{TLS: true, Tokens: []harness.Token{alice}, Auth: issuer.Auth("", "atMostEvery: 1h"), Server: unwatched}})
	p := w.Portico
	w.PutGroup(t, "rg")
	id := w.GroupPath("rg")
	var reported []string
	explain := func(token string, more ...string) api.Explanation {
		t.Helper()
		args := append([]string{id + version, "--admin", p.AdminURL, "--bearer-file", fileWith(t, token+"\n"), "-o", "json"}, more...)
		text, stderr := explainCommand(t, 0, args...)
		reported = append(reported, text, stderr)
		var e api.Explanation
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.SignIn == nil {
			t.Fatalf("%v: %s", err, text)
		}
		return e
	}
	good := issuer.Token(t, "groups", []string{harness.TenantID})
	if e := explain(good); e.SignIn.Result != api.MustFetch || e.Verdict.Outcome != api.Open || issuer.Fetches() != 0 {
		t.Errorf("%d fetches, %+v", issuer.Fetches(), e.Verdict)
	}
	e := explain(good, "--ask")
	if e.SignIn.Result != "accepted" || e.Caller.ObjectID != harness.IssuedTo || e.Caller.TenantID != harness.TenantID || len(e.SignIn.Groups) != 1 || e.SignIn.AppID != harness.IssuedToApp {
		t.Errorf("%+v, %+v", e.Caller, e.SignIn)
	}
	tokens := []string{good}
	for name, c := range map[string]struct{ token, says string }{
		"expired":           {issuer.Token(t, "exp", time.Now().Add(-time.Hour).Unix()), "clockSkew"},
		"not valid yet":     {issuer.Token(t, "nbf", time.Now().Add(time.Hour).Unix()), "It is valid from"},
		"another audience":  {issuer.Token(t, "aud", "https://graph.example\x1b[2J"), "https://graph.example?[2J"},
		"another issuer's":  {other.Token(t), other.URL},
		"another key":       {harness.NewSigningKey(t, "x\r\ny").Sign(t, issuer.Claims()), "x??y"},
		"without a tenant":  {issuer.Token(t, "tid", nil), "'tid'"},
		"a static one":      {"no-token-that-anybody-has", "auth.tokens"},
		"cut":               {good[:len(good)-6], "forged"},
		"an issuer's slash": {issuer.Token(t, "iss", issuer.URL+"/"), "trailing slash"},
	} {
		tokens = append(tokens, c.token)
		e, got := explain(c.token), p.Do(t, harness.Request{Path: id + version, Header: bearer(c.token)})
		var refused struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal(got.Body, &refused); err != nil || got.Status != 401 {
			t.Fatalf("%s: %d %s", name, got.Status, got.Body)
		}
		v := e.Verdict
		if v.Outcome != api.Refused || v.Step != "signIn" || v.Status != got.Status || v.Code != refused.Error.Code ||
			e.SignIn.Challenge != got.Header.Get("WWW-Authenticate") || !strings.Contains(v.Summary, c.says) {
			t.Errorf("%s: %+v\n%+v\nbut it is answered with %s, %s", name, v, e.SignIn, got.Body, got.Header.Get("WWW-Authenticate"))
		}
	}
	text := explainWith(t, "Authorization: Bearer "+good, id+version, "--admin", p.AdminURL, "--bearer-file", "-")
	if !strings.Contains(text, "caller "+harness.IssuedTo+" of tenant "+harness.TenantID) || !strings.Contains(text, "authenticated by issuer "+issuer.URL) {
		t.Errorf("%s", text)
	}
	reported = append(reported, text, p.Logs(), p.Metrics(t))
	for _, bad := range [][]string{
		{id, "--bearer-file", good}, {id, "--bearer-file", fileWith(t, "")}, {id, "--bearer-file", fileWith(t, good+"\n"+good)}, {id, "--header", "Authorization: Bearer " + good},
		{id, "--bearer-file", fileWith(t, good), "--as", harness.IssuedTo}, {id, "--bearer-file", "-", "--content", "-"}, {},
		{"--raw", fileWith(t, "GET / HTTP/1.1\r\n\r\n"), id}, {"--raw", filepath.Join(t.TempDir(), "none")},
	} {
		stdout, stderr := explainCommand(t, 1, append(bad, "--admin", p.AdminURL)...)
		if stderr == "" {
			t.Errorf("%d arguments: nothing is said", len(bad))
		}
		reported = append(reported, stdout, stderr)
	}
	for _, token := range tokens {
		for part := range strings.SplitSeq(token, ".") {
			if len(part) > 10 && strings.Contains(strings.Join(reported, "\n"), part) {
				t.Error("a token is shown")
			}
		}
	}
}

// The command reads the bytes of a request as the gateway does.
func TestExplainRawByCommand(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: unwatched}})
	p := w.Portico
	w.PutGroup(t, "rg")
	at, err := url.Parse(p.URL)
	harness.OK(t, err)
	host := "Host: " + at.Host + "\r\n"
	get := "GET " + w.GroupPath("rg") + version + " HTTP/1.1\r\n"
	for name, raw := range map[string]string{
		"whole": get + host + "\r\n", "two hosts": get + host + "Host: b\r\n\r\n", "no host": get + "\r\n", "another host": get + "Host: evil.example\r\n\r\n",
		"a length beside chunks": get + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two lengths":            get + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", "no request": "\x00\x1b[31mhello\r\n\r\n",
		"large":          get + host + "A: " + strings.Repeat("x", 17<<10) + "\r\n\r\n",
		"a hostile path": "GET /subscriptions/" + w.SubscriptionID + "/resourceGroups/\x9b31m%1b HTTP/1.1\r\n" + host + "\r\n",
		"a number sign":  "GET /a?b#c HTTP/1.1\r\n" + host + "\r\n", "a tag": get + host + "If-None-Match: \"x\"\r\n\r\n",
	} {
		text, _ := explainCommand(t, 0, "--raw", fileWith(t, raw), "--admin", p.AdminURL, "-o", "json")
		var e api.Explanation
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("%s: %v: %s", name, err, text)
		}
		if got := answerTo(t, at.Host, raw); got != e.Verdict.Status {
			t.Errorf("%s: explained as %q, but answered with %d", name, e.Verdict.Summary, got)
		}
		if says := explainWith(t, raw, "--raw", "-", "--admin", p.AdminURL); strings.ContainsAny(says, "\x1b\u009b\x00") || strings.Count(says, "\n\n") > 2 {
			t.Errorf("%s: %q", name, says)
		}
	}
	says := explainWith(t, strings.TrimSuffix(get+host, "\r\n"), "--raw", "-", "--admin", p.AdminURL)
	if !strings.HasPrefix(says, "not answered: the head is incomplete") {
		t.Error(says)
	}
}

// answerTo is the status that bytes are answered with.
func answerTo(t *testing.T, address, raw string) int {
	t.Helper()
	dialer := net.Dialer{Timeout: 30 * time.Second}
	c, err := dialer.DialContext(t.Context(), "tcp", address)
	harness.OK(t, err)
	defer func() { _ = c.Close() }()
	harness.OK(t, c.SetDeadline(time.Now().Add(time.Minute)))
	go func() { _, _ = c.Write([]byte(raw)) }() // it may not get that far
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%.80q: %v", raw, err)
	}
	defer func() { _ = r.Body.Close() }()
	return r.StatusCode
}

// A request that a deletion holds up names it, and the command that goes on from there
// can be run as it is, whatever names hold.
func TestExplainNamesWhatHoldsByCommand(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: deletionSettings, Server: unwatched}})
	p := w.Portico
	fill(t, w, "rg(a)", map[string]string{machines + "vm%231": "westus"})
	w.PutGroup(t, "other")
	w.Contoso("westus").Stop(t) // the deletion waits for it
	id := w.ResourcePath("rg(a)", machines+"vm%231")
	beginDelete(t, w, p, "rg(a)")
	runs := func(says, before, prefix string) string {
		t.Helper()
		_, after, found := strings.Cut(says, before+"portico ")
		command, _, _ := strings.Cut(after, "\n")
		if !found || !strings.HasPrefix(command, prefix) {
			t.Fatalf("no command %q in %s", prefix, says)
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", harness.Build(t).Portico+" "+command+" --admin "+p.AdminURL).CombinedOutput() //nolint:gosec // that is what is tried
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		return string(out)
	}
	says, _ := explainCommand(t, 0, "PUT", id+"?api-version="+harness.Version, "--content", fileWith(t, body("westus")), "--admin", p.AdminURL)
	if !strings.HasPrefix(says, "refused: 409 ResourceGroupBeingDeleted") || !strings.Contains(says, "\n  held by deletionUnderWay on "+w.GroupPath("rg(a)")+" since ") {
		t.Errorf("%s", says)
	}
	if shown := runs(says, "continue with: ", "jobs show "); !strings.Contains(shown, "group-delete") {
		t.Errorf("%s", shown)
	}
	p.Do(t, harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: body("westus")}).WantError(t, 409, "ResourceGroupBeingDeleted")

	// What is verified is asked for by the command that is named beside all that is known.
	vm := w.ResourcePath("other", machines+"it%23s")
	create(t, p, vm, "eastus")
	refuses(t, w.Contoso("eastus"), "PUT", "virtualMachines/it")
	refuses(t, w.Contoso("eastus"), "GET", "virtualMachines/it")
	p.Do(t, harness.Request{Method: http.MethodPut, Path: vm + "?api-version=" + harness.Version, Body: body("eastus")}).Want(t, 500)
	says, _ = explainCommand(t, 0, "GET", vm+"?api-version="+harness.Version, "--admin", p.AdminURL)
	if says = runs(says, "what is known of it: ", "why '"); !strings.Contains(says, "verificationPending") {
		t.Errorf("%s", says)
	}
	runs(says, "\n", "unstick ")
}
