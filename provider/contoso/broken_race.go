package contoso

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// encounters is the memory of deliberate breaks about earlier requests. The zero value
// is empty.
type encounters struct {
	mu    sync.Mutex
	times map[string]int
	signs map[string]chan struct{}
}

// count counts a key, and returns how often it was counted.
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

// sign is a channel that is closed once the sign was given.
func (e *encounters) sign(name string, give bool) <-chan struct{} {
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

// hesitation is how long a write waits for another one to interfere.
const hesitation = 200 * time.Millisecond

// await waits a moment for a sign.
func (p *Provider) await(sign string) {
	patience := time.NewTimer(hesitation)
	defer patience.Stop()
	select {
	case <-p.met.sign(sign, false):
	case <-patience.C:
	case <-p.closing:
	}
}

// hesitate makes a PUT read its resource, wait for another write, and then go on with
// what it has read. It returns what the PUT takes for the present resource.
func (p *Provider) hesitate(c *call) (stale func(*resource) *resource) {
	present := func(r *resource) *resource { return r }
	if !p.breaks[twoCreations] && !p.breaks[lostDelete] || c.header.Get("If-Match") != "" || c.header.Get("If-None-Match") != "" {
		return present
	}
	var seen *resource
	if _, err := p.transact(func(x *tx) (answer, error) {
		seen = x.held(c.address)
		return answer{}, nil
	}); err != nil {
		return present
	}
	key := c.address.key()
	switch {
	case p.breaks[twoCreations] && seen == nil:
		if p.met.again("create " + key) {
			p.met.sign("create "+key, true)
		} else {
			p.await("create " + key)
		}
	case p.breaks[lostDelete] && seen != nil:
		p.met.sign("put "+key, true)
		p.await("delete " + key)
	default:
		return present
	}
	return func(*resource) *resource { return seen }
}

// hesitateToDelete makes a DELETE wait for a PUT, and returns what to do at its end.
func (p *Provider) hesitateToDelete(c *call) (done func()) {
	if !p.breaks[lostDelete] {
		return func() {}
	}
	key := c.address.key()
	p.await("put " + key)
	return func() { p.met.sign("delete "+key, true) }
}

// enough is how many reads of one resource are too many.
const enough = 95

// weary answers a read that is one too many.
func (p *Provider) weary(c *call) (answer, bool) {
	if !p.breaks[throttledBare] && !p.breaks[throttledWithoutError] && !p.breaks[burst500] || p.met.count("read "+c.uri) < enough {
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

// nowhere discards an answer.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
