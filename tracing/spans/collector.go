package spans

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"portico/internal/timing"
)

// CollectorCredentials are by what a collector is called. They do not change.
type CollectorCredentials struct {
	Transport http.RoundTripper
	// Header is added to every call.
	Header http.Header
}

// Collector takes spans by OTLP over HTTP. It implements otlptrace.Client; the client of
// OpenTelemetry itself would bring gRPC with it, and settings by environment variables.
type Collector struct {
	// URL is where traces go: the collector's own with the path of OTLP.
	URL string
	// Credentials returns those to call by now.
	Credentials func() *CollectorCredentials
}

// tracesPath is where collectors take traces, below their URL.
const tracesPath = "v1/traces"

// TracesURL is where the collector at an address takes traces.
func TracesURL(collector string) (string, error) { return url.JoinPath(collector, tracesPath) }

// maxAnswer bounds what is read of a collector's answer: its connection is used again
// only if all was.
const maxAnswer = 64 << 10

// longestRetryAfter bounds the pause that a collector asks for.
const longestRetryAfter = 30 * time.Second

// refusal is the answer of a collector that did not take spans.
type refusal struct {
	status int
	after  time.Duration // before they may be sent again; 0: it does not say
}

func (r *refusal) Error() string { return fmt.Sprintf("the collector answered %d", r.status) }

// worthRetry reports whether the same spans may be taken later, as OTLP has it.
func worthRetry(err error) bool {
	var refused *refusal
	if !errors.As(err, &refused) {
		return true // no answer came
	}
	switch refused.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Start implements otlptrace.Client.
func (*Collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *Collector) Stop(context.Context) error {
	if idle, ok := c.Credentials().Transport.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
	return nil
}

// UploadTraces implements otlptrace.Client. It makes one attempt.
func (c *Collector) UploadTraces(ctx context.Context, all []*tracepb.ResourceSpans) error {
	// As bytes it is the ExportTraceServiceRequest, whose package brings gRPC with it.
	message, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: all})
	if err != nil {
		return err
	}
	body, err := packed(message)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	by := c.Credentials()
	maps.Copy(r.Header, by.Header)
	r.Header["Content-Type"], r.Header["Content-Encoding"] = []string{"application/x-protobuf"}, []string{"gzip"}
	r.Header["User-Agent"] = []string{"portico"}
	answer, err := by.Transport.RoundTrip(r) // redirects are not followed
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		after, _ := timing.RetryAfter(answer.Header, time.Now())
		return &refusal{answer.StatusCode, min(after, longestRetryAfter)}
	}
	return nil
}

func packed(message []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(message); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// retryAfter is the pause that a refusal asks for.
func retryAfter(err error) time.Duration {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.after
	}
	return 0
}
