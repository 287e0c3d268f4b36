package gateway

import (
	"net/http"

	"portico/access"
	"portico/gateway/batch"
	"portico/gateway/exchange"
	"portico/tracing"
	"portico/tracing/spans"
)

func (g *Gateway) newBatches() *batch.Batches {
	return batch.New(batch.Options{
		Config: g.config, Store: g.store, Memory: g.batchMemory, Hosts: g.hosts, Polls: g.polls,
		StillValid: func(p access.Principal) bool { return (*g.current.Load()).Valid(p) },
		// As the public chain, without what the batch's connection has been through.
		Handler: chain(http.HandlerFunc(g.dispatch), exchange.Begin(g.exchanges), g.observer.Observe, g.recover, inTurn(g.identifyInner, g.classify, g.limitRate)),
	})
}

// identifyInner is identify and authenticate for a request in a batch or of a deployment:
// it has ids of its own but for the correlation, and its caller is that of the whole,
// whatever its headers say.
func (g *Gateway) identifyInner(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	q, caller := batch.Of(r.Context())
	r.Header[tracing.CorrelationHeader] = []string{caller.Correlation}
	x.Origin, x.Parent, x.Client, x.Span = q.Origin, q.Parent, caller.Client, x.Span.Below(spans.Request, "")
	if fault := g.mint(x, r); fault != nil {
		exchange.Fail(w, r, fault)
		return false
	}
	g.admit(x, r, caller.Principal)
	return true
}
