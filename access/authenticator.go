// Package access authenticates callers. An [Authenticator] turns a request into a
// [Principal]; the principal decides which subscriptions it can see and under which
// identity its calls reach the providers. The decisions are pure: callers pass in the
// data that they need.
package access

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"unsafe"

	"portico/arm"
)

// Authenticator authenticates requests.
type Authenticator interface {
	// Authenticate returns the caller, or the reason for refusing it.
	Authenticate(*http.Request) (Principal, *Refusal)
	// Valid reports whether a principal that was authenticated earlier, maybe
	// by another configuration, would still be authenticated: by the same
	// credential, if that is known.
	Valid(Principal) bool
	// Explain returns what Authenticate would return, with reasons. It fetches
	// issuers' unknown keys only if fetch is set.
	Explain(r *http.Request, fetch bool) Explanation
	// Challenge returns the value of WWW-Authenticate for a refusal.
	Challenge(*Refusal) string
}

// Method is one way to sign in.
type Method interface {
	// Name is the method's name in metrics.
	Name() string
	// Authenticate returns the caller that the credentials belong to. It
	// returns known false for credentials of another method, and a refusal for
	// its own credentials that are not valid.
	Authenticate(Credentials) (p Principal, known bool, refusal *Refusal)
	// Valid reports whether the method would still authenticate p.
	Valid(p Principal) bool
}

// Credentials holds a request's proofs of identity.
type Credentials struct {
	Request *http.Request
	// Token is the bearer token, "" if there is none.
	Token string
	// Trail collects a method's findings for an explanation; the method then
	// caches nothing. It is nil for an ordinary request.
	Trail *Trail
}

// Hash returns the token's SHA-256. A look-up by the hash reveals nothing
// about the token by its duration.
func (c Credentials) Hash() [sha256.Size]byte {
	return sha256.Sum256(bytesOf(c.Token))
}

// bytesOf returns the bytes of a credential without a copy. Nothing may write to them.
func bytesOf(credential string) []byte {
	return unsafe.Slice(unsafe.StringData(credential), len(credential))
}

// Refusal is the reason for not authenticating a request.
type Refusal struct {
	*arm.Error
	// Result is the reason in metrics.
	Result string
	// Description is the reason for the client. It quotes nothing that the client sent.
	Description string
}

// The results of signing in, as metrics name them.
const (
	Accepted      = "accepted"
	Missing       = "missing"        // no credential
	Unknown       = "unknown"        // a credential that no method knows
	UnknownIssuer = "unknown_issuer" // a token that names an issuer that no method knows
	Malformed     = "malformed"      // a token that cannot be read
	Expired       = "expired"        // a token that has expired
	Early         = "early"          // a token that is not valid yet
	Audience      = "audience"       // a token for another service
	Signature     = "signature"      // a token that its issuer has not signed
	UnknownKey    = "unknown_key"    // a token signed by a key that its issuer does not publish
	Claims        = "claims"         // a token whose claims do not identify a caller
	Revoked       = "revoked"        // a certificate that its authority has revoked
	Unavailable   = "unavailable"    // the issuer's keys or its revocation list are not available
)

// Methods authenticates by several methods: the first that knows a credential decides.
type Methods struct {
	methods   []Method
	authority string
	metrics   *Metrics
	accepted  []counter      // by method
	foreigns  *ForeignTokens // nil: they are not logged
}

// NewMethods returns an authenticator that asks the methods in this order.
// authority is the URI of the token issuer, for challenges.
func NewMethods(authority string, metrics *Metrics, methods ...Method) *Methods {
	m := &Methods{methods: methods, authority: authority, metrics: metrics}
	for _, method := range methods {
		m.accepted = append(m.accepted, metrics.counterOf(method.Name(), Accepted))
	}
	return m
}

// Reporting makes m log the issuers of tokens that are refused because of
// their issuer, and returns m.
func (m *Methods) Reporting(f *ForeignTokens) *Methods {
	m.foreigns = f
	return m
}

// Authenticate asks the methods in order.
func (m *Methods) Authenticate(r *http.Request) (Principal, *Refusal) {
	c, unreadable := credentialsOf(r)
	by, p, refusal := m.authenticate(c, unreadable)
	switch {
	case by < 0:
		m.metrics.counterOf(noMethod, refusal.Result).Inc()
		if refusal.Result == UnknownIssuer && m.foreigns != nil {
			m.foreigns.recordRefused(m.foreignIssuerOf(c))
		}
	case refusal != nil:
		m.metrics.counterOf(m.methods[by].Name(), refusal.Result).Inc()
	default:
		m.accepted[by].Inc()
	}
	return p, refusal
}

// authenticate returns the verdict of the first method that knows the credential,
// and its index; by is -1 if no method knows it. unreadable is the refusal
// for an unknown credential, or nil.
func (m *Methods) authenticate(c Credentials, unreadable *Refusal) (by int, p Principal, refusal *Refusal) {
	for i, method := range m.methods {
		p, known, refusal := method.Authenticate(c)
		switch {
		case !known:
			continue
		case refusal != nil:
			return i, Principal{}, refusal
		}
		return i, p, nil
	}
	if unreadable != nil {
		return -1, Principal{}, unreadable
	}
	if named, _ := m.foreignIssuerOf(c); named != "" {
		return -1, Principal{}, foreignIssuer()
	}
	return -1, Principal{}, &Refusal{arm.NewError(arm.InvalidAuthenticationToken), Unknown, "The authentication failed because of an invalid token."}
}

// credentialsOf reads the credentials of a request. Without a readable token,
// it also returns the refusal for the case that no method knows the request.
func credentialsOf(r *http.Request) (Credentials, *Refusal) {
	c := Credentials{Request: r}
	sent := r.Header["Authorization"]
	if len(sent) == 0 {
		return c, &Refusal{arm.NewError(arm.AuthenticationFailed), Missing, "The authentication failed because of missing 'Authorization' header."}
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	token = strings.TrimSpace(token)
	if len(sent) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return c, &Refusal{arm.NewError(arm.InvalidAuthenticationToken), Malformed, "The authentication failed because of an invalid token."}
	}
	c.Token = token
	return c, nil
}

// Valid reports whether a method would still authenticate p.
func (m *Methods) Valid(p Principal) bool {
	for _, method := range m.methods {
		if method.Valid(p) {
			return true
		}
	}
	return false
}

// Challenge returns the authority and the fault, as ARM does.
func (m *Methods) Challenge(refusal *Refusal) string {
	return `Bearer authorization_uri="` + m.authority + `", error="invalid_token", error_description="` + refusal.Description + `"`
}

// Anyone authenticates every request as one fixed principal that belongs to every
// tenant. It is for listeners that only this machine can reach.
type Anyone struct{}

// anyone is the object id of the fixed principal.
const anyone = "00000000-0000-0000-0000-00000000a110"

// Authenticate returns the fixed principal.
func (Anyone) Authenticate(*http.Request) (Principal, *Refusal) { return fixed(), nil }

func fixed() Principal { return Principal{ObjectID: anyone, Name: "anyone@localhost", AnyTenant: true} }

// Valid reports whether p is the fixed principal.
func (Anyone) Valid(p Principal) bool { return p.same(fixed()) }

// Challenge returns "": no request is refused.
func (Anyone) Challenge(*Refusal) string { return "" }
