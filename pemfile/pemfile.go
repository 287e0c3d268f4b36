// Package pemfile reads certificates and keys from files of PEM. Its errors quote
// nothing of what the files hold.
package pemfile

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
)

// ErrEmpty is the error of a file that holds nothing of what is read from it.
var ErrEmpty = errors.New("it holds no certificate")

// Certificates returns the certificates of a file, at least one. Other blocks are
// skipped.
func Certificates(path string) ([]*x509.Certificate, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(bytes.Clone(block.Bytes))
		if err != nil {
			return nil, err
		}
		all = append(all, certificate)
	}
	if len(all) == 0 {
		return nil, ErrEmpty
	}
	return all, nil
}

// Pool returns the certificates of a file as the authorities to trust.
func Pool(path string) (*x509.CertPool, error) {
	authorities, err := Certificates(path)
	if err != nil {
		return nil, err
	}
	return PoolOf(authorities), nil
}

// PoolOf returns a pool of these authorities.
func PoolOf(authorities []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, authority := range authorities {
		pool.AddCert(authority)
	}
	return pool
}

// Pair returns the certificate of one file, with those that lead to its root, and its
// key of another. Its Leaf is set.
func Pair(cert, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}
