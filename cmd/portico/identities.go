package main

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"portico/config"
	"portico/internal/meter"
	"portico/internal/pemfile"
	"portico/regions"
	"portico/upstream"
)

// upstreamIdentities holds the identities for calls to providers, and the contents of
// their files.
type upstreamIdentities struct {
	identities upstream.Identities
	files      map[string]identityFiles // by namespace, like identities
}

type identityFiles struct {
	authorities []*x509.Certificate
	chain       [][]byte
	header      string
	credential  string
}

func (f identityFiles) same(other identityFiles) bool {
	return f.header == other.header && f.credential == other.credential && slices.EqualFunc(f.authorities, other.authorities, (*x509.Certificate).Equal) &&
		slices.EqualFunc(f.chain, other.chain, bytes.Equal)
}

// readUpstreamIdentities reads the identities of a configuration. If the files of one
// have not changed, it keeps the identity of before, and so its connections.
func readUpstreamIdentities(c *config.Config, before upstreamIdentities) (upstreamIdentities, error) {
	t := upstreamIdentities{upstream.Identities{}, map[string]identityFiles{}}
	if err := t.read("", "upstream.tls", c.Upstream.TLS, regions.Credential{}, before); err != nil {
		return t, err
	}
	for _, p := range c.Map.Providers() {
		own := p.TLS()
		if own == (regions.TLS{}) && p.Credential() == (regions.Credential{}) {
			continue
		}
		own.CA = cmp.Or(own.CA, c.Upstream.TLS.CA)
		if own.Cert == "" {
			own.Cert, own.Key = c.Upstream.TLS.Cert, c.Upstream.TLS.Key
		}
		if err := t.read(p.Namespace, "tls of provider "+p.Namespace, own, p.Credential(), before); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t upstreamIdentities) read(namespace, setting string, from regions.TLS, credential regions.Credential, before upstreamIdentities) error {
	var files identityFiles
	identity := &upstream.Identity{}
	if from.CA != "" {
		authorities, err := pemfile.Certificates(from.CA)
		if err != nil {
			return config.Faults{fileFault(from.CA, setting+": ca", err)}
		}
		files.authorities, identity.Authorities = authorities, pemfile.PoolOf(authorities)
	}
	if from.Cert != "" {
		pair, err := pemfile.Pair(from.Cert, from.Key)
		if err != nil {
			return config.Faults{fileFault(from.Cert, setting, err)}
		}
		files.chain, identity.Certificate = pair.Certificate, pair
	}
	if credential.File != "" {
		value, err := readCredential(credential.File, "credential of provider "+namespace)
		if err != nil {
			return err
		}
		files.header, files.credential = credential.Header, value
		identity.Header, identity.Value = credential.Header, value
	}
	if known, ok := before.files[namespace]; ok && known.same(files) {
		identity = before.identities[namespace]
	}
	t.files[namespace], t.identities[namespace] = files, identity
	return nil
}

// longestCredential bounds the value of a header.
const longestCredential = 4 << 10

// readCredential returns the value of a header from a file.
func readCredential(path, setting string) (string, error) {
	text, err := os.ReadFile(path)
	value := strings.TrimSpace(string(text))
	if err == nil && !isHeaderValue(value) {
		err = errors.New("its content is not valid as the value of a header")
	}
	if err != nil {
		fault := fileFault(path, setting, err)
		fault.Allowed = "a file with one line of visible ASCII, such as Bearer and a token"
		return "", config.Faults{fault}
	}
	return value, nil
}

// isHeaderValue reports whether a value is visible ASCII, and not too long.
func isHeaderValue(value string) bool {
	return value != "" && len(value) <= longestCredential && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// showExpiries reports when the certificates that providers see expire.
func (t upstreamIdentities) showExpiries(expiries *meter.Certificates) {
	ends := make(map[string]time.Time, len(t.identities))
	for namespace, identity := range t.identities {
		ends[cmp.Or(namespace, meter.UpstreamCertificate)] = endOf(identity.Certificate)
	}
	expiries.UseTowards(ends)
}
