package gateway_test

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"portico/tracing/spans"
)

// newTracer returns a tracer whose spans no one takes.
func newTracer(share float64) *spans.Tracer {
	return spans.New(spans.Options{Sampling: spans.Sampling{Share: share}, Ended: func(sdk.ReadOnlySpan) {}})
}

// tracedSite is a warm site that traces, and trusts its callers.
func tracedSite(t testing.TB, tracer *spans.Tracer) *site {
	return warmSiteOf(t, setup{server: ", trustedProxies: [192.0.2.0/24]", tracer: tracer}, "")
}

// What is not sampled allocates nothing more than where tracing is off: by the draw, or
// because a trusted caller says so.
func TestUnsampledReadsAllocateNothingMore(t *testing.T) {
	const unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	count := func(tracer *spans.Tracer, parent string) float64 {
		reads := newReads(t, tracedSite(t, tracer).gateway.Public())
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
		way := newWholeWay(t, tracedSite(t, tracer))
		return allocated(func() { way.read(t) })
	}
	if off, on := count(nil), count(newTracer(0)); on > off+less {
		t.Errorf("%v allocations, %v without tracing", on, off)
	}
}

// BenchmarkTracedChain and BenchmarkTracedWholeWay are sampled; compare BenchmarkChain
// and BenchmarkWholeWay.
func BenchmarkTracedChain(b *testing.B) {
	reads := newReads(b, tracedSite(b, newTracer(1)).gateway.Public())
	b.ReportAllocs()
	for b.Loop() {
		reads.read(b)
	}
}

func BenchmarkTracedWholeWay(b *testing.B) {
	way := newWholeWay(b, tracedSite(b, newTracer(1)))
	b.ReportAllocs()
	for b.Loop() {
		way.read(b)
	}
}

// BenchmarkUntracedChain is traced, and not sampled.
func BenchmarkUntracedChain(b *testing.B) {
	reads := newReads(b, tracedSite(b, newTracer(0)).gateway.Public())
	b.ReportAllocs()
	for b.Loop() {
		reads.read(b)
	}
}
