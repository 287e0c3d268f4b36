package contract

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/http"
	"time"
)

// certificateCases check that a provider serves only the front door. They
// need the certificate that the provider trusts: without it, a provider
// admits every caller on purpose.
func certificateCases() []Case {
	once := func(c Case) Case {
		c.Profile, c.Section, c.On, c.Once, c.Side = Certificates, putResource, writable, true, StraightOnly
		return c
	}
	return []Case{
		once(Case{
			ID:   "certificate/none-is-refused",
			Rule: "a call without a client certificate is 403 with an error, or its connection fails",
			Run: func(s *Scene) {
				mistrusts(s, s.withCertificate(nil), showsNone)
			},
		}),
		once(Case{
			ID:   "certificate/an-untrusted-one-is-refused",
			Rule: "a call with a client certificate that is not trusted is 403 with an error, or its connection fails, whatever name it bears",
			Run: func(s *Scene) {
				mistrusts(s, s.withCertificate(counterfeit(s)), showsForged)
			},
		}),
		once(Case{
			ID:   "certificate/an-untrusted-call-does-nothing",
			Rule: "a call that is refused because of its certificate has no effect",
			Run: func(s *Scene) {
				untrusted := s.withCertificate(nil)
				absent := sibling(s.id, "absent")
				s.create(s.id, s.body(s.Type))
				s.prepare(func() { s.get(absent).gone() })
				for _, c := range []call{s.uncertified(http.MethodPut, absent, showsNone), s.uncertified(http.MethodDelete, s.id, showsNone)} {
					if a := s.answered(untrusted, c); a != nil && a.Status < 400 {
						s.prepare(func() { s.fatal(c.String()+" is refused without a certificate", a.String()) })
					}
				}
				s.get(absent).gone()
				s.get(s.id).status(200)
			},
		}),
	}
}

// ownCertificate returns the front door's certificate, nil if the provider is
// shown none.
func (a *Adapter) ownCertificate() *tls.Certificate {
	t := a.transport()
	switch {
	case t == nil || t.TLSClientConfig == nil:
		return nil
	case t.TLSClientConfig.GetClientCertificate != nil:
		own, err := t.TLSClientConfig.GetClientCertificate(&tls.CertificateRequestInfo{})
		if err != nil || len(own.Certificate) == 0 {
			return nil
		}
		return own
	case len(t.TLSClientConfig.Certificates) > 0:
		return &t.TLSClientConfig.Certificates[0]
	}
	return nil
}

// withCertificate returns an adapter that shows another certificate, or none.
// It leaves the case out if the front door has no certificate.
func (s *Scene) withCertificate(c *tls.Certificate) *Adapter {
	if s.Adapter.ownCertificate() == nil {
		s.leaveOut("the front door shows the provider no certificate")
	}
	transport := s.Adapter.transport().Clone()
	transport.DisableKeepAlives = true
	transport.TLSClientConfig.Certificates = nil
	// With GetClientCertificate set, the certificate is sent even if the
	// server does not name its issuer.
	transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if c == nil {
			return &tls.Certificate{}, nil
		}
		return c, nil
	}
	return s.Adapter.withTransport(transport)
}

// counterfeit makes a self-signed certificate with the subject of the front door's own.
func counterfeit(s *Scene) *tls.Certificate {
	var forged *tls.Certificate
	s.prepare(func() {
		own := s.Adapter.ownCertificate()
		if own == nil {
			s.leaveOut("the front door shows the provider no certificate")
		}
		genuine, err := x509.ParseCertificate(own.Certificate[0])
		if err != nil {
			s.fatal("the front door's certificate can be read", err.Error())
		}
		if forged, err = forge(genuine); err != nil {
			s.fatal("a certificate can be made", err.Error())
		}
	})
	return forged
}

// forge makes a self-signed certificate with the contents of another one.
func forge(genuine *x509.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		RawSubject:   genuine.RawSubject,
		DNSNames:     genuine.DNSNames, URIs: genuine.URIs,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// mistrusts expects the provider to refuse the adapter's calls: a read and a write.
func mistrusts(s *Scene, untrusted *Adapter, shown certificate) {
	s.create(s.id, s.body(s.Type))
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		if a := s.answered(untrusted, s.uncertified(method, s.id, shown)); a != nil {
			a.refused(http.StatusForbidden)
		}
	}
}

// answered returns the answer to the adapter's call, nil if there is none: a
// failed handshake is a refusal too.
func (s *Scene) answered(untrusted *Adapter, c call) *Answer {
	a, err := untrusted.send(s.ctx, c)
	if err != nil {
		return nil
	}
	a.s, a.doc = s, decode(a.Body)
	s.last = a
	s.recordStep(a)
	return a
}

// uncertified returns a call that is valid except for its caller's certificate.
func (s *Scene) uncertified(method, id string, shown certificate) call {
	c := call{method: method, target: escape(id) + "?api-version=" + s.Type.version(), region: s.endpoint(id), header: http.Header{}, certificate: shown}
	if method == http.MethodPut {
		c.body = []byte(showFull(s.body(s.Type)))
	}
	return c
}
