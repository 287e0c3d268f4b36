package upstream

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"syscall"
	"time"

	"portico/internal/failpoint"
	"portico/internal/sendguard"
	"portico/regions/health"
	"portico/tracing/spans"
)

// maxAddresses bounds the addresses that one attempt tries.
const maxAddresses = 3

// No call requests a protocol switch. net/http accepts statuses below 100
// from a server, and panics when a handler writes one.
var (
	errProtocolSwitch = errors.New("the provider switched to another protocol")
	errInvalidStatus  = errors.New("the provider answered with what is no status")
)

// attempt sends a call to an address. If it cannot connect it tries others, because
// nothing has been sent then. It avoids the addresses in tried while there are others,
// and adds the ones that it calls. If tried is nil, it also repeats a read whose
// connection broke off, once, at another address: the caller has received nothing of an
// answer, and no other part of Portico repeats the call. An answer counts as in flight
// until its body is closed. now is when the attempt begins: the caller has just read the
// clock, which costs as much as an allocation.
func (c *Client) attempt(ctx context.Context, t *target, call *Call, tried *health.Tried, now time.Time) attemptResult {
	var own health.Tried
	repeats := tried == nil && !isWrite(call.Method) && len(call.Content) == 0
	if tried == nil {
		tried = &own
	}
	choice, ok, err := t.addresses.Choose(c.at(now), rand.Uint64(), *tried) //nolint:gosec // balance needs no secrecy
	if !ok && err == nil {
		*tried = 0
		choice, _, err = t.addresses.Choose(c.at(now), rand.Uint64(), 0) //nolint:gosec // as above
	}
	if err != nil {
		return attemptResult{err: c.countRefusal(err)}
	}
	sent := false
	for n := 1; ; n++ {
		call.attempt++
		r := c.send(ctx, t, choice, call, now)
		sent = sent || r.sent
		r.sent = sent
		*tried = tried.With(choice.Index)
		if r.err == nil || n == maxAddresses || call.ended(ctx) != nil {
			return r
		}
		if r.connected {
			if !repeats || !brokeOff(r.err) {
				return r
			}
			repeats = false // a request that crashes its servers must not reach them all
		}
		now = r.request.ended
		if choice, ok, err = t.addresses.Choose(c.at(now), rand.Uint64(), *tried); !ok || err != nil { //nolint:gosec // as above
			return r
		}
	}
}

// attemptResult is the result of a call to one address, or to several.
type attemptResult struct {
	response  *http.Response
	request   *request // the response's body; nil if no request was made
	sent      bool     // a byte of the request may have left
	connected bool     // or unknown
	err       error
}

// send calls a chosen address and records the result in its health.
func (c *Client) send(ctx context.Context, t *target, choice health.Choice, call *Call, began time.Time) attemptResult {
	r := c.roundTrip(ctx, t.pools[choice.Index], choice, call, began)
	now := c.at(r.request.ended)
	switch {
	case r.err == nil:
		choice.Answered(now, r.request.ended.Sub(began), r.response.StatusCode)
		if status := r.response.StatusCode; status < http.StatusOK { // the transport consumes other interim answers
			_ = r.response.Body.Close()
			if r.response, r.err = nil, errProtocolSwitch; status != http.StatusSwitchingProtocols {
				r.err = errInvalidStatus
			}
		}
		return r
	case !r.connected:
		choice.Unreachable(now, connectFailureReason(r.err))
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(r.err, sendguard.ErrTooLate), errors.Is(r.err, sendguard.ErrCutOff):
		// The caller ended it, which proves nothing about the address.
	case r.sent, trustKind(r.err) != "":
		choice.Failed(now)
	}
	choice.Release()
	return r
}

// roundTrip sends a call. In the address's health it records only new connections.
func (c *Client) roundTrip(ctx context.Context, p *pool, choice health.Choice, call *Call, began time.Time) attemptResult {
	x := &request{client: c, series: p.series, choice: choice, timing: timingOf(ctx), header: call.Header}
	if of := spans.FromContext(ctx); of != nil {
		x.beginSpan(of, call)
	}
	r := c.sendOver(ctx, p, x, call, began)
	x.endSpan(r)
	return r
}

func (c *Client) sendOver(ctx context.Context, p *pool, x *request, call *Call, began time.Time) attemptResult {
	if isWrite(call.Method) {
		if err := failpoint.Hit(failpoint.UpstreamSendBefore); err != nil {
			x.ended = time.Now()
			return attemptResult{nil, x, false, true, err}
		}
		x.guard.Set(call.Since, call.SendWithin, call.EndWithin)
		if c.onWrite != nil {
			c.onWrite(&x.guard)
		}
	}
	t := p.transports.Load()
	x.header = t.identity.stamp(x.header)
	x.begin(began)
	var response *http.Response
	var err error
	if p.useHTTP1(call) {
		response, err = x.overHTTP1(ctx, t, call, began) //nolint:bodyclose // the caller closes it
	} else {
		response, err = x.overNetHTTP(ctx, t, p, call) //nolint:bodyclose // as above
	}
	if err == nil {
		if err = t.identity.refusal(response); err != nil {
			response = nil
			x.abandon()
		}
	}
	x.end(began, response, err, call)
	if err != nil {
		c.logTrust(p, t.identity, call, err, x.ended)
	}
	got := x.gotConn.Load()
	switch {
	case !isWrite(call.Method):
		return attemptResult{response, x, got, err == nil || connected(ctx, call, got, err), err}
	case err == nil:
		return attemptResult{response, x, x.guard.Sent(), true, nil}
	}
	err = x.guard.WithDeadlineError(err)
	sent := x.guard.Sent() && !x.refused(err)
	return attemptResult{nil, x, sent, sent || errors.Is(err, sendguard.ErrTooLate) || connected(ctx, call, got, err), err}
}

// refused reports whether the provider refused the whole connection because of Portico's
// certificate or credential. A TLS alert proves it on a new connection: the provider's
// side of the handshake has not ended then, so it has read nothing of the request.
func (x *request) refused(err error) bool {
	return errors.Is(err, ErrUntrusted) || errors.Is(err, ErrCredential) || x.fresh.Load() && refusedByAlert(err)
}

func isWrite(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// connected reports whether a failed call had a connection, or failed for another reason
// than the lack of one. A dead connection that was to be replaced does not count.
func connected(ctx context.Context, call *Call, got bool, err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return errors.Is(ctx.Err(), context.Canceled)
	}
	return got || call.ended(ctx) != nil
}

// brokeOff reports whether a connection ended before the head of an answer had arrived.
func brokeOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// connectFailureReason describes why a connection failed, without details
// that vary between failures.
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
