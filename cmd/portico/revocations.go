package main

import (
	"crypto/x509"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/access"
	"portico/config"
	"portico/internal/pemfile"
)

// revocations reads the lists of revoked certificates; nil if no file is configured.
func (s *service) revocations(file string, authorities []*x509.Certificate) (*access.Revocations, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // nothing is looked up
	}
	fault := func(err error) error {
		f := fileFault(file, "auth.clientCertificates.crl", err)
		f.Allowed = "a PEM file with one list of each authority in auth.clientCertificates.ca, signed by it"
		return config.Faults{f}
	}
	lists, err := pemfile.RevocationLists(file)
	if err != nil {
		return nil, fault(err)
	}
	ended := endedLists{log: s.log}
	revocations, err := access.NewRevocations(lists, authorities, func(issuer string, at time.Time) { ended.refused(issuer, at, time.Now()) })
	if err != nil {
		return nil, fault(err)
	}
	return revocations, nil
}

// endedLists logs, at most once in a while, that certificates are refused because the
// list of their issuer has expired.
type endedLists struct {
	log *zap.Logger

	mu   sync.Mutex
	last time.Time
}

func (e *endedLists) refused(issuer string, at, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.last) < failuresApart {
		return
	}
	e.last = now
	e.log.Error("client certificates are refused: the revocation list of their issuer has expired; put a newer one into the file of "+
		"auth.clientCertificates.crl",
		zap.String("issuer", issuer), zap.Time("ended", at))
}
