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

// certificate holds the public listener's certificate and the authorities of its clients'
// certificates. A change takes effect for new connections.
type certificate struct {
	current atomic.Pointer[tls.Config]
}

// use makes the listener present pair from now on. Clients may present a certificate of
// authorities, which may be nil. A nil pair means plain HTTP and is ignored.
func (c *certificate) use(pair *tls.Certificate, authorities []*x509.Certificate) {
	if pair == nil {
		return
	}
	next := serverTLS()
	next.Certificates = []tls.Certificate{*pair}
	if authorities != nil {
		next.ClientAuth, next.ClientCAs = tls.VerifyClientCertIfGiven, pemfile.PoolOf(authorities)
	}
	c.current.Store(next)
}

func (c *certificate) usesTLS() bool { return c.current.Load() != nil }

func (c *certificate) server() *tls.Config {
	outer := serverTLS()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil }
	return outer
}

func serverTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// serverPair reads the public listener's certificate; nil if none is configured.
// Unreadable files are a fault of the configuration.
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

// fileFault returns the fault of files that are not a certificate and its key. The errors
// of package tls contain nothing of the files.
func fileFault(path, setting string, err error) config.Fault {
	if missing, ok := errors.AsType[*fs.PathError](err); ok {
		path, err = missing.Path, missing.Err
	}
	return config.Fault{File: path, What: setting + ": " + err.Error(), Allowed: "PEM files of a certificate and its key"}
}
