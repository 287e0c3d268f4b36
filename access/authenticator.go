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
	// Authenticate returns the caller, or why there is none.
	Authenticate(*http.Request) (Principal, *Refusal)
	// Valid reports whether a principal that was authenticated earlier, maybe by another
	// configuration, would still be: by the same credential, if that is known.
	Valid(Principal) bool
	// Explain says what Authenticate would return, and why. It fetches keys of issuers
	// that are not known if fetch says so.
	Explain(r *http.Request, fetch bool) Explanation
	// Challenge is the value of WWW-Authenticate that accompanies a refusal.
	Challenge(*Refusal) string
}

// Method is one way to sign in.
type Method interface {
	// Name is the method's name in metrics.
	Name() string
	// Authenticate returns the caller to whom the method knows the credentials to belong.
	// Credentials that it does not know are another method's: then known is false. It
	// refuses those that it knows and that are not valid.
	Authenticate(Credentials) (p Principal, known bool, refusal *Refusal)
	// Valid reports whether the method would still authenticate p.
	Valid(p Principal) bool
}

// Credentials are what a request brings to prove whose it is.
type Credentials struct {
	Request *http.Request
	// Token is the bearer token, "" if there is none.
	Token string
	// Trail takes what a method finds out, for an explanation: then the method remembers
	// nothing. Of a request that is authenticated it is nil.
	Trail *Trail
}

// Hash returns the token's SHA-256. Looked up by it, a token reveals nothing by the time
// that the look-up takes.
func (c Credentials) Hash() [sha256.Size]byte {
	return sha256.Sum256(bytesOf(c.Token))
}

// bytesOf returns the bytes of a credential without a copy. Nothing may write to them.
func bytesOf(credential string) []byte {
	return unsafe.Slice(unsafe.StringData(credential), len(credential))
}

// Refusal is why a request is not authenticated.
type Refusal struct {
	*arm.Error
	// Result is the reason in metrics.
	Result string
	// Description says the reason to the client. It quotes nothing that the client sent.
	Description string
}

// The results of signing in, as metrics have them.
const (
	Accepted      = "accepted"
	Missing       = "missing"        // no credential
	Unknown       = "unknown"        // a credential that no method knows
	UnknownIssuer = "unknown_issuer" // a token that names an issuer that no method knows
	Malformed     = "malformed"      // a token that cannot be read
	Expired       = "expired"        // one whose time is over
	Early         = "early"          // one whose time has not come
	Audience      = "audience"       // one for another service
	Signature     = "signature"      // one that its issuer has not signed
	UnknownKey    = "unknown_key"    // one that is signed by a key that its issuer does not show
	Claims        = "claims"         // one that does not say whose it is
	Revoked       = "revoked"        // a certificate that its authority has revoked
	Unavailable   = "unavailable"    // the issuer's keys, or a list of what it has revoked, cannot be had
)

// Methods authenticates by several ways to sign in: the first that knows a credential
// decides.
type Methods struct {
	methods   []Method
	authority string
	metrics   *Metrics
	accepted  []counter      // of each method
	foreigns  *ForeignTokens // nil: they are not logged
}

// NewMethods returns an authenticator by methods, which are asked in this order.
// authority is the URI that issues tokens; challenges name it.
func NewMethods(authority string, metrics *Metrics, methods ...Method) *Methods {
	m := &Methods{methods: methods, authority: authority, metrics: metrics}
	for _, method := range methods {
		m.accepted = append(m.accepted, metrics.of(method.Name(), Accepted))
	}
	return m
}

// Reporting sets f, which logs the issuers of tokens that are refused for their issuer, and
// returns m.
func (m *Methods) Reporting(f *ForeignTokens) *Methods {
	m.foreigns = f
	return m
}

// Authenticate asks each method.
func (m *Methods) Authenticate(r *http.Request) (Principal, *Refusal) {
	c, unreadable := credentialsOf(r)
	by, p, refusal := m.judge(c, unreadable)
	switch {
	case by < 0:
		m.metrics.of(noMethod, refusal.Result).Inc()
		if refusal.Result == UnknownIssuer && m.foreigns != nil {
			m.foreigns.refused(m.foreign(c))
		}
	case refusal != nil:
		m.metrics.of(m.methods[by].Name(), refusal.Result).Inc()
	default:
		m.accepted[by].Inc()
	}
	return p, refusal
}

// judge returns what the first method says that knows the credential; by is that method,
// or -1. unreadable is the refusal for when no method knows it, if that is known.
func (m *Methods) judge(c Credentials, unreadable *Refusal) (by int, p Principal, refusal *Refusal) {
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
	if named, _ := m.foreign(c); named != "" {
		return -1, Principal{}, foreignIssuer()
	}
	return -1, Principal{}, &Refusal{arm.NewError(arm.InvalidAuthenticationToken), Unknown, "The authentication failed because of an invalid token."}
}

// credentialsOf reads what a request brings. Without a readable token, it also returns
// the refusal for when no method needs one.
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

// Challenge names the authority and the fault, as ARM does.
func (m *Methods) Challenge(refusal *Refusal) string {
	return `Bearer authorization_uri="` + m.authority + `", error="invalid_token", error_description="` + refusal.Description + `"`
}

// Anyone authenticates every request as one fixed principal that belongs to every
// tenant. It is for listeners that only this machine can reach.
type Anyone struct{}

// anyone is the object id of the fixed principal.
const anyone = "00000000-0000-0000-0000-00000000a110"

// Authenticate never refuses.
func (Anyone) Authenticate(*http.Request) (Principal, *Refusal) { return fixed(), nil }

func fixed() Principal { return Principal{ObjectID: anyone, Name: "anyone@localhost", AnyTenant: true} }

// Valid reports whether p is the fixed principal.
func (Anyone) Valid(p Principal) bool { return p.same(fixed()) }

// Challenge is never called for.
func (Anyone) Challenge(*Refusal) string { return "" }
