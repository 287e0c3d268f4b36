// Package spans records where the time of a request or of durable work went, as OpenTelemetry
// spans.
//
// Sampling is decided before a trace starts. If a trace is not sampled, a [Tracer] returns a nil
// *[Span], whose methods do nothing at no cost. Callers therefore never need to check whether
// tracing is on.
//
// Names and attributes of spans are listed in this package. Their values come from the region map,
// from lists in the code, or from IDs that the access log shows too. Resource IDs are the only text
// from clients in a span, and nothing in it identifies a person.
//
// A [Queue] sends ended spans to a [Collector].
package spans

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Span is a span of a sampled trace. A nil Span belongs to a trace that is not sampled; its methods
// do nothing. It is safe for concurrent use.
type Span struct {
	tracer *Tracer
	otel   trace.Span

	mu              sync.Mutex
	attributes      []attribute.KeyValue // set together at the end: setting them one by one costs more
	attributeBuffer [typicalAttributes]attribute.KeyValue
}

// typicalAttributes is the number of attributes that suffices for most spans.
const typicalAttributes = 8

// Key is the context key of a *[Span].
type Key struct{}

// FromContext returns the span of ctx, or nil.
func FromContext(ctx context.Context) *Span {
	s, _ := ctx.Value(Key{}).(*Span)
	return s
}

// NewContext returns a context with the span s, or ctx itself if s is nil.
func NewContext(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, Key{}, s)
}

// Begin starts a child of ctx's span, and returns a context with it. If ctx has no span, it returns
// ctx and nil.
func Begin(ctx context.Context, k Kind, name string) (context.Context, *Span) {
	s := FromContext(ctx).StartChild(k, name)
	return NewContext(ctx, s), s
}

// StartChild starts a child of s now.
func (s *Span) StartChild(k Kind, name string) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.start(s.otel.SpanContext(), k, name, trace.WithTimestamp(time.Now()))
}

// Name replaces the span's name.
func (s *Span) Name(name string) {
	if s != nil {
		s.otel.SetName(name)
	}
}

// Text sets an attribute to a text, unless it is empty.
func (s *Span) Text(a Attribute, value string) {
	if s != nil && value != "" {
		s.setAttribute(attribute.String(string(a), value))
	}
}

// Number sets an attribute to a number.
func (s *Span) Number(a Attribute, value int) {
	if s != nil {
		s.setAttribute(attribute.Int(string(a), value))
	}
}

// Flag sets an attribute to a boolean.
func (s *Span) Flag(a Attribute, value bool) {
	if s != nil {
		s.setAttribute(attribute.Bool(string(a), value))
	}
}

// Seconds sets an attribute to a duration in seconds.
func (s *Span) Seconds(a Attribute, value time.Duration) {
	if s != nil {
		s.setAttribute(attribute.Float64(string(a), value.Seconds()))
	}
}

func (s *Span) setAttribute(a attribute.KeyValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attributes == nil {
		s.attributes = s.attributeBuffer[:0]
	}
	if i := slices.IndexFunc(s.attributes, func(of attribute.KeyValue) bool { return of.Key == a.Key }); i >= 0 {
		s.attributes[i] = a
		return
	}
	s.attributes = append(s.attributes, a)
}

func (s *Span) end(o ...trace.SpanEndOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otel.SetAttributes(s.attributes...) // SetAttributes copies them, since callers may still set attributes
	s.otel.End(o...)
}

// Fail marks the measured operation as failed, with a word for the kind of fault.
func (s *Span) Fail(fault string) {
	if s != nil {
		s.otel.SetStatus(codes.Error, "")
		s.Text(Fault, fault)
	}
}

// End ends the span. Attributes set later are lost.
func (s *Span) End() {
	if s != nil {
		s.end()
	}
}

// EndAt ends the span at the given time.
func (s *Span) EndAt(at time.Time) {
	if s != nil {
		s.end(trace.WithTimestamp(at))
	}
}

// TraceID returns the trace's ID in hexadecimal, or "" for a nil span.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.otel.SpanContext().TraceID().String()
}

// ID returns the span's ID in hexadecimal, or "" for a nil span.
func (s *Span) ID() string {
	if s == nil {
		return ""
	}
	return s.otel.SpanContext().SpanID().String()
}

// Parent returns the span as a traceparent, for [Span.LinkTo] and [Tracer.Attempt], or "" for a nil
// span.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	return formatParent(s.otel.SpanContext())
}

// LinkTo links the span to another, given by its [Span.Parent].
func (s *Span) LinkTo(parent string) {
	if s == nil {
		return
	}
	if other, ok := parseParent(parent); ok {
		s.otel.AddLink(trace.Link{SpanContext: other})
	}
}

// Stamp sets s as the parent in the headers of a call. h must not be shared with others.
func (s *Span) Stamp(h http.Header) {
	if s == nil {
		return
	}
	h[ParentHeader] = []string{s.Parent()}
	delete(h, StateHeader)
	if state := s.otel.SpanContext().TraceState(); state.Len() > 0 {
		h[StateHeader] = []string{state.String()}
	}
}
