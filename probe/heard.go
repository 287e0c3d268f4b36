package probe

import (
	"sync"
	"time"

	"portico/regions"
)

// Heard is the outcome of the last search at an endpoint.
type Heard struct {
	At       time.Time // by the store; zero if it was not asked
	Answered bool      // it answered whether the resource exists there
}

// lastReplies remembers the last outcome of each endpoint of the map.
type lastReplies struct {
	mu   sync.Mutex
	last map[*regions.Endpoint]Heard
}

func (h *lastReplies) record(e *regions.Endpoint, heard Heard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[*regions.Endpoint]Heard{}
	}
	h.last[e] = heard
}

// Heard returns the last outcome at an endpoint of the finder's map: whether a resource
// that it may hold can be created at present.
func (f *Finder) Heard(e *regions.Endpoint) Heard {
	f.replies.mu.Lock()
	defer f.replies.mu.Unlock()
	return f.replies.last[e]
}
