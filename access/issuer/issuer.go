// Package issuer authenticates bearer tokens signed by an OpenID Connect issuer. An
// [Issuer] turns a token into a principal; its [Keys] are fetched when they are first
// needed, and outlive both a configuration and the issuer's outages.
//
// No content of a token is used before its signature is verified, with one exception:
// the issuer in the token selects the [Issuer] that verifies it.
package issuer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"portico/access"
	"portico/arm"
)

// maxToken bounds a token in bytes. All headers of a request together may
// hardly be longer.
const maxToken = 16 << 10

// Options describe the accepted tokens of an issuer, and their callers.
type Options struct {
	// URL is the issuer, as tokens and its discovery document name it.
	URL string
	// Audiences lists the accepted audiences: a token must have one of them.
	Audiences []string
	// Algorithms are the accepted signature algorithms, all asymmetric.
	Algorithms []string
	// ClockSkew is the tolerated difference of the issuer's clock.
	ClockSkew time.Duration
	// TenantID is the tenant of all callers; "" if the claim TenantClaim names it.
	TenantID, TenantClaim string
	Claims                ClaimNames
}

// Issuer is the [access.Method] for one issuer's tokens.
type Issuer struct {
	options Options
	keys    *Keys
	known   *access.PrincipalCache
	now     func() time.Time
}

// New returns the method for an issuer's tokens, with that issuer's keys.
func New(o Options, keys *Keys) *Issuer {
	return &Issuer{options: o, keys: keys, known: access.NewPrincipalCache(), now: time.Now}
}

// Name implements [access.Method].
func (i *Issuer) Name() string { return "issuer" }

// Issuer implements [access.IssuerMethod].
func (i *Issuer) Issuer() string { return i.options.URL }

// Named implements [access.IssuerMethod].
func (i *Issuer) Named(c access.Credentials) string {
	if len(c.Token) > maxToken {
		return ""
	}
	return issuerOf(c.Token)
}

// Authenticate implements [access.Method]. It knows the tokens of the issuer.
// A verified token is cached as long as it and its key are valid.
func (i *Issuer) Authenticate(c access.Credentials) (p access.Principal, known bool, refusal *access.Refusal) {
	if c.Token == "" {
		return p, false, nil
	}
	if c.Trail != nil {
		return i.explain(c)
	}
	now := i.now()
	if p, known = i.known.Get(c.Token, now); known && i.keys.has(keyOf(p.Credential), now) {
		return p, true, nil
	}
	if i.Named(c) != i.options.URL {
		return access.Principal{}, false, nil
	}
	p, refusal = i.verify(c.Request.Context(), c.Token, &signature{find: i.keys.find, algorithms: i.options.Algorithms, now: now})
	if refusal != nil {
		return access.Principal{}, true, refusal
	}
	hash := c.Hash()
	p.Credential = credentialPrefix + p.Credential + " " + access.CredentialOf(hash[:])
	i.known.Add(c.Token, p, now)
	return p, true, nil
}

// verify returns the principal of a valid token. Its Credential begins with
// the name of the key.
func (i *Issuer) verify(ctx context.Context, token string, signature *signature) (access.Principal, *access.Refusal) {
	now := signature.now
	verifier := oidc.NewVerifier(i.options.URL, signature, &oidc.Config{
		SupportedSigningAlgs: i.options.Algorithms,
		SkipClientIDCheck:    true, SkipExpiryCheck: true, // both are checked below: several audiences, another skew
	})
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		return access.Principal{}, refuse(err, signature.err)
	}
	var claims claims
	if err := verified.Claims(&claims); err != nil {
		return access.Principal{}, invalid(access.Malformed, "token that cannot be read", err)
	}
	end, skew := verified.Expiry, i.options.ClockSkew
	switch begin, ok := claims.begin(); {
	case !ok || end.Unix() <= 0:
		return access.Principal{}, invalid(access.Claims, "token that does not say how long it is valid", nil)
	case !now.Before(end.Add(skew)):
		return access.Principal{}, access.ExpiredToken(end, now)
	case now.Add(skew).Before(begin):
		return access.Principal{}, invalid(access.Early, "token that is not valid yet", nil)
	case !slices.ContainsFunc(verified.Audience, func(a string) bool { return slices.Contains(i.options.Audiences, a) }):
		return access.Principal{}, invalid(access.Audience, "token for another audience", nil)
	}
	p, missing := i.principal(claims)
	if missing != "" {
		return access.Principal{}, invalid(access.Claims, "token that does not name "+missing, nil)
	}
	p.Credential, p.Expires = signature.key, end.Add(skew).Unix()
	return p, nil
}

// refuse returns the refusal of a token that was not verified: err is the verifier's
// error, and failure the error of the signature's check, if it was made.
func refuse(err, failure error) *access.Refusal {
	switch {
	case errors.Is(failure, errUnavailable), errors.Is(failure, errMustFetch):
		fault := arm.NewError(arm.ServiceUnavailable, "the keys of the issuer of the access token cannot be had").WithCause(failure)
		fault.RetryAfter = arm.OutageRetryAfter
		return &access.Refusal{Error: fault, Result: access.Unavailable}
	case errors.Is(failure, errUnknownKey):
		return invalid(access.UnknownKey, "token that is signed by an unknown key", nil)
	case errors.Is(failure, errSignature):
		return invalid(access.Signature, "token whose signature is wrong", nil)
	}
	return invalid(access.Malformed, "token that cannot be read or that is signed in a way that is not accepted", err)
}

// invalid refuses a token. The cause is for the log.
func invalid(result, what string, cause error) *access.Refusal {
	return &access.Refusal{
		Error:  arm.NewError(arm.InvalidAuthenticationToken).WithCause(cause),
		Result: result, Description: "The authentication failed because of a " + what + ".",
	}
}

// Valid reports whether a token of p would still be accepted. The key does not count for
// a principal that outlasts its token: the issuer may have removed it.
func (i *Issuer) Valid(p access.Principal) bool {
	if p.Issuer != i.options.URL || i.options.TenantID != "" && !arm.EqualFold(p.TenantID, i.options.TenantID) {
		return false
	}
	now := i.now()
	return p.Expires == 0 || now.Unix() < p.Expires && (!i.keys.fetched() || i.keys.has(keyOf(p.Credential), now))
}

// issuerOf returns the issuer in a token in compact form, "" if it is not
// such a token. Nothing has verified the token yet.
func issuerOf(token string) string {
	_, payload, ok := partsOf(token)
	if !ok {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return ""
	}
	var named struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(text, &named) != nil {
		return ""
	}
	return named.Issuer
}

// partsOf returns the header and the payload of a token in compact form.
func partsOf(token string) (header, payload string, ok bool) {
	header, rest, _ := strings.Cut(token, ".")
	payload, signature, found := strings.Cut(rest, ".")
	return header, payload, found && header != "" && signature != "" && !strings.Contains(signature, ".")
}

// credentialPrefix begins a credential's name; the name of the key follows,
// up to the next space.
const credentialPrefix = "key "

// keyOf returns the name of the key that signed a principal's token.
func keyOf(credential string) string {
	key, _, _ := strings.Cut(strings.TrimPrefix(credential, credentialPrefix), " ")
	return key
}
