package limits

import (
	"sync"
	"time"
)

// The retry budget permits a share of the requests of a sliding window, and a few
// retries however small the traffic.
const (
	retryWindow = 10 // slots, a second each
	retryShare  = 5  // one retry per so many requests
	retryFloor  = 10 // retries in a window that are allowed in any case
)

// RetryBudget bounds the retries to one endpoint to a fifth of its requests in the
// last ten seconds, or to ten if that is more: an endpoint that fails for all gets
// little more traffic than a healthy one. The zero value is ready for use. It is
// safe for concurrent use.
type RetryBudget struct {
	mu    sync.Mutex
	slots [retryWindow]slot
}

// slot counts the requests of one second.
type slot struct {
	second            int64
	requests, retries int
}

// Request counts a request that is not a retry.
func (b *RetryBudget) Request(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at(now).requests++
}

// Retry reports whether a retry may be made, and counts it if so.
func (b *RetryBudget) Retry(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	current := b.at(now)
	requests, retries := 0, 0
	for _, s := range b.slots {
		if age := current.second - s.second; age >= 0 && age < retryWindow {
			requests += s.requests
			retries += s.retries
		}
	}
	if retries >= max(retryFloor, requests/retryShare) {
		return false
	}
	current.retries++
	return true
}

// at returns the slot of now, cleared if it holds an earlier second.
func (b *RetryBudget) at(now time.Time) *slot {
	second := now.Unix()
	s := &b.slots[((second%retryWindow)+retryWindow)%retryWindow]
	if s.second != second {
		*s = slot{second: second}
	}
	return s
}
