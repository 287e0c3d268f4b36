package contoso

import (
	"crypto/x509"
	"net/http"
)

// untrusted answers a front door that has not shown a certificate of the authorities
// that the provider trusts. This is the one use of 403 (resource reference); its code
// distinguishes it from the 403 of a provider that uses the status for more.
func untrusted(why string) *failure {
	return fail(http.StatusForbidden, "UntrustedClientCertificate", "The client certificate is not trusted: %s.", why)
}

// trusts reports whether the front door may call at all. The listener has asked for a
// certificate and not judged it, or the handshake would have failed without an answer.
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
