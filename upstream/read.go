package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"portico/regions/health"
)

// Answer is a buffered answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // decompressed, without a byte order mark
}

// Read sends a GET and returns the whole answer. It retries connection faults and
// 502, 503 and 504 up to three times, with full jitter or after the provider's
// Retry-After, within the endpoint's retry budget; the last status is returned,
// whatever it is. The error is a *[Fault], which wraps [ErrTooLarge],
// [ErrOverBudget] if a call with IsRetry was not made, or the error of call.Reserve.
func (c *Client) Read(ctx context.Context, call Call) (Answer, error) {
	call.Method, call.Content = http.MethodGet, nil
	call.Header = call.Header.Clone()
	if call.Header == nil {
		call.Header = http.Header{}
	}
	// The answer will be parsed, so it is requested uncompressed.
	call.Header.Del("Accept-Encoding")

	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	attempt := &attempts{client: c, target: c.target(call.Endpoint), call: call}
	if err := attempt.target.addresses.Check(c.now()); err != nil {
		return Answer{}, &Fault{Region: call.Endpoint.Region, Err: c.countRefusal(err)} // a retry is useless
	}
	if !attempt.admit() {
		return Answer{}, &Fault{Region: call.Endpoint.Region, Err: ErrOverBudget}
	}
	// Each attempt builds its own request: only context and method count here.
	request, err := retryablehttp.NewRequestWithContext(ctx, call.Method, call.Endpoint.URLs[0].String(), nil)
	if err != nil {
		return Answer{}, &Fault{Region: call.Endpoint.Region, Err: err}
	}
	response, err := attempt.retryClient().Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // its URL is not the attempt's
		}
		return Answer{}, &Fault{Sent: attempt.sent, Region: call.Endpoint.Region, Err: withCause(ctx.Err(), err)}
	}
	response.Body = &boundedBody{response.Body, bound{c.options.MaxAnswer}}
	defer response.Body.Close()
	body, err := readBody(response, c.options.MaxAnswer, func(n int64) error {
		if call.Reserve == nil {
			return nil
		}
		return call.Reserve(ctx, n)
	}, call.Buffer)
	if err != nil {
		return Answer{}, &Fault{Sent: true, Region: call.Endpoint.Region, Err: err}
	}
	return Answer{response.StatusCode, response.Header, body}, nil
}

// attempts sends the attempts of one read, each to an address not yet tried
// if there is one.
type attempts struct {
	client *Client
	target *target
	call   Call
	tried  health.Tried
	sent   bool
	tries  int
}

// RoundTrip makes one attempt. It holds a slot until its answer's body is closed.
func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := a.client.acquire(r.Context(), time.Time{}, a.target.readers, &a.call); err != nil {
		return nil, err
	}
	a.target.reading.Inc()
	result := a.client.attempt(r.Context(), a.target, &a.call, &a.tried, time.Now())
	a.sent = a.sent || result.sent
	if result.err != nil {
		a.release()
		return nil, result.err
	}
	result.response.Body = &releaseOnClose{result.response.Body, a.release}
	return result.response, nil
}

func (a *attempts) release() {
	a.target.reading.Dec()
	a.target.readers.Release(a.call.Caller)
}

// boundedBody is a body that returns [ErrTooLarge] beyond its bound.
type boundedBody struct {
	io.ReadCloser
	bound
}

func (b *boundedBody) Read(p []byte) (int, error) { return b.read(b.ReadCloser, p) }

// releaseOnClose is a body that calls release on its first Close.
type releaseOnClose struct {
	io.ReadCloser
	release func()
}

func (r *releaseOnClose) Close() error {
	if r.release != nil {
		r.release()
		r.release = nil
	}
	return r.ReadCloser.Close()
}
