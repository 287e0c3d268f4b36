package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	"portico/internal/failpoint"
	"portico/upstream/sendguard"
)

// overNetHTTP sends the request by net/http.
func (x *request) overNetHTTP(ctx context.Context, t *transports, p *pool, call *Call) (*http.Response, error) {
	if !call.deadline.IsZero() {
		ctx, x.cancel = context.WithDeadline(ctx, call.deadline)
	}
	ctx = httptrace.WithClientTrace(ctx, x.trace(isWrite(call.Method)))
	transport := t.reads
	if isWrite(call.Method) {
		transport = t.writes
	}
	for {
		// The transport itself replaces a dead connection only when the
		// content fits its buffer.
		response, err := transport.RoundTrip(p.request(ctx, call, x.header))
		if err == nil {
			return response, nil
		}
		if !x.guard.RetryStale() {
			if x.cancel != nil {
				x.cancel()
			}
			return nil, err
		}
	}
}

// trace observes each connection that net/http chooses for the request, and attaches
// the guard of a write to it.
func (x *request) trace(guarded bool) *httptrace.ClientTrace {
	t := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			conn := info.Conn
			var state *tls.ConnectionState
			if secured, ok := conn.(*tls.Conn); ok {
				conn = secured.NetConn()
				if !info.Reused {
					of := secured.ConnectionState()
					state = &of
				}
			}
			x.GotConn(conn, info.Reused, state)
			if c, ok := conn.(*sendguard.Conn); ok && guarded {
				x.guard.Attach(c, info.Reused)
			}
		},
	}
	if failpoint.Enabled && guarded {
		t.GotFirstResponseByte = func() { x.guard.Sent() } // no answer is read before the failpoint is passed
	}
	return t
}

// request builds the message byte for byte: net/url would reencode some paths.
func (p *pool) request(ctx context.Context, call *Call, header http.Header) *http.Request {
	path, err := url.PathUnescape(call.Path)
	if err != nil {
		path = call.Path
	}
	r := &http.Request{
		Method: call.Method,
		URL:    &url.URL{Scheme: p.base.Scheme, Host: p.base.Host, Path: path, RawPath: call.Path, RawQuery: call.Query},
		Host:   p.base.Host,
		Header: header,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	call.Own.AddTo(r.Header)
	if len(r.Header["User-Agent"]) == 0 {
		r.Header["User-Agent"] = []string{""} // none of net/http's own
	}
	if len(call.Content) > 0 {
		// GetBody lets the transport replace a connection that died while idle;
		// the guard prevents that it sends twice.
		content := call.Content
		r.ContentLength = int64(len(content))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		r.Body = io.NopCloser(bytes.NewReader(content))
	}
	hideReplayKeys(r.Header)
	return r.WithContext(ctx)
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func guardedDial(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return sendguard.NewConn(conn), nil
	}
}

// replayKeys are the headers that make net/http's transport consider a write safe to
// replay.
var replayKeys = []string{"Idempotency-Key", "X-Idempotency-Key"}

// hideReplayKeys respells these headers so that the transport does not recognise
// them; on the wire names are case-insensitive.
func hideReplayKeys(h http.Header) {
	for _, name := range replayKeys {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}
