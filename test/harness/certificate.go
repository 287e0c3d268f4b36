package harness

import (
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"testing"
)

// Certificate is a server certificate for the loopback names, signed by a new
// authority.
type Certificate struct {
	CertFile string // PEM
	KeyFile  string // PEM
	// AuthorityFile is PEM too: clients in other languages trust it.
	AuthorityFile string
	Pool          *x509.CertPool

	authority *Authority
}

// Client makes a client's certificate for an alternative name, of the same authority.
func (c Certificate) Client(t testing.TB, name string) tls.Certificate {
	t.Helper()
	return c.authority.Issue(t, Leaf{Name: name}).Certificate
}

// NewCertificate makes an authority and a server certificate for 127.0.0.1, ::1 and
// localhost, and writes the latter into dir. Nothing outlives the test.
func NewCertificate(t testing.TB, dir string) Certificate {
	t.Helper()
	authority := NewAuthority(t)
	pair := authority.Issue(t, Leaf{Name: "localhost", Server: true})
	c := Certificate{
		CertFile: filepath.Join(dir, "server.crt"),
		KeyFile:  filepath.Join(dir, "server.key"),

		AuthorityFile: filepath.Join(dir, "authority.crt"),
		Pool:          authority.Pool,
		authority:     authority,
	}
	pair.Write(t, c.CertFile, c.KeyFile)
	writePEM(t, c.AuthorityFile, "CERTIFICATE", authority.certificate.Raw)
	return c
}
