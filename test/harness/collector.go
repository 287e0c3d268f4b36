package harness

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector takes traces by OTLP over HTTP, as any collector of OpenTelemetry does, and
// keeps their spans.
type Collector struct {
	// URL is for tracing.otlp.
	URL string

	mu      sync.Mutex
	spans   []TraceSpan
	headers []http.Header
	status  int // that it answers with; 0 for 200
}

// TraceSpan is a span as a collector got it.
type TraceSpan struct {
	Trace, ID, Parent string // in hexadecimal
	Name              string
	Role              tracepb.Span_SpanKind
	Start, End        uint64 // nanoseconds since 1970
	Failed            bool
	State             string // tracestate
	Attributes        map[string]string
	// Resource are the attributes of the process.
	Resource map[string]string
	Links    []string // traceID-spanID
}

// StartCollector starts a collector that lasts until the test ends.
func StartCollector(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// ServeHTTP implements [http.Handler].
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	spans, err := readSpans(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	switch {
	case err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf":
		w.WriteHeader(http.StatusBadRequest)
	case c.status != 0:
		w.WriteHeader(c.status)
	default:
		c.spans = append(c.spans, spans...)
	}
}

// Answer makes the collector answer with a status; with any but 200 it keeps nothing.
func (c *Collector) Answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status = status; status == http.StatusOK {
		c.status = 0
	}
}

// Spans are those that have come so far.
func (c *Collector) Spans() []TraceSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Headers are those of the requests that have come so far.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

func readSpans(r *http.Request) ([]TraceSpan, error) {
	plain, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	message, err := io.ReadAll(plain)
	if err != nil {
		return nil, err
	}
	var data tracepb.TracesData // what an ExportTraceServiceRequest is on the wire
	if err := proto.Unmarshal(message, &data); err != nil {
		return nil, err
	}
	var all []TraceSpan
	for _, of := range data.GetResourceSpans() {
		resource := attributesOf(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				all = append(all, spanOf(s, resource))
			}
		}
	}
	return all, nil
}

func spanOf(s *tracepb.Span, resource map[string]string) TraceSpan {
	span := TraceSpan{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Name: s.GetName(), Role: s.GetKind(), Start: s.GetStartTimeUnixNano(), End: s.GetEndTimeUnixNano(), State: s.GetTraceState(),
		Failed:     s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
		Attributes: attributesOf(s.GetAttributes()), Resource: maps.Clone(resource),
	}
	for _, l := range s.GetLinks() {
		span.Links = append(span.Links, hex.EncodeToString(l.GetTraceId())+"-"+hex.EncodeToString(l.GetSpanId()))
	}
	return span
}

func attributesOf(all []*commonpb.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range all {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			texts[a.GetKey()] = v.StringValue
		default:
			texts[a.GetKey()] = a.GetValue().String()
		}
	}
	return texts
}
