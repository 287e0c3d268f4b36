package frontdoor

import (
	"net/http"

	"portico/gateway/batch"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
)

// batches are many requests in one, answered by package batch.
type batches struct{ *batch.Batches }

// Routes implements resource.
func (g batches) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodPost, Path: "/batch", Handle: g.post},
		{Method: http.MethodGet, Path: "/operationresults/{id}", Handle: g.result},
	}
}

func (g batches) post(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	return g.Answer(w, r, x, req.Content)
}

func (g batches) result(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	return g.Result(w, r, x)
}
