package issuer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"portico/access"
)

// explain is like Authenticate, for an explanation: it caches nothing,
// fetches keys only if the trail permits it, and records its reasons there.
func (i *Issuer) explain(c access.Credentials) (p access.Principal, known bool, refusal *access.Refusal) {
	t := c.Trail
	t.Issuers = append(t.Issuers, i.options.URL)
	if t.Issuer = i.Named(c); t.Issuer != i.options.URL {
		return p, false, nil
	}
	s := &signature{find: i.keys.findWithoutFetch, algorithms: i.options.Algorithms, now: i.now()}
	if t.Fetches {
		s.find = i.keys.find
	}
	p, refusal = i.verify(c.Request.Context(), c.Token, s)
	t.MustFetch = errors.Is(s.err, errMustFetch)
	t.Advice = i.advice(readUnverified(c.Token), refusal, s)
	return p, true, refusal
}

// unverifiedToken is the content of a token, which nothing has verified.
type unverifiedToken struct {
	KeyID     string `json:"kid"`
	Algorithm string `json:"alg"`
	Type      any    `json:"typ"`

	claims claims
}

func readUnverified(token string) (s unverifiedToken) {
	header, payload, _ := partsOf(token)
	if text, err := base64.RawURLEncoding.DecodeString(header); err == nil {
		_ = json.Unmarshal(text, &s) // an unreadable part stays empty
	}
	if text, err := base64.RawURLEncoding.DecodeString(payload); err == nil {
		_ = json.Unmarshal(text, &s.claims)
	}
	return s
}

// timeClaim formats a claim that is a time.
func (s *unverifiedToken) timeClaim(claim string) string {
	var seconds float64
	if json.Unmarshal(s.claims[claim], &seconds) != nil || seconds < 0 || seconds > 1e11 {
		return "an invalid time"
	}
	return inWords(time.Unix(int64(seconds), 0))
}

func inWords(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// advice explains why a token is refused, or how long it is valid, and gives a remedy.
func (i *Issuer) advice(token unverifiedToken, refusal *access.Refusal, s *signature) string {
	clock := fmt.Sprintf("the clock of the gateway says %s, and clockSkew is %s", inWords(s.now), i.options.ClockSkew)
	switch {
	case refusal == nil:
		return "The token expires at " + token.timeClaim("exp") + "."
	case errors.Is(s.err, errMustFetch):
		return fmt.Sprintf("The token is signed with the key %s, but the gateway has %s of the issuer %s: the next request with this token "+
			"fetches the keys. Ask again with ask (--ask) to fetch them now.",
			access.Quoted(token.KeyID), i.keys.inWords(), access.Quoted(i.options.URL))
	}
	switch refusal.Result {
	case access.Unavailable:
		return fmt.Sprintf("The gateway cannot fetch the keys of %s: %v. Check that it can reach that address, and auth.issuers.ca.",
			access.Quoted(i.options.URL), s.err)
	case access.UnknownKey:
		return fmt.Sprintf("The token is signed with the key %s, but the issuer published %s. Keys are fetched again at most every "+
			"auth.keys.atMostEvery. If the key is still missing after that, the token is from another issuer, or from before the issuer changed "+
			"its keys.",
			access.Quoted(token.KeyID), i.keys.inWords())
	case access.Signature:
		return fmt.Sprintf("The signature was not made with the issuer's key %s: the token was changed or truncated on its way, or it is forged.",
			access.Quoted(token.KeyID))
	case access.Expired:
		return fmt.Sprintf("It expired at %s; %s. The client must get a new token. If this token is new, one of the clocks is wrong.", token.timeClaim("exp"), clock)
	case access.Early:
		return fmt.Sprintf("It is valid from %s; %s. One of the clocks is wrong.", token.timeClaim("nbf"), clock)
	case access.Audience:
		return fmt.Sprintf("It is for the audience %s, but auth.issuers allows %s for the issuer. The client must request a token for one of these.",
			access.QuotedList(token.claims.texts("aud")), access.QuotedList(i.options.Audiences))
	case access.Claims:
		return i.adviceOfClaims(token.claims)
	}
	return i.adviceOfForm(token)
}

// adviceOfForm explains why a token cannot be verified at all.
func (i *Issuer) adviceOfForm(token unverifiedToken) string {
	switch {
	case !slices.Contains(i.options.Algorithms, token.Algorithm):
		return fmt.Sprintf("It is signed with the algorithm %s, but auth.issuers allows %s for the issuer.", access.Quoted(token.Algorithm),
			access.QuotedList(i.options.Algorithms))
	case !tokenType(token.Type):
		return fmt.Sprintf("Its type (typ) is %s, but must be JWT or at+jwt.", access.Quoted(fmt.Sprint(token.Type)))
	}
	return "It is not a valid signed token: the client has truncated or changed it."
}

// adviceOfClaims names the claim that is missing or wrong.
func (i *Issuer) adviceOfClaims(c claims) string {
	names := i.options.Claims
	_, begins := c.begin()
	p, missing := i.principal(c)
	switch {
	case !begins:
		return "Its claim nbf is not a time."
	case missing == "":
		return "It has no claim exp."
	case i.options.TenantID == "" && p.TenantID == "":
		return fmt.Sprintf("It has no claim %s, which auth.issuers (tenantClaim) requires for the tenant.", access.Quoted(i.options.TenantClaim))
	case i.options.TenantID == "" && missing == missingTenant:
		return fmt.Sprintf("Its claim %s (tenantClaim) is %s, which is not a GUID.", access.Quoted(i.options.TenantClaim), access.Quoted(p.TenantID))
	case p.ObjectID == "":
		return fmt.Sprintf("It has no claim %s, which auth.issuers (claims.objectId) requires for the caller.", access.Quoted(names.ObjectID))
	}
	return fmt.Sprintf("Its claim %s (claims.objectId) is %s, which is not a GUID.", access.Quoted(names.ObjectID), access.Quoted(p.ObjectID))
}

// inWords lists the present keys.
func (k *Keys) inWords() string {
	set := k.set.Load()
	if set == nil {
		return "no keys"
	}
	ids := make([]string, 0, len(set.keys))
	for _, key := range set.keys {
		ids = append(ids, key.jose.KeyID)
	}
	return "the keys " + access.QuotedList(ids) + " (at " + inWords(set.fetched) + ")"
}
