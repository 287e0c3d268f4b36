package batch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/upstream"
)

// serve passes one request to the gateway, and returns the answer as the caller gets it,
// with its status.
func (b *Batches) serve(ctx context.Context, caller *Caller, q *Request) (answer []byte, status int) {
	status, header, text, fault := b.Send(ctx, caller, q)
	if fault != nil {
		return encodeError(q.Name, caller, fault), fault.Status
	}
	return encode(q.Name, status, header, text), status
}

// Send passes one request to the gateway, and returns the answer as its caller gets it: a fault in
// its place where there is none that is whole.
func (b *Batches) Send(ctx context.Context, caller *Caller, q *Request) (status int, header http.Header, body []byte, fault *arm.Error) {
	limit := b.Config.Limits.AnswerBody
	w := exchange.Capture(limit)
	r, fault := b.newRequest(ctx, caller, q)
	if fault == nil {
		fault = w.Hold(r.URL.Path, func() { b.Handler.ServeHTTP(w, r) })
	}
	if fault == nil {
		text, err := upstream.ReadAll(w.Header(), bytes.NewReader(w.Body), limit)
		if err == nil && encodedSize(text) > limit {
			err = upstream.ErrTooLarge
		}
		if err == nil {
			delete(w.Header(), "Content-Encoding")
			return w.Status, w.Header(), text, nil
		}
		fault = arm.NewError(arm.InvalidProviderResponse, r.URL.Path, err.Error())
		if errors.Is(err, upstream.ErrTooLarge) {
			fault = w.TooLong(r.URL.Path)
		}
	}
	return fault.Status, nil, nil, fault
}

// newRequest makes an HTTP request of a request of a batch.
func (b *Batches) newRequest(ctx context.Context, caller *Caller, q *Request) (*http.Request, *arm.Error) {
	target, fault := q.Target(func(host string) bool { return b.Hosts[host] || strings.EqualFold(host, caller.Host) })
	if fault == nil && len(target) > longestTarget {
		fault = targetTooLong()
	}
	if fault != nil {
		return nil, fault
	}
	header, fault := q.Header(caller.Defaults)
	if fault != nil {
		return nil, fault
	}
	r := &http.Request{
		Method: q.Method, URL: parseTarget(target), RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Host: caller.Host, Body: http.NoBody,
	}
	if n := len(q.Content); n > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(q.Content)), int64(n)
	}
	return r.WithContext(context.WithValue(ctx, passedKey{}, passed{q, caller})), nil
}

// parseTarget is the URL of a target for readers of r.URL; the gateway reads the
// target itself.
func parseTarget(target string) *url.URL {
	path, query, _ := strings.Cut(target, "?")
	return &url.URL{Path: path, RawQuery: query}
}
