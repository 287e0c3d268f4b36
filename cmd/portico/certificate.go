package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"sync/atomic"

	"portico/config"
	"portico/internal/pemfile"
)

// certificate is the public listener's, and the authorities of its clients'.
// Connections that come in from then on see when they change.
type certificate struct {
	now atomic.Pointer[tls.Config]
}

// use makes the listener show another certificate from now on. Clients may show one of
// authorities, nil for none. A nil pair is for plain HTTP.
func (c *certificate) use(pair *tls.Certificate, authorities []*x509.Certificate) {
	if pair == nil {
		return
	}
	next := serverTLS()
	next.Certificates = []tls.Certificate{*pair}
	if authorities != nil {
		next.ClientAuth, next.ClientCAs = tls.VerifyClientCertIfGiven, pemfile.PoolOf(authorities)
	}
	c.now.Store(next)
}

// shown reports whether the listener speaks TLS.
func (c *certificate) shown() bool { return c.now.Load() != nil }

func (c *certificate) server() *tls.Config {
	outer := serverTLS()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.now.Load(), nil }
	return outer
}

func serverTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// serverPair reads the public listener's certificate; nil where there is none.
// What is wrong with the files is a fault of the configuration.
func serverPair(o config.TLS) (*tls.Certificate, error) {
	if o.Cert == "" {
		return nil, nil //nolint:nilnil // plain HTTP
	}
	pair, err := pemfile.Pair(o.Cert, o.Key)
	if err != nil {
		return nil, config.Faults{fileFault(o.Cert, "server.tls", err)}
	}
	return pair, nil
}

// fileFault is the fault of a pair of files that are no certificate and its key. The
// errors of package tls quote neither.
func fileFault(path, setting string, err error) config.Fault {
	if missing, ok := errors.AsType[*fs.PathError](err); ok {
		path, err = missing.Path, missing.Err
	}
	return config.Fault{File: path, What: setting + ": " + err.Error(), Allowed: "PEM files of a certificate and its key"}
}
