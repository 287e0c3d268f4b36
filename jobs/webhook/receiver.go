package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"portico/events"
	"portico/internal/timing"
	"portico/upstream/answers"
)

// Bounds of a receiver's answer. Only the status and Retry-After are read.
const (
	maxAnswer       = 64 << 10
	maxAnswerHeader = 16 << 10
	idleTime        = 30 * time.Second // of a connection
)

// The outcomes of attempts, as metrics and operators see them.
const (
	outcomeDelivered   = "delivered"
	outcomeRefused     = "refused"     // 400, 413, 415, 422: another attempt would get the same answer
	outcomeDenied      = "denied"      // 401, 403, 410: the receiver wants nothing of the sender
	outcomeRejected    = "rejected"    // any other 4xx
	outcomeThrottled   = "throttled"   // 429, and any other 4xx or 5xx with a Retry-After
	outcomeRedirected  = "redirected"  // 3xx, which is not followed
	outcomeFailed      = "failed"      // 5xx, or not a valid status
	outcomeTimeout     = "timeout"     // no answer in time
	outcomeBroken      = "broken"      // the connection ended before the answer
	outcomeUnreachable = "unreachable" // no connection, or its certificate is not trusted
)

func outcomes() []string {
	return []string{
		outcomeDelivered, outcomeRefused, outcomeDenied, outcomeRejected, outcomeThrottled, outcomeRedirected, outcomeFailed,
		outcomeTimeout, outcomeBroken, outcomeUnreachable,
	}
}

// Outcome is the outcome of an attempt. Of the receiver's answer it holds only the
// status.
type Outcome struct {
	Name       string        `json:"outcome"`
	Status     int           `json:"status,omitempty"`
	RetryAfter time.Duration `json:"-"`
}

// concernsAll reports whether other events would fail in the same way.
func (o Outcome) concernsAll() bool {
	switch o.Name {
	case outcomeDenied, outcomeThrottled, outcomeRedirected, outcomeUnreachable:
		return true
	}
	return false
}

// receiver sends to a sink.
type receiver struct {
	sink   *Sink
	client *http.Client
}

// newReceiver returns a receiver without connections. It uses no proxy, and HTTP/1.1.
func newReceiver(s *Sink) *receiver {
	return &receiver{s, &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:        &tls.Config{RootCAs: s.Authorities, MinVersion: tls.VersionTLS12},
			DialContext:            (&net.Dialer{Timeout: s.Timeout}).DialContext,
			MaxConnsPerHost:        s.Concurrency,
			MaxIdleConnsPerHost:    s.Concurrency,
			IdleConnTimeout:        idleTime,
			MaxResponseHeaderBytes: maxAnswerHeader,
			DisableCompression:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (r *receiver) close() { r.client.CloseIdleConnections() }

// deliver sends events, in their order: a single one, or several as an array.
func (r *receiver) deliver(ctx context.Context, all []events.CloudEvent) (Outcome, error) {
	kind, content := "application/cloudevents-batch+json; charset=utf-8", any(all)
	if r.sink.Batch == 1 {
		kind, content = "application/cloudevents+json; charset=utf-8", all[0]
	}
	body, err := json.Marshal(content)
	if err != nil {
		return Outcome{}, err
	}
	return r.post(ctx, messageID(all), kind, body), nil
}

// messageID returns the id of a message, the same for every try. It is the id of its event,
// or derived from the ids of all its events.
func messageID(all []events.CloudEvent) string {
	if len(all) == 1 {
		return all[0].ID
	}
	sum := sha256.New()
	for _, e := range all {
		sum.Write([]byte(e.ID))
	}
	id, _ := uuid.FromBytes(sum.Sum(nil)[:16]) // the slice has the length that it takes
	return id.String()
}

func (r *receiver) post(ctx context.Context, id, kind string, body []byte) Outcome {
	ctx, cancel := context.WithTimeout(ctx, r.sink.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.sink.URL.String(), bytes.NewReader(body))
	if err != nil {
		return Outcome{Name: outcomeUnreachable}
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("User-Agent", "Portico")
	// The nil header is not sent. It lets net/http retry on another connection if the
	// receiver has just closed one.
	request.Header["X-Idempotency-Key"] = nil
	sign(request.Header, r.sink.Secrets, id, time.Now(), body)
	if r.sink.Bearer != "" {
		request.Header.Set("Authorization", "Bearer "+r.sink.Bearer)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return Outcome{Name: failureOf(err)}
	}
	// A longer rest ends the connection; only the status matters.
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	_ = answer.Body.Close()
	return read(answer)
}

func read(answer *http.Response) Outcome {
	o := Outcome{Status: answer.StatusCode}
	o.RetryAfter, _ = timing.RetryAfter(answer.Header, time.Now())
	switch s := o.Status; {
	case s >= 200 && s < 300:
		o.Name = outcomeDelivered
	case s == http.StatusTooManyRequests || s >= 400 && o.RetryAfter > 0:
		o.Name = outcomeThrottled
	case s >= 300 && s < 400:
		o.Name = outcomeRedirected
	case !answers.EventAgain(s):
		o.Name = outcomeRefused
	case s == http.StatusUnauthorized || s == http.StatusForbidden || s == http.StatusGone:
		o.Name = outcomeDenied
	case s >= 400 && s < 500:
		o.Name = outcomeRejected
	default:
		o.Name = outcomeFailed
	}
	return o
}

func failureOf(err error) string {
	var (
		dns         *net.DNSError
		operation   *net.OpError
		timeout     net.Error
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.As(err, &dns), errors.As(err, &operation) && (operation.Op == "dial" || operation.Op == "remote error" || operation.Op == "local error"),
		errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &alert):
		return outcomeUnreachable
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return outcomeTimeout
	}
	return outcomeBroken
}
