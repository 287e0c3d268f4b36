package observe

import (
	"net/http"

	"go.uber.org/zap/zapcore"

	"portico/gateway/exchange"
	"portico/tracing/spans"
)

// endSpan adds the attributes of the request to its span and ends it. If the request was
// refused before it had a span of its own, Span is the enclosing one, which stays unchanged.
func (s *served) endSpan() {
	if s.Span == nil || s.Identity.Request == "" {
		return
	}
	span, method, route := s.Span, Method(s.method), s.Route
	span.Text(spans.Route, route)
	if route == "" {
		route = s.class.String()
	}
	span.Name(method + " " + route)
	span.Text(spans.Method, method)
	span.Number(spans.Status, s.status)
	span.Text(spans.Class, s.class.String())
	span.Text(spans.Namespace, s.Namespace())
	if s.Request != nil {
		span.Text(spans.Resource, Path(s.Path))
		if s.Request.Type != nil {
			span.Text(spans.ResourceType, s.Request.Type.FullName)
		}
	}
	if s.Merged {
		span.Text(spans.Region, exchange.SeveralRegions)
	} else {
		span.Text(spans.Region, s.Region)
	}
	span.Text(spans.Subscription, subscriptionIn(s.Path))
	span.Text(spans.Outcome, s.outcome)
	span.Text(spans.Cause, s.Cause)
	span.Text(spans.Correlation, s.Identity.Correlation)
	span.Text(spans.RequestID, s.Identity.Request)
	if s.status >= http.StatusInternalServerError || s.outcome == outcomeBroken {
		span.Fail("")
	}
	span.EndAt(s.ended)
}

// addTrace adds the ids of a request's span to a log line, if there is one.
func addTrace(e zapcore.ObjectEncoder, s *spans.Span) {
	if s != nil {
		e.AddString("traceId", s.TraceID())
		e.AddString("spanId", s.ID())
	}
}
