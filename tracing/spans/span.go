// Package spans records where the time of a request or of durable work went, as spans of
// OpenTelemetry.
//
// Whether a trace is sampled is decided before anything of it is made: a [Tracer] returns
// a nil *[Span] for what is not, and everything that a span can do is done by a nil one
// too, at no cost. So callers ask nowhere whether tracing is on.
//
// A span's name and attributes come from the lists of this package, and their values from
// the region map, from lists in the code, or from ids that the access log shows as well.
// No text of a client but the ID of a resource gets into a span, and nothing that says
// who somebody is.
//
// A [Queue] sends the spans that have ended to a [Collector].
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

// Span is one span of a sampled trace. A nil Span is that of a trace that is not sampled:
// its methods do nothing. It is safe for concurrent use.
type Span struct {
	tracer *Tracer
	of     trace.Span

	mu    sync.Mutex
	noted []attribute.KeyValue // set at the end, at once: one by one costs more
	room  [usualAttributes]attribute.KeyValue
}

// usualAttributes are as many as most spans have.
const usualAttributes = 8

// Key finds a *[Span] in a context.
type Key struct{}

// Of returns the span that ctx belongs to, nil for none.
func Of(ctx context.Context) *Span {
	s, _ := ctx.Value(Key{}).(*Span)
	return s
}

// With returns a context that belongs to s: ctx itself if s is nil.
func With(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, Key{}, s)
}

// Begin begins a span below that of ctx, and returns a context that belongs to it. Both
// are as before where ctx belongs to none.
func Begin(ctx context.Context, k Kind, name string) (context.Context, *Span) {
	s := Of(ctx).Below(k, name)
	return With(ctx, s), s
}

// Below begins a span below s, which begins now.
func (s *Span) Below(k Kind, name string) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.start(s.of.SpanContext(), k, name, trace.WithTimestamp(time.Now()))
}

// Name replaces the name.
func (s *Span) Name(name string) {
	if s != nil {
		s.of.SetName(name)
	}
}

// Text notes a text, unless it is empty.
func (s *Span) Text(a Attribute, value string) {
	if s != nil && value != "" {
		s.note(attribute.String(string(a), value))
	}
}

// Number notes a number.
func (s *Span) Number(a Attribute, value int) {
	if s != nil {
		s.note(attribute.Int(string(a), value))
	}
}

// Flag notes whether something is so.
func (s *Span) Flag(a Attribute, value bool) {
	if s != nil {
		s.note(attribute.Bool(string(a), value))
	}
}

// Seconds notes a length of time.
func (s *Span) Seconds(a Attribute, value time.Duration) {
	if s != nil {
		s.note(attribute.Float64(string(a), value.Seconds()))
	}
}

func (s *Span) note(a attribute.KeyValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noted == nil {
		s.noted = s.room[:0]
	}
	if i := slices.IndexFunc(s.noted, func(of attribute.KeyValue) bool { return of.Key == a.Key }); i >= 0 {
		s.noted[i] = a
		return
	}
	s.noted = append(s.noted, a)
}

func (s *Span) end(o ...trace.SpanEndOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of.SetAttributes(s.noted...) // which copies them: somebody may go on noting
	s.of.End(o...)
}

// Fail marks what the span measures as failed, with a word for the kind of fault.
func (s *Span) Fail(fault string) {
	if s != nil {
		s.of.SetStatus(codes.Error, "")
		s.Text(Fault, fault)
	}
}

// End ends the span. What is noted later is lost.
func (s *Span) End() {
	if s != nil {
		s.end()
	}
}

// EndAt ends the span at a moment.
func (s *Span) EndAt(at time.Time) {
	if s != nil {
		s.end(trace.WithTimestamp(at))
	}
}

// TraceID is the trace's id in hexadecimal, "" for none.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.of.SpanContext().TraceID().String()
}

// ID is the span's id in hexadecimal, "" for none.
func (s *Span) ID() string {
	if s == nil {
		return ""
	}
	return s.of.SpanContext().SpanID().String()
}

// Parent is the span as the parent of others, in the form of traceparent; "" for none.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	return render(s.of.SpanContext())
}

// LinkTo links the span to another, which its [Span.Parent] names.
func (s *Span) LinkTo(parent string) {
	if s == nil {
		return
	}
	if other, ok := parse(parent); ok {
		s.of.AddLink(trace.Link{SpanContext: other})
	}
}

// Stamp makes s the parent that the headers of a call name. It must not be called for
// headers that others share.
func (s *Span) Stamp(h http.Header) {
	if s == nil {
		return
	}
	h[ParentHeader] = []string{s.Parent()}
	delete(h, StateHeader)
	if state := s.of.SpanContext().TraceState(); state.Len() > 0 {
		h[StateHeader] = []string{state.String()}
	}
}
