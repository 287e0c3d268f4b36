package gateway

import (
	"net/netip"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"portico/tracing/spans"
)

// newTracer returns a tracer whose spans no one takes.
func newTracer(share float64) *spans.Tracer {
	return spans.New(spans.Options{Sampling: spans.Sampling{Share: share}, Ended: func(sdk.ReadOnlySpan) {}})
}

// traceWith makes the gateway of a warm site trace, and trust its callers.
func (s *site) traceWith(tracer *spans.Tracer) {
	s.config.Server.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	s.gateway.tracer = tracer
	s.gateway = s.gateway.Succeed(s.config, s.authenticator(), nil, nil)
}

// What is not sampled allocates nothing more than where tracing is off: by the draw, or
// because a trusted caller says so.
func TestUnsampledReadsAllocateNothingMore(t *testing.T) {
	const unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	s := warmSite(t)
	count := func(tracer *spans.Tracer, parent string) float64 {
		s.traceWith(tracer)
		s.gateway.proxy.Upstream = newCannedProvider()
		reads := newReads(t, s.gateway.Public())
		if parent != "" {
			reads.first.Header["Traceparent"] = []string{parent}
		}
		reads.read(t)
		return allocated(func() { reads.read(t) })
	}
	off, offParent := count(nil, ""), count(nil, unsampled)
	if on := count(newTracer(0), ""); on > off+less {
		t.Errorf("%v allocations, %v without tracing", on, off)
	}
	if on := count(newTracer(1), unsampled); on > offParent+less {
		t.Errorf("%v allocations of a request that its caller does not sample, %v without tracing", on, offParent)
	}
	if on := count(newTracer(1), ""); on <= off+less {
		t.Errorf("%v allocations of a sampled request, as many as without tracing: it was not sampled", on)
	}
}

// The same with calls to a provider and net/http on both sides.
func TestUnsampledCallsAllocateNothingMore(t *testing.T) {
	count := func(tracer *spans.Tracer) float64 {
		way := newWholeWay(t, func(s *site) { s.traceWith(tracer) })
		return allocated(func() { way.read(t) })
	}
	if off, on := count(nil), count(newTracer(0)); on > off+less {
		t.Errorf("%v allocations, %v without tracing", on, off)
	}
}

// BenchmarkTracedChain and BenchmarkTracedWholeWay are sampled; compare BenchmarkChain
// and BenchmarkWholeWay.
func BenchmarkTracedChain(b *testing.B) {
	s := warmSite(b)
	s.traceWith(newTracer(1))
	s.gateway.proxy.Upstream = newCannedProvider()
	reads := newReads(b, s.gateway.Public())
	b.ReportAllocs()
	for b.Loop() {
		reads.read(b)
	}
}

func BenchmarkTracedWholeWay(b *testing.B) {
	way := newWholeWay(b, func(s *site) { s.traceWith(newTracer(1)) })
	b.ReportAllocs()
	for b.Loop() {
		way.read(b)
	}
}

// BenchmarkUntracedChain is traced, and not sampled.
func BenchmarkUntracedChain(b *testing.B) {
	s := warmSite(b)
	s.traceWith(newTracer(0))
	s.gateway.proxy.Upstream = newCannedProvider()
	reads := newReads(b, s.gateway.Public())
	b.ReportAllocs()
	for b.Loop() {
		reads.read(b)
	}
}
