package access

import (
	"net/http"
	"strings"
	"unicode"
)

// Explanation is what signing in would come to, for operators who ask why. Nothing is
// counted and nothing remembered for it.
type Explanation struct {
	// Method is the one that knows the credential, "" if none does.
	Method string
	// Principal is the caller, if Refusal is nil.
	Principal Principal
	Refusal   *Refusal
	// MustFetch: it depends on keys that have to be fetched first. Refusal is set too.
	MustFetch bool
	// Advice says why and what to do, "" if there is nothing to say. It may quote what a
	// token says of itself, never the token.
	Advice string
}

// Trail is what the methods found out about a credential, for an explanation.
type Trail struct {
	// Fetches: keys that are not known are fetched, as for a request.
	Fetches bool
	// MustFetch and Advice are those of the [Explanation].
	MustFetch bool
	Advice    string
	// Issuer is the one that a token names; Issuers are the known ones.
	Issuer  string
	Issuers []string
}

// Explain implements [Authenticator].
func (m *Methods) Explain(r *http.Request, fetch bool) Explanation {
	c, unreadable := credentialsOf(r)
	c.Trail = &Trail{Fetches: fetch}
	by, p, refusal := m.judge(c, unreadable)
	said := Explanation{Principal: p, Refusal: refusal, MustFetch: c.Trail.MustFetch, Advice: c.Trail.Advice}
	if by >= 0 {
		said.Method = m.methods[by].Name()
		return said
	}
	said.Advice = c.adviceOfNoMethod(refusal)
	return said
}

// adviceOfNoMethod says why no method knew the credential.
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

// quotedRunes bounds what is quoted of a text, and quotedTexts how many of a list are.
const (
	quotedRunes = 200
	quotedTexts = 20
)

// Quoted returns a text that a token has, for people: in quotes, on one line, and cut.
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

// QuotedList returns texts for people, the first of them; "nothing" if there are none.
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
