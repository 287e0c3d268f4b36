package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net/http"
)

// Identity is how Portico and providers authenticate to each other. It does not change.
// Nil stands for no certificate and the system's authorities.
type Identity struct {
	Authorities *x509.CertPool   // of providers; nil: the system's
	Certificate *tls.Certificate // Portico's own, with its Leaf; nil: none
	// Header is the canonical name of a header that calls carry, and Value the secret in
	// it; "" for none.
	Header, Value string
}

// Identities are that of each provider with one of its own, by its namespace, and under
// "" that of all others.
type Identities map[string]*Identity

// config returns the settings of connections to a host.
func (i *Identity) config(host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if i == nil {
		return c
	}
	c.RootCAs = i.Authorities
	if i.Certificate != nil {
		// With a list of certificates, Go sends only one that fits the authorities that
		// the provider names, or else none. The provider should decide, so Portico
		// always sends its certificate.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.Certificate, nil }
	}
	return c
}

// stamp adds the credential to the headers of a call, which it does not change: they may
// be those of calls to others as well.
func (i *Identity) stamp(h http.Header) http.Header {
	if i == nil || i.Header == "" {
		return h
	}
	stamped := make(http.Header, len(h)+1)
	maps.Copy(stamped, h)
	stamped[i.Header] = []string{i.Value}
	return stamped
}

// leaf returns Portico's own certificate, or nil.
func (i *Identity) leaf() *x509.Certificate {
	if i == nil || i.Certificate == nil {
		return nil
	}
	return i.Certificate.Leaf
}

// identity returns that of calls to the address.
func (c *Client) identity(p *pool) *Identity { return (*c.identities.Load())[p.identity] }

// tlsConfig returns the settings of connections to the address; nil for plain ones.
func (c *Client) tlsConfig(p *pool) *tls.Config {
	if p.base.Scheme != "https" {
		return nil
	}
	return c.identity(p).config(p.base.Hostname())
}

// UseIdentities makes new connections use other identities. Connections of one that has
// changed are closed, those in use when they become idle: the last of them ends once
// its call has, or its time of being idle. An identity is the same if its pointer is.
func (c *Client) UseIdentities(next Identities) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := *c.identities.Swap(&next)
	for _, p := range c.pools {
		identity, stays := next[p.identity]
		if !stays && p.identity != "" {
			continue // its endpoint leaves the map
		}
		if p.identity == "" && p.base.Scheme == "http" {
			continue // it shows nothing
		}
		if identity != before[p.identity] {
			p.transports.Swap(c.newTransports(p)).closeIdle()
		}
	}
}

// named returns the name of an address that is called by an identity.
func named(address, identity string) string {
	if identity == "" {
		return address
	}
	return address + " (" + identity + ")"
}
