package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"portico/arm"
	"portico/internal/pemfile"
)

// newCertificate makes a certificate, signed by parent or by itself.
func newCertificate(t *testing.T, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	template.SerialNumber = big.NewInt(1)
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func subject(t *testing.T, text string) pemfile.Subject {
	t.Helper()
	s, err := pemfile.ParseSubject(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCertificatesOfCallers(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := func(name string) *x509.Certificate {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true}
		return newCertificate(t, c, c, key, key)
	}
	ours, others := authority("ours"), authority("others")
	leaf := func(name string, dns ...string) *x509.Certificate {
		return newCertificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{"Contoso"}}, DNSNames: dns}, ours, key, key)
	}
	ann := Principal{TenantID: "T", ObjectID: "ann"}
	bob := Principal{TenantID: "T", ObjectID: "bob"}
	owners := []CertificateOwner{{Subject: subject(t, "CN=ann,O=Contoso"), Principal: ann}, {SAN: "bob.example", Principal: bob}}
	method := NewCertificates([]*x509.Certificate{ours}, owners, nil)
	sign := func(m *Certificates, chain ...*x509.Certificate) (Principal, bool, *Refusal) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{chain}}
		return m.Authenticate(Credentials{Request: r})
	}
	for name, c := range map[string]struct {
		chain []*x509.Certificate
		want  string
		gone  bool // no configured authority has signed it
	}{
		"by the whole subject":          {[]*x509.Certificate{leaf("ann"), ours}, "ann", false},
		"by another name":               {[]*x509.Certificate{leaf("x", "a.example", "BOB.example"), ours}, "bob", false},
		"nobody's":                      {[]*x509.Certificate{leaf("an"), ours}, "", false},
		"a part of the subject":         {[]*x509.Certificate{leaf("ann,O=Contoso"), ours}, "", false},
		"a wildcard":                    {[]*x509.Certificate{leaf("x", "*.example"), ours}, "", false},
		"of an authority that has gone": {[]*x509.Certificate{leaf("ann"), others}, "", true},
	} {
		for range 2 { // the second time it is remembered
			p, known, refusal := sign(method, c.chain...)
			if known == c.gone || (refusal == nil) != (c.gone || c.want != "") || p.ObjectID != c.want {
				t.Errorf("%s: %+v, %v, %v", name, p, known, refusal)
			}
			if refusal != nil && (refusal.Error.Code != arm.InvalidAuthenticationToken || !strings.Contains(refusal.Error.Message, "certificate")) {
				t.Errorf("%s: %v", name, refusal)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer a")
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf("an"), ours}}}
	if _, known, refusal := method.Authenticate(Credentials{Request: r, Token: "a"}); known || refusal != nil {
		t.Errorf("a certificate of no one's decides beside a token: %v", refusal)
	}
	if _, known, _ := method.Authenticate(Credentials{Request: httptest.NewRequest(http.MethodGet, "/", nil)}); known {
		t.Error("no certificate is known")
	}

	p, _, _ := sign(method, leaf("ann"), ours)
	if !method.Valid(p) || NewCertificates([]*x509.Certificate{others}, owners, nil).Valid(p) || NewCertificates([]*x509.Certificate{ours}, owners[1:], nil).Valid(p) || method.Valid(ann) {
		t.Error("validity does not follow the authority and the owner")
	}
	method.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if _, known, refusal := sign(method, leaf("ann"), ours); !known || refusal == nil || refusal.Result != Expired || method.Valid(p) {
		t.Errorf("after its end: %v", refusal)
	}
}
