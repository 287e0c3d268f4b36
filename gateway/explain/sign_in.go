package explain

import (
	"slices"
	"strings"

	"portico/access"
	"portico/gateway/admin/api"
	"portico/gateway/exchange"
)

// signIn returns the result of signing in, or nil if nothing examined the credential.
func (w *Walked) signIn() *api.ExplainedSignIn {
	s := w.SignIn
	if s == nil {
		return nil
	}
	e := &api.ExplainedSignIn{Method: s.Method, Result: access.Accepted, Advice: s.Advice}
	switch {
	case s.MustFetch:
		e.Result = api.MustFetch
		return e
	case s.Refusal != nil:
		e.Result = s.Refusal.Result
		e.Challenge = strings.Join(w.Answer.Header()["Www-Authenticate"], "")
		return e
	}
	p := s.Principal
	e.Name, e.AppID, e.Delegated, e.Issuer, e.Groups = p.Name, p.AppID, p.Delegated, p.Issuer, slices.Collect(p.Groups.All())
	return e
}

// keysMissing reports whether the request ends at sign-in, because keys have to be fetched
// before the caller is known.
func (w *Walked) keysMissing() bool {
	return w.SignIn != nil && w.SignIn.MustFetch && w.lastStep() == string(exchange.AtSignIn)
}

// signInText describes in a sentence who has signed in.
func (w *Walked) signInText() string {
	s := w.signIn()
	switch {
	case s == nil:
		return ""
	case s.Result != access.Accepted:
		return "this needs no authentication: " + s.Result + ". " + s.Advice
	}
	if s.Method == "" {
		return s.Advice
	}
	text := "authenticated by " + s.Method
	if s.Issuer != "" {
		text += " " + s.Issuer
	}
	if s.Name != "" {
		text += " as " + s.Name
	}
	if s.AppID != "" {
		text += ", application " + s.AppID
	}
	if n := len(s.Groups); n > 0 {
		text += ", in the groups " + strings.Join(s.Groups[:min(n, mostGroups)], ", ")
		if n > mostGroups {
			text += " and others"
		}
	}
	return strings.TrimSpace(text + ". " + s.Advice)
}

// mostGroups bounds the groups that a sentence names.
const mostGroups = 20
