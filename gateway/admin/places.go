package admin

import (
	"net"
	"net/http"
	"sync"
	"time"

	"portico/arm"
)

// Bounds of readers that wait for changes, or follow a stream of them: each looks at the
// store once in feedInterval.
const (
	mostWaiting     = 64
	mostWaitingEach = 16              // of one address
	placeRetry      = 5 * time.Second // when a reader comes back who found no place
)

// places are those of readers that wait. An address has a share of them, so that others
// find one.
type places struct {
	mu    sync.Mutex
	taken int
	by    map[string]int // by address
}

// take takes a place for a request, and returns how to leave it.
func (p *places) take(r *http.Request) (leave func(), fault error) {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == mostWaiting || p.by[address] == mostWaitingEach {
		tooMany := arm.NewError(arm.TooManyRequests, "as many readers wait for changes as may")
		tooMany.RetryAfter = placeRetry
		return nil, tooMany
	}
	p.taken++
	p.by[address]++
	return func() { p.leave(address) }, nil
}

func (p *places) leave(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.by[address]--; p.by[address] == 0 {
		delete(p.by, address)
	}
}
