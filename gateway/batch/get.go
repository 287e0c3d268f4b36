package batch

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
)

// Get reads a target on behalf of the caller of a request, as if that had sent the GET in a
// batch. The error is that of an answer that is not whole; what it refuses is in the body.
func (b *Batches) Get(r *http.Request, x *exchange.Exchange, target string) (status int, body []byte, fault *arm.Error) {
	status, _, body, fault = b.Send(r.Context(), NewCaller(r, x), &Request{Method: http.MethodGet, URL: target, Origin: exchange.OriginElement})
	return status, body, fault
}
