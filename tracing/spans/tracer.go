package spans

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// Sampling says which traces are recorded.
type Sampling struct {
	// Share is the sampled part of undecided requests and attempts, 0 to 1.
	Share float64
	// Callers is how many requests a second are sampled because a trusted caller says so.
	Callers int
}

// Options are what a [Tracer] is made of.
type Options struct {
	Sampling Sampling
	// Resource are the attributes of all spans: the service, and the replica.
	Resource map[string]string
	// Ended takes the spans that have ended; it must not block.
	Ended func(sdk.ReadOnlySpan)
}

// Tracer begins traces. A nil Tracer samples nothing. It is safe for concurrent use.
type Tracer struct {
	share   atomic.Uint64 // of 1<<53 draws
	callers *rate.Limiter
	of      trace.Tracer
}

// Bounds of one span.
const (
	maxAttributes      = 32
	maxAttributeLength = 2048
	maxLinks           = 16
)

// New returns a tracer.
func New(o Options) *Tracer {
	attributes := make([]attribute.KeyValue, 0, len(o.Resource))
	for name, value := range o.Resource {
		attributes = append(attributes, attribute.String(name, value))
	}
	provider := sdk.NewTracerProvider(
		sdk.WithSampler(sdk.AlwaysSample()), // a Tracer has decided before
		sdk.WithResource(resource.NewSchemaless(attributes...)),
		sdk.WithSpanProcessor(onEnd(o.Ended)),
		sdk.WithRawSpanLimits(sdk.SpanLimits{
			AttributeValueLengthLimit: maxAttributeLength, AttributeCountLimit: maxAttributes, EventCountLimit: maxLinks, LinkCountLimit: maxLinks,
			AttributePerEventCountLimit: maxAttributes, AttributePerLinkCountLimit: maxAttributes,
		}),
	)
	t := &Tracer{callers: rate.NewLimiter(rate.Limit(o.Sampling.Callers), o.Sampling.Callers), of: provider.Tracer("portico")}
	t.Sample(o.Sampling)
	return t
}

// draws is how many different draws there are.
const draws = 1 << 53

// Sample changes which traces are recorded from now on.
func (t *Tracer) Sample(s Sampling) {
	if t == nil {
		return
	}
	t.share.Store(uint64(math.Round(s.Share * draws)))
	t.callers.SetLimit(rate.Limit(s.Callers))
	t.callers.SetBurst(s.Callers)
}

// draw decides about an undecided trace.
func (t *Tracer) draw() bool {
	return rand.Uint64N(draws) < t.share.Load() //nolint:gosec // a sample needs no secrecy
}

// Request begins the span of a request that came with these headers and began at a
// moment; nil if it is not sampled. A caller that is trusted decides, as far as the bound
// on that allows.
func (t *Tracer) Request(h http.Header, trusted bool, began time.Time) *Span {
	if t == nil {
		return nil
	}
	if trusted {
		if parent, ok := parentOf(h); ok {
			if !parent.IsSampled() || !t.callers.Allow() {
				return nil
			}
			if state, ok := stateOf(h); ok {
				parent = parent.WithTraceState(state)
			}
			return t.start(parent, Request, "", trace.WithTimestamp(began))
		}
	}
	if !t.draw() {
		return nil
	}
	return t.start(trace.SpanContext{}, Request, "", trace.WithTimestamp(began))
}

// continued is for how long after the beginning of durable work an attempt at it belongs
// to the trace of the request that began it. Backends keep looking for the spans of a
// trace for so long and no longer.
const continued = time.Hour

// Attempt begins the span of an attempt at durable work that was begun some time ago, by
// the span whose [Span.Parent] it kept, or "". An attempt that comes late is sampled like
// an undecided one, and has a trace of its own that is linked to the other.
func (t *Tracer) Attempt(name, parent string, age time.Duration) *Span {
	if t == nil {
		return nil
	}
	began := trace.WithTimestamp(time.Now())
	of, known := parse(parent)
	switch {
	case known && age <= continued:
		return t.start(of, JobAttempt, name, began)
	case !t.draw():
		return nil
	case known:
		return t.start(trace.SpanContext{}, JobAttempt, name, began, trace.WithLinks(trace.Link{SpanContext: of}))
	}
	return t.start(trace.SpanContext{}, JobAttempt, name, began)
}

// Begin begins an undecided trace; nil if it is not sampled.
func (t *Tracer) Begin(k Kind, name string) *Span {
	if t == nil || !t.draw() {
		return nil
	}
	return t.start(trace.SpanContext{}, k, name, trace.WithTimestamp(time.Now()))
}

// Pass prepares the headers of a call to a provider, which are the call's own and hold
// what the client sent: with tracing, a client that is not trusted tells providers
// nothing of traces. Without tracing they stay as they are.
func (t *Tracer) Pass(h http.Header, trusted bool) {
	if t != nil {
		keepTrusted(h, trusted)
	}
}

func (t *Tracer) start(parent trace.SpanContext, k Kind, name string, o ...trace.SpanStartOption) *Span {
	ctx := trace.ContextWithSpanContext(context.Background(), parent)
	_, of := t.of.Start(ctx, name, append(o, trace.WithSpanKind(k.role()))...)
	return &Span{tracer: t, of: of}
}

// onEnd passes ended spans on.
type onEnd func(sdk.ReadOnlySpan)

// OnStart implements [sdk.SpanProcessor].
func (onEnd) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements [sdk.SpanProcessor].
func (f onEnd) OnEnd(s sdk.ReadOnlySpan) { f(s) }

// Shutdown implements [sdk.SpanProcessor].
func (onEnd) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdk.SpanProcessor].
func (onEnd) ForceFlush(context.Context) error { return nil }
