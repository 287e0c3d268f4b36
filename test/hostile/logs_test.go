package hostile

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"portico/test/harness"
)

// logged bounds the wait for a line.
const logged = 30 * time.Second

// A misplaced credential of a client appears in no line of the log.
func TestCredentialsAreNotLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	jwt := part(`{"alg":"RS256","typ":"JWT"}`) + "." + part(`{"oid":"00000000-0000-0000-0000-00000000a11c"}`) + "." + part("a signature of some length")
	sum := sha256.Sum256([]byte("a storage account's key"))
	key := base64.StdEncoding.EncodeToString(append(sum[:], sum[:]...))
	hexKey := hex.EncodeToString(sum[:])
	for name, c := range map[string]struct{ target, secret string }{
		"token as api-version":             {w.thing("rg", "a") + "?api-version=" + jwt, jwt},
		"token behind api-version":         {w.thing("rg", "b") + api + url.QueryEscape(" Bearer ") + jwt, jwt},
		"key as api-version":               {w.thing("rg", "c") + "?api-version=" + url.QueryEscape(key), url.QueryEscape(key)[:40]},
		"hexadecimal key as api-version":   {w.thing("rg", "d") + "?api-version=" + hexKey, hexKey},
		"escaped signature as api-version": {w.thing("rg", "e") + "?api-version=2024-01-01%26sig%3D" + hexKey[:20], hexKey[:20]},
		"token as name":                    {w.thing("rg", jwt) + api, jwt},
		"token as namespace":               {w.GroupPath("rg") + "/providers/" + jwt + "/things/a" + api, jwt},
		"token as provider's path":         {"/" + jwt + api, jwt},
		"key as name":                      {w.thing("rg", url.PathEscape(key)) + api, url.PathEscape(key)[:40]},
		"bearer in a path":                 {w.thing("rg", "Bearer%20"+hexKey) + api, hexKey},
		"signature in a path":              {w.thing("rg", "a%3Fsv%3D1%26sig%3D"+hexKey[:20]) + api, hexKey[:20]},
		"token in a filter":                {w.GroupPath("rg") + "/resources" + api + "&$filter=" + url.QueryEscape("name eq '"+jwt+"'"), jwt},
		"key in a filter":                  {w.GroupPath("rg") + "/resources" + api + "&$filter=" + url.QueryEscape("name eq '"+key+"'"), url.QueryEscape(key)[:40]},
		"user agent":                       {w.thing("rg", "g") + api, ""},
	} {
		id := strings.ReplaceAll(name, " ", "-")
		header := []string{"x-ms-client-request-id", id}
		if c.secret == "" {
			c.secret, header = jwt, append(header, "User-Agent", "tool "+jwt)
		}
		for _, method := range []string{http.MethodGet, http.MethodPut} { // an audit line as well
			w.as(t, alice, method, c.target, located("westus"), header...)
		}
		for _, logger := range []string{"access", "audit"} {
			line := w.line(t, func(l map[string]any) bool { return l["logger"] == logger && l["clientRequestId"] == id })
			if strings.Contains(line, c.secret) {
				t.Errorf("%s: it is in the log: %s", name, line)
			}
		}
	}
	if log := w.Portico.Log(); strings.Contains(log, jwt[:40]) || strings.Contains(log, hexKey) {
		t.Error("a line of some other kind holds the token or the key")
	}
}

// Invisible characters, and those that change how a line looks, are escaped in every
// line.
func TestInvisibleCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	invisible := []rune{0xad, 0x34f, 0x61c, 0x180e, 0x200b, 0x200d, 0x200e, 0x2028, 0x202e, 0x2060, 0x2064, 0x2066, 0x206f, 0x3164, 0xfe0f, 0xfeff, 0xfff9, 0xe0001, 0xe0041, 0xe007f, 0xe0100}
	for _, c := range invisible {
		id := fmt.Sprintf("rune-%x", c)
		w.as(t, alice, http.MethodPut, w.thing("rg", "a")+api, located("westus"), "x-ms-client-request-id", id, "User-Agent", "tool "+string(c)+" end")
	}
	for _, c := range invisible {
		id := fmt.Sprintf("rune-%x", c)
		w.line(t, func(l map[string]any) bool { return l["logger"] == "access" && l["clientRequestId"] == id })
	}
	for _, c := range w.Portico.Log() {
		if c != '\n' && (unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)) {
			t.Errorf("the log holds %U", c)
		}
	}
}

// The audit lines of the admin listener name the caller, for reads too; a refused
// caller has a line too.
func TestAdminAuditNamesTheCaller(t *testing.T) {
	t.Parallel()
	hash := func(token string) string { sum := sha256.Sum256([]byte(token)); return hex.EncodeToString(sum[:]) }
	w := newWorld(t, options{Server: fmt.Sprintf("  adminToken: {name: root, sha256: %s}\n  adminTokens:\n    - {name: dora, sha256: %s}\n    - {name: emil, sha256: %s}\n",
		hash("the root token"), hash("the token of dora"), hash("the token of emil"))})
	for _, c := range []struct {
		method, path, token, name string
		status                    float64
	}{
		{"GET", "/debug/pprof/heap?debug=1", "the token of dora", "dora", 200},
		{"GET", "/debug/pprof/goroutine?debug=2", "the token of emil", "emil", 200},
		{"GET", "/debug/pprof/cmdline", "the root token", "root", 200},
		{"GET", "/admin/subscriptions", "the token of emil", "emil", 200},
		{"GET", "/admin/jobs", "the token of dora", "dora", 200},
		{"POST", "/admin/sweeps", "the token of emil", "emil", 202},
		{"POST", "/admin/reload", "a guess", "", 401},
		{"GET", "/debug/pprof/allocs", "the root token ", "root", 200},
		{"GET", "/debug/pprof/block", "", "", 401},
	} {
		path, _, _ := strings.Cut(c.path, "?")
		h := http.Header{}
		if c.token != "" {
			h.Set("Authorization", "Bearer "+c.token)
		}
		w.Portico.Admin(t, harness.Request{Method: c.method, Path: c.path, Header: h, Anonymous: true}).Want(t, int(c.status))
		line := w.line(t, func(l map[string]any) bool { return l["logger"] == "audit" && l["resource"] == path })
		var l map[string]any
		harness.OK(t, json.Unmarshal([]byte(line), &l))
		name, _ := l["name"].(string)
		if name != c.name || l["status"] != c.status || l["method"] != c.method {
			t.Errorf("%s %s by %q: %s", c.method, c.path, c.name, line)
		}
	}
}

// line waits for a line of the log.
func (w world) line(t *testing.T, fits func(map[string]any) bool) string {
	t.Helper()
	for end := time.Now().Add(logged); ; time.Sleep(20 * time.Millisecond) {
		for line := range strings.Lines(w.Portico.Log()) {
			var l map[string]any
			if json.Unmarshal([]byte(line), &l) == nil && fits(l) {
				return line
			}
		}
		if time.Now().After(end) {
			t.Fatal("no such line in the log")
		}
	}
}
