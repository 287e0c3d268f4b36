package admin

import (
	"net"
	"net/http"
	"sync"
	"time"

	"portico/arm"
)

// Bounds on readers that wait for changes or follow a stream of them: each reads the store
// once per feedInterval.
const (
	mostWaiting     = 64
	mostWaitingEach = 16              // from one address
	readerRetry     = 5 * time.Second // the Retry-After for readers beyond the bounds
)

// feedReaders counts waiting readers, in all and by address, so that one address cannot
// exclude the others.
type feedReaders struct {
	mu        sync.Mutex
	count     int
	byAddress map[string]int
}

// add counts a request as a waiting reader until leave is called. It returns an error if
// there are too many.
func (f *feedReaders) add(r *http.Request) (leave func(), fault error) {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == mostWaiting || f.byAddress[address] == mostWaitingEach {
		tooMany := arm.NewError(arm.TooManyRequests, "too many readers wait for changes")
		tooMany.RetryAfter = readerRetry
		return nil, tooMany
	}
	f.count++
	f.byAddress[address]++
	return func() { f.remove(address) }, nil
}

func (f *feedReaders) remove(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count--
	if f.byAddress[address]--; f.byAddress[address] == 0 {
		delete(f.byAddress, address)
	}
}
