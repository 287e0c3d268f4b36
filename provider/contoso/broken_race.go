package contoso

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// encounters remembers earlier requests for deliberate breaks. The zero value is empty.
type encounters struct {
	mu    sync.Mutex
	times map[string]int
	signs map[string]chan struct{}
}

// count counts a key, and returns its count.
func (e *encounters) count(what string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.times == nil {
		e.times = map[string]int{}
	}
	e.times[what]++
	return e.times[what]
}

// again reports whether a key was counted before.
func (e *encounters) again(what string) bool { return e.count(what) > 1 }

// signal returns a channel that is closed once the sign has been given.
func (e *encounters) signal(name string, give bool) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signs == nil {
		e.signs = map[string]chan struct{}{}
	}
	c, there := e.signs[name]
	if !there {
		c = make(chan struct{})
		e.signs[name] = c
	}
	if give {
		select {
		case <-c:
		default:
			close(c)
		}
	}
	return c
}

// hesitation bounds how long a write waits for another one to interfere.
const hesitation = 200 * time.Millisecond

// awaitSignal waits for a sign, at most for the hesitation.
func (p *Provider) awaitSignal(sign string) {
	patience := time.NewTimer(hesitation)
	defer patience.Stop()
	select {
	case <-p.met.signal(sign, false):
	case <-patience.C:
	case <-p.closing:
	}
}

// hesitate makes a PUT read its resource and wait for another write. It returns a
// function that replaces the present resource by the one that was read.
func (p *Provider) hesitate(c *call) (stale func(*resource) *resource) {
	present := func(r *resource) *resource { return r }
	if !p.breaks[twoCreations] && !p.breaks[lostDelete] || c.header.Get("If-Match") != "" || c.header.Get("If-None-Match") != "" {
		return present
	}
	var seen *resource
	if _, err := p.transact(func(x *tx) (answer, error) {
		seen = x.resourceAt(c.address)
		return answer{}, nil
	}); err != nil {
		return present
	}
	key := c.address.key()
	switch {
	case p.breaks[twoCreations] && seen == nil:
		if p.met.again("create " + key) {
			p.met.signal("create "+key, true)
		} else {
			p.awaitSignal("create " + key)
		}
	case p.breaks[lostDelete] && seen != nil:
		p.met.signal("put "+key, true)
		p.awaitSignal("delete " + key)
	default:
		return present
	}
	return func(*resource) *resource { return seen }
}

// hesitateToDelete makes a DELETE wait for a PUT, and returns a function to
// call after it.
func (p *Provider) hesitateToDelete(c *call) (done func()) {
	if !p.breaks[lostDelete] {
		return func() {}
	}
	key := c.address.key()
	p.awaitSignal("put " + key)
	return func() { p.met.signal("delete "+key, true) }
}

// burstLimit is the number of reads of one resource that are answered normally.
const burstLimit = 95

// refuseBurst answers further reads of a resource.
func (p *Provider) refuseBurst(c *call) (answer, bool) {
	if !p.breaks[throttledBare] && !p.breaks[throttledWithoutError] && !p.breaks[burst500] || p.met.count("read "+c.uri) < burstLimit {
		return answer{}, false
	}
	if p.breaks[burst500] {
		return failed(errBroken), true
	}
	a := failed(fail(http.StatusTooManyRequests, "TooManyRequests", "The resource is read too often."))
	if p.breaks[throttledWithoutError] {
		a = emptyAnswer(http.StatusTooManyRequests)
		a.header.Set("Retry-After", strconv.Itoa(1))
	}
	return a, true
}

// discardAnswer discards an answer.
type discardAnswer struct{}

func (discardAnswer) Header() http.Header         { return http.Header{} }
func (discardAnswer) Write(b []byte) (int, error) { return len(b), nil }
func (discardAnswer) WriteHeader(int)             {}
