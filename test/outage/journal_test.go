package outage

import (
	"sync"
	"time"
)

// call is a call and its answer. Times count from the beginning of the journal.
type call struct {
	kind         kind
	gateway      int
	began, ended time.Duration
	status       int // 0: there was no answer
	code         string
	pause        bool // it names a Retry-After
}

func (c call) served() bool { return c.status >= 200 && c.status < 300 }

// refused reports whether a call was refused as what needs the store is while that is away.
func (c call) refused() bool { return c.status == 503 && c.code == "ServerTimeout" && c.pause }

// tooSlow reports whether a call took as long as gateways wait for a store that is there: on
// a machine that is too busy that can be too short.
func (c call) tooSlow() bool { return c.ended-c.began >= 2*time.Second }

// journal holds all calls of a run.
type journal struct {
	began time.Time

	mu    sync.Mutex
	calls []call
	// unpolled are when operations were accepted that could not be polled, as their record
	// was lost with the store.
	unpolled []time.Duration
}

func (j *journal) now() time.Duration { return time.Since(j.began) }

func (j *journal) add(c call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, c)
}

// lose notes that an operation cannot be polled.
func (j *journal) lose(accepted time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unpolled = append(j.unpolled, accepted)
}

// since returns the calls that began at a time or later.
func (j *journal) since(at time.Duration) (found []call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.calls {
		if c.began >= at {
			found = append(found, c)
		}
	}
	return found
}

// lacks returns a kind of call, with its gateway, of which fewer than n that began at a
// time or later are as wanted; "" if there is none.
func (j *journal) lacks(n int, at time.Duration, of []kind, wanted func(call) bool) kind {
	counts := map[kind][gatewayCount]int{}
	for _, c := range j.since(at) {
		if wanted(c) {
			all := counts[c.kind]
			all[c.gateway]++
			counts[c.kind] = all
		}
	}
	for _, k := range of {
		for _, count := range counts[k] {
			if count < n {
				return k
			}
		}
	}
	return ""
}
