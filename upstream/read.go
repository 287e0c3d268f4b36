package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/hashicorp/go-retryablehttp"

	"portico/regions/health"
)

// Answer is a buffered answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // decompressed
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
	// The answer will be parsed: ask for it uncompressed.
	call.Header.Del("Accept-Encoding")

	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	attempt := &attempts{client: c, target: c.target(call.Endpoint), call: call}
	if err := attempt.target.addresses.Check(c.now()); err != nil {
		return Answer{}, &Fault{Region: call.Endpoint.Region, Err: c.countRefusal(err)} // no retry is worth it
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
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // its URL is not that of the attempt
		}
		if cause := ctx.Err(); cause != nil {
			err = errors.Join(cause, err)
		}
		return Answer{}, &Fault{Sent: attempt.sent, Region: call.Endpoint.Region, Err: err}
	}
	response.Body = &answerBody{body: response.Body, left: c.options.MaxAnswer, cancel: cancel}
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

// attempts sends the attempts of one read, each to an address not yet tried if there
// is one.
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
	if err := acquire(r.Context(), a.target.readers, a.call.Caller); err != nil {
		return nil, err
	}
	a.target.reading.Inc()
	response, sent, err := a.client.attempt(r.Context(), a.target, a.call, &a.tried)
	a.sent = a.sent || sent
	if err != nil {
		a.release()
		return nil, err
	}
	response.Body = &releaseOnClose{response.Body, a.release}
	return response, nil
}

func (a *attempts) release() {
	a.target.reading.Dec()
	a.target.readers.Release(a.call.Caller)
}

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
