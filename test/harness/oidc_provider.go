package harness

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// ClientSecret is the secret of the application of an [OIDCProvider].
const ClientSecret = "a-secret-of-the-tests"

// Where an [OIDCProvider] can be below its address: as the issuer of a tenant, or as one
// that is the only one there.
const (
	ForTenant = "/" + TenantID + "/v2.0"
	Alone     = "/adfs"
)

// OIDCProvider is an issuer by somebody else: the library oidc-provider, in test/issuer.
type OIDCProvider struct {
	// URL is the issuer, of [TenantID].
	URL string
	// Authority is the address without the path.
	Authority   string
	Certificate Certificate
}

// issuerFolder is where the issuer lies, from the module's root.
var issuerFolder = filepath.Join("test", "issuer")

// OIDCProviderMissing says what an [OIDCProvider] lacks here, and what installs it; "" if
// nothing.
func OIDCProviderMissing(t testing.TB) string {
	t.Helper()
	root, err := moduleRoot()
	OK(t, err)
	if installed, _ := filepath.Glob(filepath.Join(root, issuerFolder, "node_modules", "oidc-provider")); FindInstalled("node") == "" || len(installed) == 0 {
		return "oidc-provider or Node.js is not installed; run test/issuer/prepare.sh"
	}
	return ""
}

// StartOIDCProvider runs the issuer, below a path, until the test ends. Where it is not
// installed, the test is left out.
func StartOIDCProvider(t testing.TB, path string) *OIDCProvider {
	t.Helper()
	if missing := OIDCProviderMissing(t); missing != "" {
		t.Skip("LEFT OUT: " + missing)
	}
	root, err := moduleRoot()
	OK(t, err)
	c := NewCertificate(t, t.TempDir())
	p := startWith(t, "oidc-provider", filepath.Join(root, issuerFolder), "node", []string{
		"CERT=" + c.CertFile, "KEY=" + c.KeyFile, "PATHNAME=" + path, "TENANT=" + TenantID, "OBJECT=" + IssuedTo, "NAME=" + IssuedToName,
		"CLIENT=" + IssuedToApp, "SECRET=" + ClientSecret, "AUDIENCE=" + Audience,
	}, "main.mjs")
	url := p.WaitLine(t, "https://")
	return &OIDCProvider{URL: url, Authority: strings.TrimSuffix(url, path), Certificate: c}
}

// Auth is YAML of the auth section that trusts the issuer; see [Config.Auth].
func (o *OIDCProvider) Auth() string {
	return fmt.Sprintf("  issuers:\n    - {issuer: %q, audiences: [%q], tenantClaim: tid, ca: %q}", o.URL, Audience, o.Certificate.AuthorityFile)
}
