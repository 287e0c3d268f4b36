package explain

import (
	"net/http"

	"portico/gateway/chain"
	"portico/gateway/exchange"
)

// begin is the link that identifies, for a request that is explained. It begins the trail.
func (w *Walked) begin(l *chain.Links) chain.Check {
	return func(answer http.ResponseWriter, r *http.Request) (goesOn bool) {
		x := exchange.From(r)
		w.Exchange, x.Trail = x, &exchange.Trail{}
		x.Reach(exchange.AtHead)
		if fault := l.ReadHead(x, r); fault != nil {
			exchange.Fail(answer, r, fault)
			return false
		}
		return true
	}
}

// signsIn is the link that authenticates, for a request that is explained. Nothing is counted.
func (w *Walked) signsIn(l *chain.Links, of Request) chain.Check {
	return func(answer http.ResponseWriter, r *http.Request) (goesOn bool) {
		x, who := exchange.From(r), of.who
		if of.SignsIn {
			x.Reach(exchange.AtSignIn)
			signedIn := l.Authenticator.Explain(r, of.ask)
			w.SignIn = &signedIn
			if refusal := signedIn.Refusal; refusal != nil && !x.ForMetadata() {
				l.RefuseSignIn(answer, r, refusal)
				return false
			}
			who = signedIn.Principal
		}
		x.Reach(exchange.AtClassification)
		l.Admit(x, r, who)
		return true
	}
}
