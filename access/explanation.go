package access

import (
	"net/http"
	"strings"
	"unicode"
)

// Explanation is the hypothetical result of signing in, for operators. It
// affects neither metrics nor caches.
type Explanation struct {
	// Method is the method that knows the credential, "" if none does.
	Method string
	// Principal is the caller, if Refusal is nil.
	Principal Principal
	Refusal   *Refusal
	// MustFetch reports whether the result depends on keys that have to be
	// fetched first. Refusal is set too.
	MustFetch bool
	// Advice gives the reason and a remedy, "" if there is nothing to say. It
	// may quote a token's claims, never the token.
	Advice string
}

// Trail collects the methods' findings about a credential, for an explanation.
type Trail struct {
	// Fetches permits fetching unknown keys, as for a request.
	Fetches bool
	// MustFetch and Advice become the [Explanation]'s.
	MustFetch bool
	Advice    string
	// Issuer is the issuer in a token, Issuers the known ones.
	Issuer  string
	Issuers []string
}

// Explain implements [Authenticator].
func (m *Methods) Explain(r *http.Request, fetch bool) Explanation {
	c, unreadable := credentialsOf(r)
	c.Trail = &Trail{Fetches: fetch}
	by, p, refusal := m.authenticate(c, unreadable)
	explanation := Explanation{Principal: p, Refusal: refusal, MustFetch: c.Trail.MustFetch, Advice: c.Trail.Advice}
	if by >= 0 {
		explanation.Method = m.methods[by].Name()
		return explanation
	}
	explanation.Advice = c.adviceOfNoMethod(refusal)
	return explanation
}

// adviceOfNoMethod explains why no method knew the credential.
func (c *Credentials) adviceOfNoMethod(refusal *Refusal) string {
	switch {
	case refusal.Result == Missing:
		return "The request has no token."
	case refusal.Result == Malformed:
		return "The request must have exactly one Authorization header, with the scheme Bearer and a token."
	case c.Trail.Issuer != "" && len(c.Trail.Issuers) == 0:
		return "The token is from the issuer " + Quoted(c.Trail.Issuer) + ", but auth.issuers is empty."
	case c.Trail.Issuer != "":
		return "The token is from the issuer " + Quoted(c.Trail.Issuer) + "; auth.issuers has " + QuotedList(c.Trail.Issuers) +
			". Both must be identical, including a trailing slash."
	}
	return "It is not a token signed by an issuer (a JWT of at most 16 KiB), and its SHA-256 is not in auth.tokens: it may have been removed " +
		"from there, or the client has truncated it."
}

// Explain implements [Authenticator].
func (Anyone) Explain(*http.Request, bool) Explanation {
	return Explanation{Principal: fixed(), Advice: "auth.mode is none: every request has the same caller, whatever it sends."}
}

// quotedRunes bounds the quoted part of a text, and quotedTexts the quoted
// elements of a list.
const (
	quotedRunes = 200
	quotedTexts = 20
)

// Quoted returns a text of a token for people: in quotes, on one line, and cut.
func Quoted(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > quotedRunes {
			b.WriteString("…")
			break
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return "'" + b.String() + "'"
}

// QuotedList returns the first of the texts for people; "nothing" if there are none.
func QuotedList(texts []string) string {
	if len(texts) == 0 {
		return "nothing"
	}
	all := make([]string, 0, min(len(texts), quotedTexts))
	for _, text := range texts[:min(len(texts), quotedTexts)] {
		all = append(all, Quoted(text))
	}
	return strings.Join(all, ", ")
}
