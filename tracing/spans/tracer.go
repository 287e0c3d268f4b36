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

// Sampling selects the traces that are recorded.
type Sampling struct {
	// Share is the fraction, 0 to 1, of requests and attempts that are sampled if no trusted caller
	// decides.
	Share float64
	// Callers is how many requests per second are sampled because a trusted caller asks for it.
	Callers int
}

// Options configures a [Tracer].
type Options struct {
	Sampling Sampling
	// Resource has the attributes of all spans: the service and the replica.
	Resource map[string]string
	// Ended is called with each ended span. It must not block.
	Ended func(sdk.ReadOnlySpan)
}

// Tracer starts traces. A nil Tracer samples nothing. It is safe for concurrent use.
type Tracer struct {
	share   atomic.Uint64 // in units of 1/drawRange
	callers *rate.Limiter
	otel    trace.Tracer
}

// Limits of a span.
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
		sdk.WithSampler(sdk.AlwaysSample()), // a Tracer has already decided
		sdk.WithResource(resource.NewSchemaless(attributes...)),
		sdk.WithSpanProcessor(onEnd(o.Ended)),
		sdk.WithRawSpanLimits(sdk.SpanLimits{
			AttributeValueLengthLimit: maxAttributeLength, AttributeCountLimit: maxAttributes, EventCountLimit: maxLinks, LinkCountLimit: maxLinks,
			AttributePerEventCountLimit: maxAttributes, AttributePerLinkCountLimit: maxAttributes,
		}),
	)
	t := &Tracer{callers: rate.NewLimiter(rate.Limit(o.Sampling.Callers), o.Sampling.Callers), otel: provider.Tracer("portico")}
	t.Sample(o.Sampling)
	return t
}

// drawRange is the number of possible random draws.
const drawRange = 1 << 53

// Sample changes the sampling of new traces.
func (t *Tracer) Sample(s Sampling) {
	if t == nil {
		return
	}
	t.share.Store(uint64(math.Round(s.Share * drawRange)))
	t.callers.SetLimit(rate.Limit(s.Callers))
	t.callers.SetBurst(s.Callers)
}

// shouldSample decides about a trace for which no trusted caller decides.
func (t *Tracer) shouldSample() bool {
	return rand.Uint64N(drawRange) < t.share.Load() //nolint:gosec // a sample needs no secrecy
}

// Request starts the span of a request with headers h that began at the given time. It returns nil
// if the request is not sampled. A trusted caller decides about sampling, up to Sampling.Callers.
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
	if !t.shouldSample() {
		return nil
	}
	return t.start(trace.SpanContext{}, Request, "", trace.WithTimestamp(began))
}

// traceLifetime is how long after durable work began its attempts belong to the trace of the
// request that began it. Backends look for further spans of a trace for about this long.
const traceLifetime = time.Hour

// Attempt starts the span of an attempt at durable work, which was begun age ago by the span with
// the given [Span.Parent], or "". A late attempt is sampled independently; its new trace is linked
// to the original span.
func (t *Tracer) Attempt(name, parent string, age time.Duration) *Span {
	if t == nil {
		return nil
	}
	began := trace.WithTimestamp(time.Now())
	of, known := parseParent(parent)
	switch {
	case known && age <= traceLifetime:
		return t.start(of, JobAttempt, name, began)
	case !t.shouldSample():
		return nil
	case known:
		return t.start(trace.SpanContext{}, JobAttempt, name, began, trace.WithLinks(trace.Link{SpanContext: of}))
	}
	return t.start(trace.SpanContext{}, JobAttempt, name, began)
}

// Begin starts a trace that no caller decides about. It returns nil if it is not sampled.
func (t *Tracer) Begin(k Kind, name string) *Span {
	if t == nil || !t.shouldSample() {
		return nil
	}
	return t.start(trace.SpanContext{}, k, name, trace.WithTimestamp(time.Now()))
}

// PrepareHeaders prepares the headers of a call to a provider, which must not be shared and hold the client's
// headers. With tracing, untrusted clients cannot pass trace headers to providers. A nil Tracer
// changes nothing.
func (t *Tracer) PrepareHeaders(h http.Header, trusted bool) {
	if t != nil {
		removeUntrusted(h, trusted)
	}
}

func (t *Tracer) start(parent trace.SpanContext, k Kind, name string, o ...trace.SpanStartOption) *Span {
	ctx := trace.ContextWithSpanContext(context.Background(), parent)
	_, of := t.otel.Start(ctx, name, append(o, trace.WithSpanKind(k.role()))...)
	return &Span{tracer: t, otel: of}
}

// onEnd passes on ended spans.
type onEnd func(sdk.ReadOnlySpan)

// OnStart implements [sdk.SpanProcessor].
func (onEnd) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements [sdk.SpanProcessor].
func (f onEnd) OnEnd(s sdk.ReadOnlySpan) { f(s) }

// Shutdown implements [sdk.SpanProcessor].
func (onEnd) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdk.SpanProcessor].
func (onEnd) ForceFlush(context.Context) error { return nil }
