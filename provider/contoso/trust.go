package contoso

import (
	"crypto/x509"
	"net/http"
)

// untrusted returns the answer to a front door that has not shown a certificate of the
// trusted authorities. This is the only use of 403 (resource reference); the code
// distinguishes it from providers that use the status for more.
func untrusted(why string) *failure {
	return fail(http.StatusForbidden, "UntrustedClientCertificate", "The client certificate is not trusted: %s.", why)
}

// trusts refuses a front door that may not call. The listener requests a certificate but
// does not verify it, because a failed handshake would have no answer.
func (p *Provider) trusts(r *http.Request) error {
	if p.clients == nil {
		return nil
	}
	shows := r.TLS != nil && len(r.TLS.PeerCertificates) > 0
	if shows && p.breaks[certificateAny] || !shows && p.breaks[certificateNotRequired] {
		return nil
	}
	if !shows {
		return untrusted("there is none")
	}
	shown := r.TLS.PeerCertificates
	intermediates := x509.NewCertPool()
	for _, c := range shown[1:] {
		intermediates.AddCert(c)
	}
	now := p.now()
	if now.Before(shown[0].NotBefore) || now.After(shown[0].NotAfter) {
		return untrusted("it is not valid at this time")
	}
	if _, err := shown[0].Verify(x509.VerifyOptions{
		Roots: p.clients, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return untrusted("it comes from no authority that the provider trusts")
	}
	return nil
}
