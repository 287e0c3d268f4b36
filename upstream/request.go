package upstream

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"portico/internal/http1/client"
	"portico/internal/sendguard"
	"portico/limits"
	"portico/regions/health"
	"portico/tracing/spans"
)

// request is one request to one address, and then the body of its answer.
type request struct {
	client  *Client
	series  *addressMetrics
	choice  health.Choice
	timing  *Timing
	header  http.Header     // the call's, with the address's own
	ended   time.Time       // when the headers of the answer arrived, or it failed
	span    *spans.Span     // until the answer has been read
	gotConn atomic.Bool     // it had a connection
	fresh   atomic.Bool     // it carried no request before
	guard   sendguard.Guard // of a write
	sent    client.Request  // by package internal/http1/client

	body         io.ReadCloser      // of the answer
	cancel       context.CancelFunc // ends the context of net/http; may be nil
	bodyInMemory bool               // the body is in memory: reading it takes no time
	failed       bool               // the body
	answered     atomic.Bool        // the body was closed
	bound
	slot
}

// slot is a call's slot of its endpoint, for [Client.Do].
type slot struct {
	of       *limits.Concurrency // nil: none
	caller   string
	released atomic.Bool // whether it was released
}

// release releases the slot, once.
func (s *slot) release() {
	if s.of != nil && s.released.CompareAndSwap(false, true) {
		s.of.Release(s.caller)
	}
}

// GotConn counts the connection that the request got, and records a new one in the
// health of the address.
func (x *request) GotConn(_ net.Conn, reused bool, state *tls.ConnectionState) {
	x.gotConn.Store(true)
	x.fresh.Store(!reused)
	if reused {
		x.series.reused.Inc()
		return
	}
	x.series.opened.Inc()
	if state != nil {
		x.series.recordCertificate(*state)
	}
	x.choice.Connected(x.client.now())
}

// begin measures the time from now until the headers of the answer.
func (x *request) begin(now time.Time) {
	x.series.inFlight.Inc()
	x.series.tally.requests.Add(1)
	x.timing.call(x.series.address)
	x.timing.begin(now)
}

// end records the attempt, and begins to measure an answer's body.
func (x *request) end(started time.Time, response *http.Response, err error, call *Call) {
	x.ended = time.Now()
	x.timing.end(x.ended)
	x.series.inFlight.Dec()
	x.series.seconds.Observe(x.ended.Sub(started), x.ended, correlationOf(call), x.span.TraceID())
	if err != nil {
		x.series.failed(err)
		return
	}
	x.series.answered(call.Method, response.StatusCode)
	x.left = unbounded
	x.body, response.Body = response.Body, x
	if body, ok := x.body.(interface{ Held() bool }); ok {
		x.bodyInMemory = body.Held()
	}
}

// abandon ends a request whose answer is not wanted.
func (x *request) abandon() {
	if x.cancel != nil {
		x.cancel()
	}
}

// Read reads the answer. The time counts as the provider's, and a failure as
// an error. It releases the call's slot at the end of the answer.
func (x *request) Read(p []byte) (int, error) {
	n, err := x.read(measured{x}, p)
	if err != nil && err != ErrTooLarge { //nolint:errorlint // only x returns it
		x.release()
	}
	return n, err
}

// measured reads the body of a request's answer.
type measured struct{ *request }

func (m measured) Read(p []byte) (int, error) {
	timed := m.timing != nil && !m.bodyInMemory
	if timed {
		m.timing.begin(time.Now())
	}
	n, err := m.body.Read(p)
	if timed {
		m.timing.end(time.Now())
	}
	if err != nil && err != io.EOF && !m.failed {
		m.failed = true
		m.series.failed(err)
		m.span.Fail(ErrorKind(err))
	}
	return n, err
}

// Close ends the call, and releases its address and its slot.
func (x *request) Close() error {
	if x.answered.CompareAndSwap(false, true) {
		x.choice.Release()
	}
	err := x.body.Close()
	if x.cancel != nil {
		x.cancel()
	}
	x.release()
	x.span.End()
	return err
}

// bound holds the bytes left of an answer's bound.
type bound struct{ left int64 }

const unbounded = 1<<63 - 2

// read reads from a body, and returns [ErrTooLarge] beyond the bound.
func (b *bound) read(body io.Reader, p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := body.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		b.left = 0
		return n, ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}
