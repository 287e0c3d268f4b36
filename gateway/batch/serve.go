package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/jobs/deploy"
	"portico/upstream"
)

// serve passes one request to the gateway, and returns the answer as the batch includes
// it, with its status.
func (b *Batches) serve(ctx context.Context, caller *Caller, q *Request) (answer []byte, status int) {
	status, header, text, fault := b.Send(ctx, caller, q)
	if fault != nil {
		return encodeError(q.Name, caller, fault), fault.Status
	}
	return encode(q.Name, status, header, text), status
}

// Send passes one request to the gateway, and returns the answer as its caller gets it,
// or a fault if there is no complete answer.
func (b *Batches) Send(ctx context.Context, caller *Caller, q *Request) (status int, header http.Header, body []byte, fault *arm.Error) {
	limit := b.Config.Limits.AnswerBody
	w := exchange.Capture(limit)
	r, fault := b.newRequest(ctx, caller, q)
	if fault == nil {
		fault = w.Run(r.URL.Path, func() { b.Handler.ServeHTTP(w, r) })
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

// newRequest returns the HTTP request for a request of a batch.
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
	return r.WithContext(context.WithValue(ctx, passedKey{}, passedRequest{q, caller})), nil
}

// parseTarget returns the URL of a target for readers of r.URL; the gateway reads the
// target itself.
func parseTarget(target string) *url.URL {
	path, query, _ := strings.Cut(target, "?")
	return &url.URL{Path: path, RawQuery: query}
}

// Sender returns a function that sends the calls of a deployment as a batch's requests
// are sent.
func (b *Batches) Sender(caller json.RawMessage) (deploy.Sender, error) {
	by, err := ReadCaller(caller)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, c deploy.Call) (deploy.Response, error) {
		by := by
		by.Principal = by.Principal.WithoutExpiry(time.Now())
		q := &Request{Method: c.Method, URL: c.Target, Content: c.Content, Origin: originOf(&c), Parent: c.Parent}
		status, header, body, fault := b.Send(ctx, &by, q)
		if fault != nil {
			return deploy.Response{Status: fault.Status, Header: header, Body: fault.Body()}, ctx.Err()
		}
		if status == arm.StatusClientClosed {
			return deploy.Response{}, ctx.Err()
		}
		return deploy.Response{Status: status, Header: header, Body: body}, nil
	}, nil
}

func originOf(c *deploy.Call) exchange.Origin {
	switch {
	case c.Parent != nil:
		return exchange.OriginNested
	case c.Method == http.MethodDelete:
		return exchange.OriginRemoval
	}
	return exchange.OriginStep
}

// Get reads a target on behalf of the caller of a request, as if the caller had sent the
// GET in a batch. fault reports an incomplete answer; an error answer is returned as
// status and body.
func (b *Batches) Get(r *http.Request, x *exchange.Exchange, target string) (status int, body []byte, fault *arm.Error) {
	status, _, body, fault = b.Send(r.Context(), NewCaller(r, x), &Request{Method: http.MethodGet, URL: target, Origin: exchange.OriginElement})
	return status, body, fault
}
