package gateway

import (
	"net/http"

	"portico/gateway/exchange"
	"portico/gateway/frontdoor"
)

func (g *Gateway) newFrontDoor() http.Handler {
	return frontdoor.New(frontdoor.Options{
		Config: g.config, Store: g.store, Router: g.router, Resolver: g.resolver, Admission: g.admission, Polls: g.polls,
		Lister: g.lister, Batches: g.batches, Jobs: g.runner, Forward: g.forward,
	})
}

// forward sends a request that the front door made for a client to its provider.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, content []byte) error {
	body, fault := readContent(x.Request, content)
	if fault != nil {
		return fault
	}
	return g.resolveAndServe(w, r, x, body, content)
}
