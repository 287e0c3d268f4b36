package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"portico/failpoint"
	"portico/regions/health"
)

// mostAddresses bounds the addresses that one attempt goes through.
const maxAddresses = 3

// errSwitched: no call asks for another protocol. errNoStatus: net/http reads
// statuses below 100, and panics where one is passed on.
var (
	errProtocolSwitch = errors.New("the provider switched to another protocol")
	errInvalidStatus  = errors.New("the provider answered with what is no status")
)

// attempt sends a call to the address that is fittest. As long as no connection
// can be made it goes on to others: nothing has been sent then. tried, which
// may be nil, are addresses to be avoided where there are others; those that
// are called are added: what they answer may be worth another attempt. An
// answer counts as under way until its body is closed.
func (c *Client) attempt(ctx context.Context, t *target, call Call, tried *health.Tried) (response *http.Response, sent bool, err error) {
	var own health.Tried
	if tried == nil {
		tried = &own
	}
	choice, ok, err := t.addresses.Choose(c.now(), rand.Uint64(), *tried) //nolint:gosec // balance needs no secrecy
	if !ok && err == nil {
		*tried = 0
		choice, _, err = t.addresses.Choose(c.now(), rand.Uint64(), 0) //nolint:gosec // as above
	}
	if err != nil {
		return nil, false, c.countRefusal(err)
	}
	for n := 1; ; n++ {
		r := c.send(ctx, t, choice, call)
		sent = sent || r.sent
		*tried = tried.With(choice.Index)
		if r.err == nil {
			return r.response, sent, nil
		}
		if r.connected || n == maxAddresses || ctx.Err() != nil {
			return nil, sent, r.err
		}
		if choice, ok, err = t.addresses.Choose(c.now(), rand.Uint64(), *tried); !ok || err != nil { //nolint:gosec // as above
			return nil, sent, r.err
		}
	}
}

// sending is what came of a call at one address.
type attemptResult struct {
	response  *http.Response
	sent      bool // a byte of the request may have left
	connected bool // or there is no telling
	err       error
}

// send sends a call to a chosen address, and tells its health what came of it.
func (c *Client) send(ctx context.Context, t *target, choice health.Choice, call Call) attemptResult {
	began := c.now()
	r := c.roundTrip(ctx, t.pools[choice.Index], choice, call)
	now := c.now()
	switch {
	case r.err == nil:
		choice.Answered(now, now-began, r.response.StatusCode)
		r.response.Body = &releaseOnClose{r.response.Body, choice.Release}
		if status := r.response.StatusCode; status < http.StatusOK { // interim ones never come here
			_ = r.response.Body.Close()
			if r.response, r.err = nil, errProtocolSwitch; status != http.StatusSwitchingProtocols {
				r.err = errInvalidStatus
			}
		}
		return r
	case !r.connected:
		choice.Unreachable(now, connectFailureReason(r.err))
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(r.err, errTooLate), errors.Is(r.err, errCutOff):
		// The caller's affair: it says nothing of the address.
	case r.sent:
		choice.Failed(now)
	}
	choice.Release()
	return r
}

// exchange is send without the telling, but of new connections.
func (c *Client) roundTrip(ctx context.Context, p *pool, choice health.Choice, call Call) attemptResult {
	var got atomic.Bool
	made := func(info httptrace.GotConnInfo) {
		got.Store(true)
		countConnection(info)
		if !info.Reused {
			choice.Connected(c.now())
		}
	}
	if call.Method == http.MethodGet || call.Method == http.MethodHead {
		response, err := p.send(p.transports.Load().reads, p.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: made}), call)) //nolint:bodyclose // the caller has it
		return attemptResult{response, got.Load(), err == nil || connected(ctx, got.Load(), err), err}
	}
	if err := failpoint.Hit(failpoint.UpstreamSendBefore); err != nil {
		return attemptResult{nil, false, true, err}
	}
	s := &writeGuard{started: call.Since, firstByteWithin: call.SendWithin, lastByteWithin: call.EndWithin}
	ctx = s.trace(ctx, made)
	for {
		// The transport itself replaces a dead connection only when the
		// content fits its buffer.
		response, err := p.send(p.transports.Load().writes, p.request(ctx, call)) //nolint:bodyclose // as above
		if err == nil {
			return attemptResult{response, s.sent(), true, nil}
		}
		if !s.retryStale() {
			err = s.withDeadlineError(err)
			return attemptResult{nil, s.sent(), s.sent() || errors.Is(err, errTooLate) || connected(ctx, got.Load(), err), err}
		}
	}
}

// connected reports whether a call that failed had a connection, or failed for
// something else than the want of one. A dead connection that was to be
// replaced is none.
func connected(ctx context.Context, got bool, err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return errors.Is(ctx.Err(), context.Canceled)
	}
	return got || ctx.Err() != nil
}

// unreachableText is why no connection could be made, without what differs
// from one time to the next.
func connectFailureReason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return "its name does not resolve"
	case errors.As(err, &op) && op.Timeout():
		return "connecting took too long"
	case errors.As(err, &op) && op.Op == "dial" && op.Err != nil:
		return op.Err.Error()
	}
	return err.Error()
}

// request builds the message byte for byte: net/url would write some paths in
// an encoding of its own.
func (p *pool) request(ctx context.Context, call Call) *http.Request {
	path, err := url.PathUnescape(call.Path)
	if err != nil {
		path = call.Path
	}
	r := &http.Request{
		Method: call.Method,
		URL:    &url.URL{Scheme: p.base.Scheme, Host: p.base.Host, Path: path, RawPath: call.Path, RawQuery: call.Query},
		Host:   p.base.Host,
		Header: call.Header,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if len(r.Header["User-Agent"]) == 0 {
		r.Header["User-Agent"] = []string{""} // none of net/http's own
	}
	if len(call.Content) > 0 {
		// With GetBody the transport can change from a connection that died
		// while idle to a fresh one; that it never sends twice is for the
		// guard to see to.
		r.ContentLength = int64(len(call.Content))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(call.Content)), nil }
		r.Body = io.NopCloser(bytes.NewReader(call.Content))
	}
	hideReplayKeys(r.Header)
	return r.WithContext(ctx)
}
