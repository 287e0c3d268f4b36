package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificate is a server certificate for the loopback names, signed by a new
// authority.
type Certificate struct {
	CertFile string // PEM
	KeyFile  string // PEM
	// AuthorityFile is PEM too: clients in other languages trust it.
	AuthorityFile string
	Pool          *x509.CertPool

	authority    *x509.Certificate
	authorityKey *ecdsa.PrivateKey
}

// Client makes a client's certificate for an alternative name, of the same authority.
func (c Certificate) Client(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key := newKey(t)
	der := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(3),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    c.authority.NotBefore,
		NotAfter:     c.authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{name},
	}, c.authority, key, c.authorityKey)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// NewCertificate makes an authority and a server certificate for 127.0.0.1, ::1 and
// localhost, and writes the latter into dir. Nothing outlives the test.
func NewCertificate(t testing.TB, dir string) Certificate {
	t.Helper()
	authorityKey := newKey(t)
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "Portico test authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	authorityDER := sign(t, authority, authority, authorityKey, authorityKey)
	signed, err := x509.ParseCertificate(authorityDER)
	if err != nil {
		t.Fatal(err)
	}

	serverKey := newKey(t)
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	serverDER := sign(t, server, signed, serverKey, authorityKey)
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}

	c := Certificate{
		CertFile: filepath.Join(dir, "server.crt"),
		KeyFile:  filepath.Join(dir, "server.key"),

		AuthorityFile: filepath.Join(dir, "authority.crt"),
		Pool:          x509.NewCertPool(),

		authority: signed, authorityKey: authorityKey,
	}
	c.Pool.AddCert(signed)
	writePEM(t, c.CertFile, "CERTIFICATE", serverDER)
	writePEM(t, c.KeyFile, "PRIVATE KEY", keyDER)
	writePEM(t, c.AuthorityFile, "CERTIFICATE", authorityDER)
	return c
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, certificate, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, certificate, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
