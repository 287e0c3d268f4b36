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

// CollectorCredentials are the transport and headers for calls to a collector. They are immutable.
type CollectorCredentials struct {
	Transport http.RoundTripper
	// Header is added to every call.
	Header http.Header
}

// Collector sends spans to a collector by OTLP over HTTP. It implements otlptrace.Client.
// OpenTelemetry's own client would add gRPC and settings in environment variables.
type Collector struct {
	// URL is the endpoint for traces, as returned by [TracesURL].
	URL string
	// Credentials returns the current credentials.
	Credentials func() *CollectorCredentials
}

// tracesPath is the path of the endpoint for traces, relative to a collector's URL.
const tracesPath = "v1/traces"

// TracesURL returns the endpoint for traces of a collector.
func TracesURL(collector string) (string, error) { return url.JoinPath(collector, tracesPath) }

// maxAnswerRead limits how much of an answer is read. Its connection is reused only if all of it
// was read.
const maxAnswerRead = 64 << 10

// maxRetryAfter limits the delay that a collector may ask for.
const maxRetryAfter = 30 * time.Second

// refusal is the error for spans that the collector did not accept.
type refusal struct {
	status int
	after  time.Duration // delay before the next attempt; 0 if none was given
}

func (r *refusal) Error() string { return fmt.Sprintf("the collector answered %d", r.status) }

// worthRetry reports whether the spans may be sent again, according to OTLP.
func worthRetry(err error) bool {
	var refused *refusal
	if !errors.As(err, &refused) {
		return true // there was no answer
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
	// These bytes are also an ExportTraceServiceRequest, whose package depends on gRPC.
	message, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: all})
	if err != nil {
		return err
	}
	body, err := compress(message)
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
	answer, err := by.Transport.RoundTrip(r) // does not follow redirects
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswerRead)); err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		after, _ := timing.RetryAfter(answer.Header, time.Now())
		return &refusal{answer.StatusCode, min(after, maxRetryAfter)}
	}
	return nil
}

func compress(message []byte) ([]byte, error) {
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

// retryAfter returns the delay that a refusal asks for, or 0.
func retryAfter(err error) time.Duration {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.after
	}
	return 0
}
