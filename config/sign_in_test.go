package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/internal/pemfile"
)

// What is read of issuers and certificates, and what they need not say.
func TestSignIn(t *testing.T) {
	c, err := Load("testdata/good/sign_in.yaml")
	must(t, err)
	first, second := c.Auth.Issuers[0], c.Auth.Issuers[1]
	if first.URL != "https://login.example.com/v2.0" || len(first.Audiences) != 2 || len(first.Algorithms) != 2 || first.ClockSkew != 0 ||
		first.Claims != (Claims{ObjectID: "sub", AppID: "azp", Name: "preferred_username", Groups: "roles"}) || !strings.HasSuffix(first.CA, "files/ca.pem") {
		t.Errorf("%+v", first)
	}
	if second.URL != "http://127.0.0.1:9000/" || len(second.Algorithms) != 1 || second.Algorithms[0] != "RS256" || second.Claims.ObjectID != "oid" || second.TenantClaim != "tid" {
		t.Errorf("%+v", second)
	}
	if c.Auth.Mode != AuthMethods || c.Auth.Keys.Folder != filepath.Join("testdata", "good", "keys") || len(c.Auth.Certificates.Principals) != 2 || len(c.Auth.Tokens) != 1 {
		t.Errorf("%+v", c.Auth)
	}
}

// Issuers come beside static tokens without a restart; they cannot come where no one
// needed to sign in.
func TestSucceedTakesIssuers(t *testing.T) {
	tokens, methods, none := Defaults(), Defaults(), Defaults()
	tokens.Auth = Auth{Mode: AuthTokens, Tokens: []Token{{Name: "first"}}}
	methods.Auth = Auth{Mode: AuthMethods, Issuers: []Issuer{{URL: "https://login.example"}}}
	if c, restart := MergeForReload(&tokens, &methods); len(restart) > 0 || len(c.Auth.Issuers) != 1 || c.Auth.Mode != AuthMethods {
		t.Errorf("%+v, a restart for %q", c.Auth, restart)
	}
	if c, restart := MergeForReload(&none, &methods); len(restart) != 1 || len(c.Auth.Issuers) > 0 {
		t.Errorf("%+v, a restart for %q", c.Auth, restart)
	}
}

// An issuer and the owner of a certificate that went are credentials that were removed.
func TestRemovedIssuers(t *testing.T) {
	used, err := Load("testdata/good/sign_in.yaml")
	must(t, err)
	text, err := os.ReadFile("testdata/good/sign_in.yaml")
	must(t, err)
	path := filepath.Join(t.TempDir(), "portico.yaml")
	for want, change := range []*strings.Replacer{
		strings.NewReplacer(),
		strings.NewReplacer("login.example.com", "other.example.com"),
		strings.NewReplacer("login.example.com", "other.example.com", "CN=ann,", "CN=bob,"),
	} {
		put(t, path, change.Replace(string(text)))
		if got := CountRemovedCredentials(used, nil, path); got != want {
			t.Errorf("%d were removed, want %d", got, want)
		}
	}
}

// An authority that went from its file is a removed credential, and so is every one of a file
// that cannot be read, whatever the rest of the configuration.
func TestRemovedAuthorities(t *testing.T) {
	folder := t.TempDir()
	both, one, none, path := filepath.Join(folder, "both.pem"), filepath.Join(folder, "one.pem"), filepath.Join(folder, "none.pem"), filepath.Join(folder, "portico.yaml")
	first, second := newAuthority(t), newAuthority(t)
	put(t, both, first+second)
	put(t, one, second)
	put(t, none, "nothing\n")
	authorities, err := pemfile.Certificates(both)
	must(t, err)
	text, err := os.ReadFile("testdata/good/sign_in.yaml")
	must(t, err)
	used, err := Load("testdata/good/sign_in.yaml")
	must(t, err)
	for file, want := range map[string]int{both: 0, one: 1, none: 2, filepath.Join(folder, "absent.pem"): 2, folder: 2} {
		used.Auth.Certificates.CA = file
		for _, broken := range []string{"", "\nbatch: {immediate: none}\n", "]"} {
			put(t, path, strings.ReplaceAll(string(text), "../files/ca.pem", file)+broken)
			if got := CountRemovedCredentials(used, authorities, path); got != want {
				t.Errorf("%s with %q: %d, want %d", filepath.Base(file), broken, got, want)
			}
		}
	}
	used.Auth.Certificates.CA = both // and the refused configuration names another file
	put(t, path, strings.ReplaceAll(string(text), "../files/ca.pem", one))
	if got := CountRemovedCredentials(used, authorities, path); got != 1 {
		t.Errorf("another file: %d", got)
	}
}

// newAuthority returns the certificate of an authority, in PEM.
func newAuthority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
