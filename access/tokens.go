package access

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Tokens authenticates static bearer tokens. It keeps only their SHA-256 and looks
// tokens up by that: timing reveals nothing about a token.
type Tokens struct {
	principals map[[sha256.Size]byte]Principal
}

// NewTokens returns the method for principals, keyed by the lower-case hexadecimal
// SHA-256 of their tokens.
func NewTokens(principals map[string]Principal) (*Tokens, error) {
	t := &Tokens{principals: make(map[[sha256.Size]byte]Principal, len(principals))}
	for sum, principal := range principals {
		raw, err := hex.DecodeString(sum)
		if err != nil || len(raw) != sha256.Size {
			return nil, fmt.Errorf("%q is not a SHA-256 in hexadecimal", sum)
		}
		if principal.TenantID == "" || principal.AnyTenant {
			return nil, fmt.Errorf("the token %s belongs to no tenant", sum)
		}
		principal.Credential, principal.caller = CredentialOf(raw), principal.Caller()
		t.principals[[sha256.Size]byte(raw)] = principal
	}
	return t, nil
}

// Name implements [Method].
func (t *Tokens) Name() string { return "token" }

// Authenticate implements [Method]. It refuses nothing.
func (t *Tokens) Authenticate(c Credentials) (p Principal, known bool, refusal *Refusal) {
	if c.Token == "" {
		return p, false, nil
	}
	p, known = t.principals[c.Hash()]
	return p, known, nil
}

// Valid reports whether one of the principal's tokens is still configured.
func (t *Tokens) Valid(p Principal) bool {
	for _, known := range t.principals {
		if known.same(p) && (p.Credential == "" || p.Credential == known.Credential) {
			return true
		}
	}
	return false
}

// CredentialOf names a credential by a hash of its hash, which does not reveal the
// latter.
func CredentialOf(sum []byte) string {
	name := sha256.Sum256(append([]byte("credential "), sum...))
	return hex.EncodeToString(name[:16])
}
