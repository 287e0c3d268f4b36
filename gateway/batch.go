package gateway

import (
	"net/http"

	"portico/arm"
	"portico/gateway/batch"
	"portico/gateway/exchange"
	"portico/inventory/engine"
	"portico/tracing"
	"portico/tracing/spans"
)

func (g *Gateway) newBatches(handler http.Handler) *batch.Batches {
	return batch.New(batch.Options{Config: g.config, Store: g.store, Memory: g.batchMemory, Hosts: g.Hosts, Polls: g.polls, Handler: handler})
}

// newInner returns the public chain without what the connection of a batch has been through.
func (g *Gateway) newInner() http.Handler {
	return g.Inner(g.identifyInner, g.Classify, g.throttle.Limit)
}

// identifyInner is identify and authenticate for a request in a batch or of a deployment:
// it has ids of its own but for the correlation, and its caller is that of the whole,
// whatever its headers say. A caller that the configuration has lost since is refused; one
// that an operator asks about need not have signed in.
func (g *Gateway) identifyInner(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	q, caller := batch.Of(r.Context())
	r.Header[tracing.CorrelationHeader] = []string{caller.Correlation}
	x.Origin, x.Parent, x.Client, x.Span = q.Origin, q.Parent, caller.Client, x.Span.Below(spans.Request, "")
	if fault := g.Mint(x, r); fault != nil {
		exchange.Fail(w, r, fault)
		return false
	}
	g.Admit(x, r, caller.Principal)
	if !g.Authenticator.Valid(caller.Principal) && !engine.Rehearsed(r.Context()) {
		exchange.Fail(w, r, arm.NewError(arm.InvalidAuthenticationToken).
			Saying("The caller of this request is no longer known: the token or certificate by which its batch or deployment began is not accepted any more. The request was not sent."))
		return false
	}
	return true
}
