package limits

import (
	"sync"
	"time"
)

// Retries may be a fraction of the requests in a sliding window, and a few even with little
// traffic.
const (
	retryWindow      = 10 // seconds
	requestsPerRetry = 5  // requests that permit one retry
	minRetries       = 10 // retries per window that are always allowed
)

// RetryBudget limits the retries to an endpoint to a fifth of its requests in the last ten seconds,
// or to ten if that is more. An endpoint that fails for all then gets little more traffic than a
// healthy one. The zero value is ready for use. It is safe for concurrent use.
type RetryBudget struct {
	mu    sync.Mutex
	slots [retryWindow]secondCount
}

// secondCount counts the requests of one second.
type secondCount struct {
	second            int64
	requests, retries int
}

// Request counts a request that is not a retry.
func (b *RetryBudget) Request(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slotAt(now).requests++
}

// Retry reports whether a retry is allowed, and counts it if so.
func (b *RetryBudget) Retry(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	current := b.slotAt(now)
	requests, retries := 0, 0
	for _, s := range b.slots {
		if age := current.second - s.second; age >= 0 && age < retryWindow {
			requests += s.requests
			retries += s.retries
		}
	}
	if retries >= max(minRetries, requests/requestsPerRetry) {
		return false
	}
	current.retries++
	return true
}

// slotAt returns the slot of now, cleared if it is from an earlier second.
func (b *RetryBudget) slotAt(now time.Time) *secondCount {
	second := now.Unix()
	s := &b.slots[((second%retryWindow)+retryWindow)%retryWindow]
	if s.second != second {
		*s = secondCount{second: second}
	}
	return s
}
