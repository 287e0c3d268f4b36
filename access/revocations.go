package access

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Revocations holds the revocation lists of authorities, one for each. A nil
// Revocations revokes nothing.
type Revocations struct {
	lists map[string]revocationList // by the issuer's key
	ended func(issuer string, at time.Time)
}

type revocationList struct {
	issuer  string
	ends    time.Time
	revoked map[string]bool // serial numbers
}

// NewRevocations returns the lists, each signed by one of authorities; every authority
// must have one. It refuses incomplete lists: deltas or parts. ended, if not nil, is
// called for a certificate that is refused because its issuer's list has expired.
func NewRevocations(lists []*x509.RevocationList, authorities []*x509.Certificate, ended func(issuer string, at time.Time)) (*Revocations, error) {
	r := &Revocations{lists: map[string]revocationList{}, ended: ended}
	newest := map[string]time.Time{}
	for _, list := range lists {
		if err := checkComplete(list); err != nil {
			return nil, err
		}
		signed := false
		for _, authority := range authorities {
			if list.CheckSignatureFrom(authority) != nil {
				continue
			}
			signed = true
			key := issuerKey(authority)
			if at, known := newest[key]; known && !list.ThisUpdate.After(at) {
				continue
			}
			newest[key], r.lists[key] = list.ThisUpdate, listOf(list)
		}
		if !signed {
			return nil, fmt.Errorf("the list of %q is signed by none of the authorities", list.Issuer)
		}
	}
	for _, authority := range authorities {
		if _, ok := r.lists[issuerKey(authority)]; !ok {
			return nil, fmt.Errorf("it holds no list of the authority %q", authority.Subject)
		}
	}
	return r, nil
}

// checkComplete refuses a list that does not cover all certificates of its
// issuer: the extensions that restrict a list are critical.
func checkComplete(list *x509.RevocationList) error {
	for _, e := range list.Extensions {
		if e.Critical {
			return fmt.Errorf("the list of %q has the extension %v, which is not understood", list.Issuer, e.Id)
		}
	}
	for _, entry := range list.RevokedCertificateEntries {
		for _, e := range entry.Extensions {
			if e.Critical {
				return fmt.Errorf("an entry of the list of %q has the extension %v, which is not understood", list.Issuer, e.Id)
			}
		}
	}
	if list.NextUpdate.IsZero() {
		return errors.New("a list does not say when it ends")
	}
	return nil
}

func listOf(list *x509.RevocationList) revocationList {
	l := revocationList{list.Issuer.String(), list.NextUpdate, make(map[string]bool, len(list.RevokedCertificateEntries))}
	for _, entry := range list.RevokedCertificateEntries {
		l.revoked[entry.SerialNumber.Text(16)] = true
	}
	return l
}

// issuerKey identifies an authority by its key.
func issuerKey(authority *x509.Certificate) string {
	sum := sha256.Sum256(authority.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:16])
}

// serialOf identifies a certificate by its issuer and its serial number.
func serialOf(certificate, issuer *x509.Certificate) string {
	return issuerKey(issuer) + ":" + certificate.SerialNumber.Text(16)
}

// certificateStatus is a certificate's status according to the lists.
type certificateStatus uint8

const (
	notRevoked certificateStatus = iota
	revoked                      // by its issuer
	unlisted                     // its issuer has no list, or the list has expired
)

// statusOf returns the status of a certificate, by its serialOf.
func (r *Revocations) statusOf(serial string, now time.Time) certificateStatus {
	if r == nil {
		return notRevoked
	}
	issuer, number, ok := strings.Cut(serial, ":")
	list, listed := r.lists[issuer]
	switch {
	case !ok || !listed:
		return unlisted
	case list.revoked[number]:
		return revoked
	case now.After(list.ends):
		if r.ended != nil {
			r.ended(list.issuer, list.ends)
		}
		return unlisted
	}
	return notRevoked
}

// statusOfChains returns the status of a certificate's chains: revoked if any
// certificate in them is, otherwise the best status of a chain.
func (r *Revocations) statusOfChains(chains [][]*x509.Certificate, now time.Time) certificateStatus {
	if r == nil {
		return notRevoked
	}
	best := unlisted
	for _, chain := range chains {
		all := notRevoked
		for i := range len(chain) - 1 {
			switch r.statusOf(serialOf(chain[i], chain[i+1]), now) {
			case revoked:
				return revoked
			case unlisted:
				all = unlisted
			case notRevoked:
			}
		}
		if all == notRevoked {
			best = notRevoked
		}
	}
	return best
}
