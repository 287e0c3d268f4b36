package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	File string // PEM
	Pool *x509.CertPool

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      atomic.Int64
}

// NewAuthority makes an authority that lasts as long as the test.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{File: filepath.Join(t.TempDir(), "authority.crt"), Pool: x509.NewCertPool(), key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: "Portico test authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	a.certificate = parsed(t, sign(t, template, template, a.key, a.key))
	a.Pool.AddCert(a.certificate)
	writePEM(t, a.File, "CERTIFICATE", a.certificate.Raw)
	return a
}

// Leaf says what a certificate is for.
type Leaf struct {
	Name   string // a DNS name, and the common name
	Server bool   // of a server, at the addresses of loopback too; else of a client
	// Remote omits those addresses.
	Remote bool
	// Ended makes it end before the test began.
	Ended bool
}

// Pair is a certificate with its key, in memory and as PEM files.
type Pair struct {
	tls.Certificate
	CertFile, KeyFile string
}

// Issue makes a certificate.
func (a *Authority) Issue(t testing.TB, of Leaf) Pair {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial.Add(1)),
		Subject:      pkix.Name{CommonName: of.Name},
		NotBefore:    a.certificate.NotBefore,
		NotAfter:     a.certificate.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{of.Name},
	}
	if of.Ended {
		template.NotAfter = time.Now().Add(-time.Minute)
	}
	if of.Server {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if !of.Remote {
			template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
		}
	}
	leaf := parsed(t, sign(t, template, a.certificate, key, a.key))
	dir := t.TempDir()
	p := Pair{tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	p.Write(t, p.CertFile, p.KeyFile)
	return p
}

// Write writes the pair to files, the key last.
func (p Pair) Write(t testing.TB, cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.PrivateKey)
	OK(t, err)
	writePEM(t, cert, "CERTIFICATE", p.Leaf.Raw)
	writePEM(t, key, "PRIVATE KEY", der)
}

// Fingerprint is the certificate's SHA-256 in hexadecimal digits.
func (p Pair) Fingerprint() string {
	sum := sha256.Sum256(p.Leaf.Raw)
	return hex.EncodeToString(sum[:])
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	OK(t, err)
	return key
}

func sign(t testing.TB, certificate, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, certificate, by, &key.PublicKey, byKey)
	OK(t, err)
	return der
}

func parsed(t testing.TB, der []byte) *x509.Certificate {
	t.Helper()
	certificate, err := x509.ParseCertificate(der)
	OK(t, err)
	return certificate
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	OK(t, os.WriteFile(file, text, 0o600))
}

// Revoke writes the list of the certificates that the authority has revoked, which ends
// at a time.
func (a *Authority) Revoke(t testing.TB, file string, ends time.Time, revoked ...Pair) {
	t.Helper()
	template := &x509.RevocationList{Number: big.NewInt(a.serial.Add(1)), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: ends}
	for _, p := range revoked {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: p.Leaf.SerialNumber, RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, a.certificate, a.key)
	OK(t, err)
	writePEM(t, file, "X509 CRL", der)
}
