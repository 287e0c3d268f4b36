package access

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unsafe"

	"portico/arm"
	"portico/internal/pemfile"
)

// CertificateOwner is the owner of client certificates with this subject or
// this alternative name; the other one is empty.
type CertificateOwner struct {
	// Subject is the whole subject.
	Subject pemfile.Subject
	// SAN is a DNS name, a URI, an e-mail address or an IP address.
	SAN       string
	Principal Principal
}

// Certificates authenticates by the connection's client certificate, which
// TLS has verified. It refuses certificates of an authority that is no longer
// configured, also on connections that were made before.
type Certificates struct {
	authorities []*x509.Certificate
	owners      []CertificateOwner
	revocations *Revocations
	known       *PrincipalCache
	now         func() time.Time
}

// NewCertificates returns the method for certificates that the authorities have signed
// and not revoked. With nil revocations, no certificate counts as revoked.
func NewCertificates(authorities []*x509.Certificate, owners []CertificateOwner, revocations *Revocations) *Certificates {
	return &Certificates{authorities: authorities, owners: owners, revocations: revocations, known: NewPrincipalCache(), now: time.Now}
}

// Name implements [Method].
func (c *Certificates) Name() string { return "certificate" }

// Authenticate implements [Method]. It refuses a known certificate that has
// expired since the connection was made.
func (c *Certificates) Authenticate(sent Credentials) (p Principal, known bool, refusal *Refusal) {
	state := sent.Request.TLS
	if state == nil || len(state.VerifiedChains) == 0 {
		return p, false, nil
	}
	authority := c.authorityOf(state.VerifiedChains)
	if authority == nil {
		return p, false, nil
	}
	leaf, now := state.VerifiedChains[0][0], c.now()
	raw := unsafe.String(unsafe.SliceData(leaf.Raw), len(leaf.Raw)) // nothing writes to these bytes
	p, known = c.known.Get(raw, now)
	if !known {
		if p, known = c.ownerOf(leaf); !known {
			refusal = refuseUnowned(sent)
			return Principal{}, refusal != nil, refusal
		}
		hash := sha256.Sum256(leaf.Raw)
		p.Credential, p.Expires = signer(authority)+CredentialOf(hash[:])+serialSuffix(state.VerifiedChains[0]), leaf.NotAfter.Unix()
		c.known.Add(raw, p, now)
	}
	if p.expired(now) {
		return Principal{}, true, expired(time.Unix(p.Expires, 0), now, "client certificate")
	}
	switch c.revocations.statusOfChains(state.VerifiedChains, now) {
	case revoked:
		return Principal{}, true, &Refusal{
			arm.NewError(arm.InvalidAuthenticationToken), Revoked, "The authentication failed because the client certificate was revoked.",
		}
	case unlisted:
		fault := arm.NewError(arm.ServiceUnavailable, "no list says whether the client certificate was revoked")
		fault.RetryAfter = arm.OutageRetryAfter
		return Principal{}, true, &Refusal{Error: fault, Result: Unavailable}
	case notRevoked:
	}
	return p, true, nil
}

// authorityOf returns the configured authority of a chain, nil if there is none.
func (c *Certificates) authorityOf(chains [][]*x509.Certificate) *x509.Certificate {
	for _, chain := range chains {
		root := chain[len(chain)-1]
		for _, authority := range c.authorities {
			if authority.Equal(root) {
				return authority
			}
		}
	}
	return nil
}

// refuseUnowned refuses the certificate of an unknown caller, unless the
// request also has a token.
func refuseUnowned(sent Credentials) *Refusal {
	if len(sent.Request.Header["Authorization"]) > 0 {
		return nil
	}
	const says = "The authentication failed because the client certificate is that of no known caller."
	return &Refusal{arm.NewError(arm.InvalidAuthenticationToken).WithMessage(says), Unknown, says}
}

func (c *Certificates) ownerOf(leaf *x509.Certificate) (Principal, bool) {
	subject := pemfile.SubjectOf(leaf.RawSubject)
	for _, owner := range c.owners {
		if owner.Subject.Equal(subject) || owner.SAN != "" && hasName(leaf, owner.SAN) {
			return owner.Principal, true
		}
	}
	return Principal{}, false
}

// hasName reports whether name is one of the certificate's alternative names.
// DNS names match without case, and wildcards do not match.
func hasName(leaf *x509.Certificate, name string) bool {
	for _, dns := range leaf.DNSNames {
		if strings.EqualFold(dns, name) && !strings.HasPrefix(dns, "*") {
			return true
		}
	}
	for _, uri := range leaf.URIs {
		if uri.String() == name {
			return true
		}
	}
	if slices.Contains(leaf.EmailAddresses, name) {
		return true
	}
	for _, ip := range leaf.IPAddresses {
		if ip.String() == name {
			return true
		}
	}
	return false
}

// Valid reports whether p's certificate has not expired and is not revoked, and its
// authority and its owner are still configured.
func (c *Certificates) Valid(p Principal) bool {
	if p.Credential == "" || p.expired(c.now()) {
		return false
	}
	signed := false
	for _, authority := range c.authorities {
		signed = signed || strings.HasPrefix(p.Credential, signer(authority))
	}
	if !signed {
		return false
	}
	if _, serial, _ := strings.Cut(p.Credential, serialMark); c.revocations.statusOf(serial, c.now()) != notRevoked {
		return false
	}
	for _, owner := range c.owners {
		if owner.Principal.same(p) {
			return true
		}
	}
	return false
}

// signer returns the prefix of the names of credentials that an authority has signed.
func signer(authority *x509.Certificate) string {
	sum := sha256.Sum256(authority.Raw)
	return "certificate " + hex.EncodeToString(sum[:16]) + " "
}

// serialMark precedes the serial number in a credential's name; revocations look for it.
const serialMark = " by "

// serialSuffix returns serialMark and the serial number of a chain's first certificate.
func serialSuffix(chain []*x509.Certificate) string {
	if len(chain) < 2 {
		return ""
	}
	return serialMark + serialOf(chain[0], chain[1])
}

// expired refuses a credential that was valid until end.
func expired(end, now time.Time, what string) *Refusal {
	const form = "1/2/2006 3:04:05 PM"
	return &Refusal{arm.NewError(arm.ExpiredAuthenticationToken, end.UTC().Format(form), now.UTC().Format(form)), Expired,
		"The authentication failed because the " + what + " has expired."}
}

// ExpiredToken refuses a token that was valid until end.
func ExpiredToken(end, now time.Time) *Refusal { return expired(end, now, "token") }
