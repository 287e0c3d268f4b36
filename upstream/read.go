package upstream

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Bounds of the retries of reads.
const (
	readRetries  = 3
	shortestWait = 50 * time.Millisecond
	longestWait  = time.Second
	longestAsked = 5 * time.Second // a longer Retry-After is the caller's affair
)

// Answer is an answer held whole.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // decompressed
}

// Read sends a GET and returns the whole answer, after up to three retries of
// connection faults and of 502, 503 and 504, with full jitter or by the
// provider's Retry-After; whatever status came last is the answer. The error is
// a *[Fault]; ErrTooLarge is behind it when the answer exceeds the bound.
func (c *Client) Read(ctx context.Context, call Call) (Answer, error) {
	call.Method, call.Content = http.MethodGet, nil
	call.Header = call.Header.Clone()
	if call.Header == nil {
		call.Header = http.Header{}
	}
	// The answer will be looked into: it should come uncompressed.
	call.Header.Del("Accept-Encoding")

	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	attempt := &attempts{pool: c.pool(call.Endpoint), call: call}
	// What is sent is for each attempt to say: only context and method count.
	request, err := retryablehttp.NewRequestWithContext(ctx, call.Method, call.Endpoint.URLs[0].String(), nil)
	if err != nil {
		return Answer{}, &Fault{Err: err}
	}
	response, err := c.retrying(attempt).Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // its address is not that of the attempt
		}
		if cause := ctx.Err(); cause != nil {
			err = errors.Join(cause, err)
		}
		return Answer{}, &Fault{Sent: attempt.sent, Err: err}
	}
	response.Body = &answerBody{body: response.Body, left: c.options.MaxAnswer, cancel: cancel}
	defer response.Body.Close()
	body, err := ReadAll(response.Header, response.Body, c.options.MaxAnswer)
	if err != nil {
		return Answer{}, &Fault{Sent: true, Err: err}
	}
	return Answer{response.StatusCode, response.Header, body}, nil
}

// retrying returns the policy of one read over the transport of its pool.
func (c *Client) retrying(transport http.RoundTripper) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax:     readRetries,
		RetryWaitMin: shortestWait,
		RetryWaitMax: longestWait,
		CheckRetry:   retryRead,
		Backoff:      wait,
		// The last answer is better than the news that retries are over.
		ErrorHandler: func(response *http.Response, err error, _ int) (*http.Response, error) {
			if response != nil {
				return response, nil
			}
			return nil, err
		},
	}
}

// attempts sends the attempts of one read, each to the next address.
type attempts struct {
	pool *pool
	call Call
	sent bool
}

func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	response, sent, err := a.pool.roundTrip(r.Context(), a.call)
	a.sent = a.sent || sent
	return response, err
}

func retryRead(ctx context.Context, response *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled), nil
	}
	if !statusIsTransient(response.StatusCode) {
		return false, nil
	}
	asked := retryAfter(response)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < asked {
		return false, nil // the answer at hand is better than none
	}
	return asked <= longestAsked, nil
}

func wait(_, _ time.Duration, attempt int, response *http.Response) time.Duration {
	if asked := retryAfter(response); asked > 0 {
		return asked
	}
	ceiling := min(longestWait, shortestWait<<attempt)
	return rand.N(ceiling) //nolint:gosec // jitter needs no secrecy
}

// retryAfter returns the pause that an answer asks for in whole seconds, 0 when
// it asks for none.
func retryAfter(response *http.Response) time.Duration {
	if response == nil {
		return 0
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 1<<20)) * time.Second
}

// ReadAll reads an answer's body whole, at most limit bytes of it (beyond them
// it fails with [ErrTooLarge]), and undoes its compression, after which the
// same limit holds.
func ReadAll(h http.Header, body io.Reader, limit int64) ([]byte, error) {
	switch encoding := h.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("its gzip encoding is broken: %w", err)
		}
		body = unzipped
	default:
		return nil, fmt.Errorf("its encoding %q was not asked for", encoding)
	}
	content, err := io.ReadAll(io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > limit:
		return nil, ErrTooLarge
	}
	return content, nil
}
