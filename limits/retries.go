package limits

import (
	"sync"
	"time"
)

// The retry budget: of the requests of a sliding window, retries may be a
// share, and a few however little is asked.
const (
	retryWindow = 10 // slots, a second each
	retryShare  = 5  // one retry per so many requests
	retryFloor  = 10 // retries in a window that are allowed in any case
)

// RetryBudget bounds the retries towards one endpoint to a fifth of its
// requests over the last ten seconds, and to ten where it gets few: an endpoint
// that fails for all is asked little more often than one that is well. The zero
// value is ready for use, by any number of goroutines.
type RetryBudget struct {
	mu    sync.Mutex
	slots [retryWindow]slot
}

// slot counts what happened in one second.
type slot struct {
	second            int64
	requests, retries int
}

// Request counts a request that is no retry.
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

// at returns the slot of now, emptied of what an earlier second left in it.
func (b *RetryBudget) at(now time.Time) *slot {
	second := now.Unix()
	s := &b.slots[((second%retryWindow)+retryWindow)%retryWindow]
	if s.second != second {
		*s = slot{second: second}
	}
	return s
}
