package upstream

import (
	"maps"
	"net/http"

	"portico/tracing/spans"
)

// beginSpan begins the span of a request, and sends it to the provider as the
// parent. It copies the headers, which other calls may share.
func (x *request) beginSpan(of *spans.Span, call *Call) {
	x.span = of.StartChild(spans.ProviderCall, "call "+call.Method)
	header := make(http.Header, len(x.header)+2)
	maps.Copy(header, x.header)
	x.span.Stamp(header)
	x.header = header
	x.span.Text(spans.Method, call.Method)
	x.span.Text(spans.Namespace, call.Provider)
	x.span.Text(spans.Region, call.Endpoint.Region)
	x.span.Text(spans.Address, x.series.address)
	x.span.Number(spans.Attempt, call.attempt)
	if call.queued > 0 {
		x.span.Seconds(spans.Queued, call.queued)
	}
}

// endSpan records the outcome of the request, and ends its span unless there
// is an answer to read.
func (x *request) endSpan(r attemptResult) {
	if x.span == nil {
		return
	}
	x.span.Flag(spans.Sent, r.sent)
	if r.err != nil {
		x.span.Fail(ErrorKind(r.err))
		x.span.End()
		return
	}
	x.span.Number(spans.Status, r.response.StatusCode)
	if r.response.StatusCode >= http.StatusInternalServerError {
		x.span.Fail("")
	}
}
