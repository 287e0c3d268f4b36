// Package pemfile reads certificates, keys and lists of revoked certificates from PEM
// files, and the subjects of certificates. Its errors do not quote the files' contents.
package pemfile

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
)

// Errors of files without the expected content.
var (
	ErrNoCertificate = errors.New("it holds no certificate")
	ErrNoList        = errors.New("it holds no list of revoked certificates")
)

// Certificates returns the certificates in a file, at least one. It skips other blocks.
func Certificates(path string) ([]*x509.Certificate, error) {
	return blocks(path, "CERTIFICATE", x509.ParseCertificate, ErrNoCertificate)
}

// RevocationLists returns the lists of revoked certificates in a file, at least one.
func RevocationLists(path string) ([]*x509.RevocationList, error) {
	return blocks(path, "X509 CRL", x509.ParseRevocationList, ErrNoList)
}

// blocks reads the blocks of one type.
func blocks[T any](path, of string, parse func(der []byte) (T, error), none error) ([]T, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []T
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != of {
			continue
		}
		one, err := parse(bytes.Clone(block.Bytes))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, none
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

// Pair returns the certificate and its intermediates from one file, with the
// key from another. Its Leaf is set.
func Pair(cert, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}
