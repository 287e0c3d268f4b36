package batch

import (
	"bytes"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/upstream"
)

// Get reads a target on behalf of the caller of a request, as if that had sent the GET in a
// batch. The error is that of an answer that is not whole; what it refuses is in the body.
func (b *Batches) Get(r *http.Request, x *exchange.Exchange, target string) (status int, body []byte, fault *arm.Error) {
	inner, fault := b.newRequest(r.Context(), newCaller(r, x), &Request{Method: http.MethodGet, URL: target})
	if fault != nil {
		return 0, nil, fault
	}
	w := exchange.Capture(b.Config.Limits.AnswerBody)
	if fault := w.Hold(target, func() { b.Handler.ServeHTTP(w, inner) }); fault != nil {
		return 0, nil, fault
	}
	body, err := upstream.ReadAll(w.Header(), bytes.NewReader(w.Body), b.Config.Limits.AnswerBody)
	if err != nil {
		return 0, nil, arm.NewError(arm.InvalidProviderResponse, target, err.Error())
	}
	return w.Status, body, nil
}
