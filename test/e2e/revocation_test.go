package e2e

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// A revoked certificate is refused as soon as the list is taken over, also over a
// connection that is open. Where the list has ended no one signs in by a certificate, and
// a list of a stranger's is not taken.
func TestRevokedCertificateIsRefused(t *testing.T) {
	t.Parallel()
	authority, stranger := harness.NewAuthority(t), harness.NewAuthority(t)
	crl := filepath.Join(t.TempDir(), "crl.pem")
	later := time.Now().Add(time.Hour)
	authority.Revoke(t, crl, later)
	principal := func(name string) string {
		return fmt.Sprintf("\n      - {san: %s, tenantId: %s, objectId: %s, name: %s}", name, harness.TenantID, harness.IssuedTo, name)
	}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		TLS: true, Server: unwatched, Tokens: []harness.Token{alice},
		Auth: fmt.Sprintf("  clientCertificates:\n    ca: %q\n    crl: %q\n    principals:", authority.File, crl) + principal("ann.example") + principal("bob.example"),
	}})
	w.PutGroup(t, "rg")
	trusted := w.Portico.Client.Transport.(*http.Transport).TLSClientConfig.RootCAs
	ann, bob := authority.Issue(t, harness.Leaf{Name: "ann.example"}), authority.Issue(t, harness.Leaf{Name: "bob.example"})
	clients := map[string]*http.Client{}
	for name, pair := range map[string]harness.Pair{"ann": ann, "bob": bob} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair.Certificate}, MinVersion: tls.VersionTLS12}}
		t.Cleanup(transport.CloseIdleConnections)
		clients[name] = &http.Client{Transport: transport}
	}
	want := func(when string, statuses map[string]int) {
		t.Helper()
		for name, want := range statuses {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Portico.URL+w.GroupPath("rg")+version, nil)
			harness.OK(t, err)
			a, err := clients[name].Do(r)
			harness.OK(t, err)
			_ = a.Body.Close()
			if a.StatusCode != want {
				t.Errorf("%s, %s: %d, want %d", when, name, a.StatusCode, want)
			}
		}
	}
	want("nobody is revoked", map[string]int{"ann": 200, "bob": 200})
	authority.Revoke(t, crl, later, ann)
	reload(t, w.Portico).Want(t, 200)
	want("ann is revoked", map[string]int{"ann": 401, "bob": 200})
	stranger.Revoke(t, crl, later)
	if a := reload(t, w.Portico).Want(t, 400); !strings.Contains(string(a.Body), crl) {
		t.Errorf("the fault is %s", a.Body)
	}
	want("a stranger's list", map[string]int{"ann": 401, "bob": 200})
	authority.Revoke(t, crl, time.Now().Add(-time.Minute), ann)
	reload(t, w.Portico).Want(t, 200)
	want("the list has ended", map[string]int{"ann": 401, "bob": 503})
	soon(t, "a line of the log", func() bool {
		return strings.Contains(w.Portico.Log(), "the revocation list of their issuer has expired")
	})
	w.Portico.Do(t, harness.Request{Path: w.GroupPath("rg") + version}).Want(t, 200) // alice's static token
	authority.Revoke(t, crl, later, ann)
	reload(t, w.Portico).Want(t, 200)
	want("a new list", map[string]int{"ann": 401, "bob": 200})
}
