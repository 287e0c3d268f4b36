package access

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"portico/arm"
)

// Authenticator authenticates requests. The error is a 401; its challenge goes out with
// it.
type Authenticator interface {
	Authenticate(*http.Request) (Principal, *arm.Error)
	// Valid reports whether a principal that was authenticated earlier, maybe by another
	// configuration, would still be: by the same credential, if that is known.
	Valid(Principal) bool
	// Challenge is the value of WWW-Authenticate that accompanies a refusal.
	Challenge(refusal *arm.Error) string
}

// Anyone authenticates every request as one fixed principal that belongs to every
// tenant. It is for listeners that only this machine can reach.
type Anyone struct{}

// anyone is the object id of the fixed principal.
const anyone = "00000000-0000-0000-0000-00000000a110"

// Authenticate never refuses.
func (Anyone) Authenticate(*http.Request) (Principal, *arm.Error) { return fixed(), nil }

func fixed() Principal { return Principal{ObjectID: anyone, Name: "anyone@localhost", AnyTenant: true} }

// Valid reports whether p is the fixed principal.
func (Anyone) Valid(p Principal) bool { return p.same(fixed()) }

// Challenge is never called for.
func (Anyone) Challenge(*arm.Error) string { return "" }

// Tokens authenticates static bearer tokens. It keeps only their SHA-256 and looks
// tokens up by that: timing reveals nothing about a token.
type Tokens struct {
	principals map[[sha256.Size]byte]Principal
	authority  string
}

// NewTokens returns an authenticator for principals, keyed by the lower-case
// hexadecimal SHA-256 of their tokens. authority is the URI that issues tokens; the
// challenge names it.
func NewTokens(principals map[string]Principal, authority string) (*Tokens, error) {
	t := &Tokens{principals: make(map[[sha256.Size]byte]Principal, len(principals)), authority: authority}
	for sum, principal := range principals {
		raw, err := hex.DecodeString(sum)
		if err != nil || len(raw) != sha256.Size {
			return nil, fmt.Errorf("%q is no SHA-256 in hexadecimal", sum)
		}
		if principal.TenantID == "" || principal.AnyTenant {
			return nil, fmt.Errorf("the token %s belongs to no tenant", sum)
		}
		principal.Credential = credential(raw)
		t.principals[[sha256.Size]byte(raw)] = principal
	}
	return t, nil
}

// Authenticate takes the bearer token of the Authorization header.
func (t *Tokens) Authenticate(r *http.Request) (Principal, *arm.Error) {
	sent := r.Header["Authorization"]
	if len(sent) == 0 {
		return Principal{}, arm.NewError(arm.AuthenticationFailed)
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	if len(sent) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return Principal{}, arm.NewError(arm.InvalidAuthenticationToken)
	}
	principal, known := t.principals[sha256.Sum256([]byte(strings.TrimSpace(token)))]
	if !known {
		return Principal{}, arm.NewError(arm.InvalidAuthenticationToken)
	}
	return principal, nil
}

// credential identifies a token by a hash of its hash, which does not reveal the
// latter.
func credential(sum []byte) string {
	name := sha256.Sum256(append([]byte("credential "), sum...))
	return hex.EncodeToString(name[:16])
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

// Challenge names the authority and the fault, as ARM does.
func (t *Tokens) Challenge(refusal *arm.Error) string {
	description := "The authentication failed because of an invalid token."
	if refusal.Code == arm.AuthenticationFailed {
		description = "The authentication failed because of missing 'Authorization' header."
	}
	return fmt.Sprintf(`Bearer authorization_uri="%s", error="invalid_token", error_description="%s"`, t.authority, description)
}
