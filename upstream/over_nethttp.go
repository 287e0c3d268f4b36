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
)

// overNetHTTP sends a read by net/http, which uses HTTP/2 if the provider supports it.
func (x *request) overNetHTTP(ctx context.Context, t *transports, p *pool, call *Call) (*http.Response, error) {
	if !call.deadline.IsZero() {
		ctx, x.cancel = context.WithDeadline(ctx, call.deadline)
	}
	response, err := t.secureReads.RoundTrip(p.request(httptrace.WithClientTrace(ctx, x.trace()), call, x.header))
	if err != nil && x.cancel != nil {
		x.cancel()
	}
	return response, err
}

// trace observes each connection that net/http chooses for the request.
func (x *request) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			var state *tls.ConnectionState
			if secured, ok := info.Conn.(*tls.Conn); ok && !info.Reused {
				of := secured.ConnectionState()
				state = &of
			}
			x.GotConn(info.Conn, info.Reused, state)
		},
	}
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
		r.Header["User-Agent"] = []string{""} // suppress net/http's own
	}
	if len(call.Content) > 0 {
		// GetBody lets the transport replace a connection that died while idle.
		content := call.Content
		r.ContentLength = int64(len(content))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		r.Body = io.NopCloser(bytes.NewReader(content))
	}
	return r.WithContext(ctx)
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)
