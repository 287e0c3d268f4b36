package batch

import (
	"net/http"

	"portico/arm"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/tracing"
	"portico/tracing/spans"
)

// Identify returns what takes the place of the links that identify and authenticate, for a
// request in a batch or of a deployment: it has ids of its own but for the correlation, and its
// caller is that of the whole, whatever its headers say. A caller that the configuration has
// lost since is refused.
func Identify(l *chain.Links) chain.Check {
	return func(w http.ResponseWriter, r *http.Request) (goesOn bool) {
		x := exchange.From(r)
		q, caller := Of(r.Context())
		r.Header[tracing.CorrelationHeader] = []string{caller.Correlation}
		x.Origin, x.Parent, x.Client, x.Span = q.Origin, q.Parent, caller.Client, x.Span.Below(spans.Request, "")
		if fault := l.Mint(x, r); fault != nil {
			exchange.Fail(w, r, fault)
			return false
		}
		l.Admit(x, r, caller.Principal)
		if !l.Authenticator.Valid(caller.Principal) {
			exchange.Fail(w, r, arm.NewError(arm.InvalidAuthenticationToken).
				Saying("The caller of this request is no longer known: the token or certificate by which its batch or deployment began is not accepted any more. The request was not sent."))
			return false
		}
		return true
	}
}
