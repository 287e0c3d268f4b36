package gateway

import (
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/gateway/explain"
)

// addToken gives a request the token to sign in with; without one the request keeps its
// own credentials.
func (a *rehearsed) addToken(token string) *arm.Error {
	if token == "" {
		return nil
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return arm.NewError(arm.InvalidRequestContent, "a token is one word of visible ASCII").About("token")
	}
	a.Header["Authorization"] = []string{"Bearer " + token}
	return nil
}

// rehearseHead is identify for a request that is explained. It begins the trail.
func (g *Gateway) rehearseHead(walked *explain.Walked) chain.Check {
	return func(w http.ResponseWriter, r *http.Request) (goesOn bool) {
		x := exchange.From(r)
		walked.Exchange, x.Trail = x, &exchange.Trail{}
		x.Reach(exchange.AtHead)
		if fault := g.ReadHead(x, r); fault != nil {
			exchange.Fail(w, r, fault)
			return false
		}
		return true
	}
}

// rehearseSignIn is authenticate for a request that is explained. Nothing is counted.
func (g *Gateway) rehearseSignIn(walked *explain.Walked, question rehearsed) chain.Check {
	return func(w http.ResponseWriter, r *http.Request) (goesOn bool) {
		x, who := exchange.From(r), question.who
		if question.signsIn {
			x.Reach(exchange.AtSignIn)
			signedIn := g.Authenticator.Explain(r, question.ask)
			walked.SignIn = &signedIn
			if refusal := signedIn.Refusal; refusal != nil && !x.ForMetadata() {
				g.RefuseSignIn(w, r, refusal)
				return false
			}
			who = signedIn.Principal
		}
		x.Reach(exchange.AtClassification)
		g.Admit(x, r, who)
		return true
	}
}
