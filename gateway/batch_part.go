package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"portico/access"
	"portico/arm"
	"portico/gateway/exchange"
	"portico/tracing"
	"portico/upstream"
)

// batchCaller is whoever sent a batch, as far as each request in it is
// concerned.
type batchCaller struct {
	Principal   access.Principal
	Client      tracing.Client
	Correlation string
	Host        string // by which the caller reached the front door
	// Defaults are headers that a request has if it does not bring its own.
	Defaults http.Header
}

// inherited are the headers that the requests of a batch have from it.
var inherited = []string{"Accept-Language", "User-Agent"}

func newBatchCaller(r *http.Request, x *exchange.Exchange) *batchCaller {
	c := &batchCaller{
		Principal: x.Principal, Client: x.Client, Correlation: x.Identity.Correlation, Host: r.Host, Defaults: http.Header{},
	}
	for _, name := range inherited {
		if values := r.Header[name]; len(values) > 0 {
			c.Defaults[name] = values
		}
	}
	return c
}

// name is as (*exchange.Exchange).caller has it.
func (c *batchCaller) name() string { return exchange.CallerName(c.Principal, c.Client) }

type batchCallerKey struct{}

// callerOf is the caller of the batch that a request is in, nil outside of one.
func callerOf(ctx context.Context) *batchCaller {
	c, _ := ctx.Value(batchCallerKey{}).(*batchCaller)
	return c
}

// batchedChain returns the chain that a request in a batch goes through: that of
// any other, but for what its connection has said and done already.
func (g *Gateway) batchedChain() http.Handler {
	return chain(http.HandlerFunc(g.dispatch), exchange.Begin(g.exchanges), g.observer.Observe, g.recover, g.identifyBatched, g.classify)
}

// identifyBatched is identify and authenticate for a request in a batch: it has
// ids of its own but for the correlation, and its caller is the batch's,
// whatever its headers say.
func (g *Gateway) identifyBatched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, caller := exchange.From(r), callerOf(r.Context())
		r.Header[tracing.CorrelationHeader] = []string{caller.Correlation}
		x.Batched, x.Client = true, caller.Client
		if fault := g.mint(x, r); fault != nil {
			exchange.Fail(w, r, fault)
			return
		}
		g.admit(x, r, caller.Principal)
		next.ServeHTTP(w, r)
	})
}

// carryBatched carries one request of a batch and returns its answer as the
// caller gets it, with its status.
func (g *Gateway) carryBatched(ctx context.Context, caller *batchCaller, q *batchedRequest) (answer []byte, status int) {
	w := exchange.Capture(g.config.Limits.AnswerBody)
	r, fault := g.batchedRequest(ctx, caller, q)
	if fault == nil {
		fault = w.Hold(r.URL.Path, func() { g.batched.ServeHTTP(w, r) })
	}
	if fault == nil {
		text, err := upstream.ReadAll(w.Header(), bytes.NewReader(w.Body), g.config.Limits.AnswerBody)
		if err == nil && sizeInBatch(text) > g.config.Limits.AnswerBody {
			err = upstream.ErrTooLarge
		}
		if err == nil {
			delete(w.Header(), "Content-Encoding")
			return answerOf(q.Name, w.Status, w.Header(), text), w.Status
		}
		fault = arm.NewError(arm.InvalidProviderResponse, r.URL.Path, err.Error())
		if errors.Is(err, upstream.ErrTooLarge) {
			fault = w.TooLong(r.URL.Path)
		}
	}
	return refusalOf(q.Name, caller, fault), fault.Status
}

// batchedRequest is a request of a batch as one of its own.
func (g *Gateway) batchedRequest(ctx context.Context, caller *batchCaller, q *batchedRequest) (*http.Request, *arm.Error) {
	target, fault := q.target(func(host string) bool { return g.hosts[host] || strings.EqualFold(host, caller.Host) })
	if fault == nil && len(target) > batchedTarget {
		fault = targetTooLong()
	}
	if fault != nil {
		return nil, fault
	}
	header, fault := q.header(caller)
	if fault != nil {
		return nil, fault
	}
	r := &http.Request{
		Method: q.Method, URL: urlOf(target), RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Host: caller.Host, Body: http.NoBody,
	}
	if n := len(q.Content); n > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(q.Content)), int64(n)
	}
	return r.WithContext(context.WithValue(ctx, batchCallerKey{}, caller)), nil
}
