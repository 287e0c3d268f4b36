package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// signingAuthority is an authority with its key.
type signingAuthority struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

func newSigningAuthority(t *testing.T, name string, parent *signingAuthority) *signingAuthority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte(name),
	}
	if parent == nil {
		return &signingAuthority{newCertificate(t, template, template, key, key), key}
	}
	return &signingAuthority{newCertificate(t, template, parent.Certificate, key, parent.key), key}
}

// list is one of these revoked serial numbers, which ends at a time.
func (a *signingAuthority) list(t *testing.T, ends time.Time, further []pkix.Extension, serials ...int64) *x509.RevocationList {
	t.Helper()
	template := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: ends, ExtraExtensions: further}
	for _, serial := range serials {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(serial), RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, a.Certificate, a.key)
	if err != nil {
		t.Fatal(err)
	}
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// signedIn signs in by a chain.
func signedIn(m *Certificates, chains ...[]*x509.Certificate) (Principal, *Refusal) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.TLS = &tls.ConnectionState{VerifiedChains: chains}
	p, known, refusal := m.Authenticate(Credentials{Request: r})
	if !known {
		refusal = &Refusal{Result: Unknown}
	}
	return p, refusal
}

func TestRevokedCertificates(t *testing.T) {
	root := newSigningAuthority(t, "root", nil)
	below := newSigningAuthority(t, "below", root) // serial number 1, as all that madeCertificate makes
	key := root.key
	ann := []CertificateOwner{{Subject: subject(t, "CN=ann"), Principal: Principal{TenantID: "T", ObjectID: "ann"}}}
	of := func(by *signingAuthority) *x509.Certificate {
		return newCertificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: "ann"}}, by.Certificate, key, by.key)
	}
	direct, indirect := []*x509.Certificate{of(root), root.Certificate}, []*x509.Certificate{of(below), below.Certificate, root.Certificate}
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		list   *x509.RevocationList
		chain  []*x509.Certificate
		result string // "": accepted
	}{
		"on no list":                         {root.list(t, later, nil, 2, 3), direct, ""},
		"revoked":                            {root.list(t, later, nil, 2, 1), direct, Revoked},
		"on no list, which has ended":        {root.list(t, earlier, nil, 2), direct, Unavailable},
		"revoked by a list that has ended":   {root.list(t, earlier, nil, 1), direct, Revoked},
		"of an issuer without a list":        {root.list(t, later, nil, 2), indirect, Unavailable},
		"of an issuer that root has revoked": {root.list(t, later, nil, 1), indirect, Revoked},
	} {
		t.Run(name, func(t *testing.T) {
			authorities := []*x509.Certificate{root.Certificate}
			ended := 0
			revocations, err := NewRevocations([]*x509.RevocationList{c.list}, authorities, func(string, time.Time) { ended++ })
			if err != nil {
				t.Fatal(err)
			}
			before, _ := signedIn(NewCertificates(authorities, ann, nil), c.chain)
			method := NewCertificates(authorities, ann, revocations)
			for range 2 { // the second time it is remembered
				p, refusal := signedIn(method, c.chain)
				switch {
				case c.result == "" && (refusal != nil || p.ObjectID != "ann"):
					t.Errorf("refused: %v", refusal)
				case c.result != "" && (refusal == nil || refusal.Result != c.result || p.ObjectID != ""):
					t.Errorf("%+v, %+v", p, refusal)
				}
			}
			// What was begun before goes on only with what would be accepted now.
			if got := method.Valid(before); got != (c.result == "") {
				t.Errorf("it is valid: %v", got)
			}
			if (ended > 0) != (c.list.NextUpdate.Before(time.Now()) && c.result == Unavailable) {
				t.Errorf("that a list has ended was told %d times", ended)
			}
		})
	}
}

// A file that does not say all of every authority is refused, with the configuration.
func TestListsThatAreNotWhole(t *testing.T) {
	root, stranger := newSigningAuthority(t, "root", nil), newSigningAuthority(t, "root", nil)
	later := time.Now().Add(time.Hour)
	delta := pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: []byte{2, 1, 1}}
	for name, lists := range map[string][]*x509.RevocationList{
		"none of an authority":    nil,
		"one of a stranger's":     {root.list(t, later, nil), stranger.list(t, later, nil)},
		"of a stranger's alone":   {stranger.list(t, later, nil)},
		"a difference to another": {root.list(t, later, []pkix.Extension{delta})},
	} {
		if _, err := NewRevocations(lists, []*x509.Certificate{root.Certificate}, nil); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	// Of two the newer one counts.
	older := root.list(t, later, nil, 5)
	older.ThisUpdate = older.ThisUpdate.Add(-time.Hour)
	for _, lists := range [][]*x509.RevocationList{{older, root.list(t, later, nil, 7)}, {root.list(t, later, nil, 7), older}} {
		r, err := NewRevocations(lists, []*x509.Certificate{root.Certificate}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.statusOf(issuerKey(root.Certificate)+":7", time.Now()) != revoked || r.statusOf(issuerKey(root.Certificate)+":5", time.Now()) != notRevoked {
			t.Error("the older list counts")
		}
	}
}
