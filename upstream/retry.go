package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"portico/internal/timing"
	"portico/regions/health"
)

// Bounds of the retries of reads.
const (
	readRetries   = 3
	minRetryWait  = 50 * time.Millisecond
	maxRetryWait  = time.Second
	maxRetryAfter = 5 * time.Second // a longer Retry-After is left to the caller
)

// ErrOverBudget is returned if a retry was not sent because too many of the
// endpoint's requests are retries already.
var ErrOverBudget = errors.New("the budget of retries is used up")

// retryClient returns a client with the retry policy of one read.
func (a *attempts) retryClient() *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport:     a,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax:     readRetries,
		RetryWaitMin: minRetryWait,
		RetryWaitMax: maxRetryWait,
		CheckRetry:   a.checkRetry,
		Backoff:      retryBackoff,
		// Prefer the last answer to an error about retries.
		ErrorHandler: func(response *http.Response, err error, _ int) (*http.Response, error) {
			if response != nil {
				return response, nil
			}
			return nil, err
		},
	}
}

// admit counts the call and reports whether it may be made.
func (a *attempts) admit() bool {
	if a.call.IsRetry {
		return a.takeRetry()
	}
	a.target.retries.Request(time.Now())
	return true
}

// takeRetry takes a retry from the endpoint's budget.
func (a *attempts) takeRetry() bool {
	allowed := a.target.retries.Retry(time.Now())
	a.client.metrics.recordRetry(a.call.Endpoint.Region, allowed)
	return allowed
}

func (a *attempts) checkRetry(ctx context.Context, response *http.Response, err error) (bool, error) {
	again, ended := retryRead(ctx, response, err)
	if !again || ended != nil {
		return false, ended
	}
	if a.tries++; a.tries > readRetries {
		return true, nil // the policy refuses it, so nothing will be sent
	}
	return a.takeRetry(), nil
}

func retryRead(ctx context.Context, response *http.Response, err error) (bool, error) {
	switch {
	case queued(err):
		return false, err // it already waited in the queue
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	if err != nil {
		var down *health.Down
		return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !errors.As(err, &down), nil
	}
	if !IntermediaryFailure(response.StatusCode) {
		return false, nil
	}
	wanted := retryAfter(response)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wanted {
		return false, nil // the present answer is better than none
	}
	return wanted <= maxRetryAfter, nil
}

func retryBackoff(_, _ time.Duration, attempt int, response *http.Response) time.Duration {
	if wanted := retryAfter(response); wanted > 0 {
		return wanted
	}
	ceiling := min(maxRetryWait, minRetryWait<<attempt)
	return rand.N(ceiling) //nolint:gosec // jitter needs no secrecy
}

// retryAfter returns the pause that an answer requests; 0 if none.
func retryAfter(response *http.Response) time.Duration {
	if response == nil {
		return 0
	}
	pause, _ := timing.RetryAfter(response.Header, time.Now())
	return pause
}
