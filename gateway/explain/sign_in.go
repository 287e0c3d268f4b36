package explain

import (
	"slices"
	"strings"

	"portico/access"
	"portico/gateway/admin/api"
	"portico/gateway/exchange"
)

// signIn is what became of the request's credential; nil if nothing looked at it.
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

// keysMissing reports whether the way ends since keys have to be fetched before anybody
// knows who calls.
func (w *Walked) keysMissing() bool {
	return w.SignIn != nil && w.SignIn.MustFetch && w.lastStep() == string(exchange.AtSignIn)
}

// signedIn says who has signed in.
func (w *Walked) signedIn() string {
	s := w.signIn()
	switch {
	case s == nil:
		return ""
	case s.Result != access.Accepted:
		return "no one has to sign in for this: " + s.Result + ". " + s.Advice
	}
	if s.Method == "" {
		return s.Advice
	}
	said := "signed in by " + s.Method
	if s.Issuer != "" {
		said += " " + s.Issuer
	}
	if s.Name != "" {
		said += " as " + s.Name
	}
	if s.AppID != "" {
		said += ", application " + s.AppID
	}
	if n := len(s.Groups); n > 0 {
		said += ", in the groups " + strings.Join(s.Groups[:min(n, mostGroups)], ", ")
		if n > mostGroups {
			said += " and others"
		}
	}
	return strings.TrimSpace(said + ". " + s.Advice)
}

// mostGroups bounds how many groups a sentence names.
const mostGroups = 20
