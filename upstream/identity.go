package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net/http"
)

// Identity is the mutual authentication of Portico and providers. It is
// immutable. Nil stands for no certificate and the system's authorities.
type Identity struct {
	Authorities *x509.CertPool   // of providers; nil: the system's
	Certificate *tls.Certificate // Portico's own, with its Leaf; nil: none
	// Header is the canonical name of a header in calls, and Value the secret
	// in it; "" for none.
	Header, Value string
}

// Identities maps the namespaces of providers with their own identity to it,
// and "" to the identity for all others.
type Identities map[string]*Identity

// config returns the settings of connections to a host.
func (i *Identity) config(host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if i == nil {
		return c
	}
	c.RootCAs = i.Authorities
	if i.Certificate != nil {
		// With a list of certificates, Go sends only one that matches the
		// authorities named by the provider, or else none. The provider should
		// decide, so Portico always sends its certificate.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.Certificate, nil }
	}
	return c
}

// stamp returns a copy of a call's headers with the credential. It does not
// change the headers, which other calls may share.
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

// identity returns the identity of calls to the address.
func (c *Client) identity(p *pool) *Identity { return (*c.identities.Load())[p.identity] }

// tlsConfig returns the settings of connections to the address; nil for plain ones.
func (c *Client) tlsConfig(p *pool) *tls.Config {
	if p.base.Scheme != "https" {
		return nil
	}
	return c.identity(p).config(p.base.Hostname())
}

// UseIdentities makes new connections use other identities. Connections with a changed
// identity are closed, those in use when they become idle: the last one closes after its
// call, or after its idle timeout. An identity is unchanged if its pointer is.
func (c *Client) UseIdentities(next Identities) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := *c.identities.Swap(&next)
	for _, p := range c.pools {
		identity, stays := next[p.identity]
		if !stays && p.identity != "" {
			continue // its endpoint has left the map
		}
		if p.identity == "" && p.base.Scheme == "http" {
			continue // it has no certificate
		}
		if identity != before[p.identity] {
			p.transports.Swap(c.newTransports(p)).closeIdle()
		}
	}
}

// addressName returns the name of an address that is called with an identity.
func addressName(address, identity string) string {
	if identity == "" {
		return address
	}
	return address + " (" + identity + ")"
}
