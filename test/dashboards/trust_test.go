package dashboards

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"portico/test/harness"
)

// trustSite is a deployment whose providers in westus and eastus speak TLS: the one of
// westus demands a certificate.
type trustSite struct {
	*site
	bundle, cert, key string // the files of its identity
	stranger          harness.Pair
	rest              *harness.Authority // of what stays trusted
}

func startTrust(t *testing.T, shared providers) trustSite {
	t.Helper()
	west, east, clients := harness.NewAuthority(t), harness.NewAuthority(t), harness.NewAuthority(t)
	folder := t.TempDir()
	s := trustSite{
		bundle: filepath.Join(folder, "ca.pem"), cert: filepath.Join(folder, "cert.pem"), key: filepath.Join(folder, "key.pem"),
		stranger: harness.NewAuthority(t).Issue(t, harness.Leaf{Name: "portico"}), rest: west,
	}
	s.bundleOf(t, west, east)
	clients.Issue(t, harness.Leaf{Name: "portico"}).Write(t, s.cert, s.key)
	urls := shared.urls()
	for region, of := range map[string]*harness.Authority{"westus": west, "eastus": east} {
		server := of.Issue(t, harness.Leaf{Name: "localhost", Server: true})
		options := harness.ContosoOptions{TLS: &server}
		if region == "westus" {
			options.Clients = clients
		}
		urls[region] = harness.StartContoso(t, region, options).URL
	}
	own := fmt.Sprintf("{ca: %q, cert: %q, key: %q}", s.bundle, s.cert, s.key)
	s.site = startSite(t, 8, "portico-trust", harness.Config{Endpoints: urls, ComputeTLS: own, InsightTLS: own})
	return s
}

func (s trustSite) bundleOf(t *testing.T, authorities ...*harness.Authority) {
	t.Helper()
	var bundle []byte
	for _, a := range authorities {
		text, err := os.ReadFile(a.File)
		harness.OK(t, err)
		bundle = append(bundle, text...)
	}
	harness.OK(t, errors.Join(os.WriteFile(s.bundle+".new", bundle, 0o600), os.Rename(s.bundle+".new", s.bundle)))
}

// end makes the provider of westus trust the gateway no more, and the gateway that of
// eastus.
func (s trustSite) end(t *testing.T) {
	t.Helper()
	s.bundleOf(t, s.rest)
	s.stranger.Write(t, s.cert, s.key)
	s.Portico.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"}).Want(t, 200)
}
