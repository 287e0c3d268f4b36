package probe

import (
	"sync"
	"time"

	"portico/regions"
)

// LastReply is the outcome of the last search at an endpoint.
type LastReply struct {
	At       time.Time // by the store; zero if it was not asked
	Answered bool      // it answered whether the resource exists there
}

// lastReplies remembers the last outcome of each endpoint of the map.
type lastReplies struct {
	mu   sync.Mutex
	last map[*regions.Endpoint]LastReply
}

func (h *lastReplies) record(e *regions.Endpoint, heard LastReply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[*regions.Endpoint]LastReply{}
	}
	h.last[e] = heard
}

// LastReply returns the last outcome at an endpoint of the finder's map: whether a resource
// that it may hold can be created at present.
func (f *Finder) LastReply(e *regions.Endpoint) LastReply {
	f.replies.mu.Lock()
	defer f.replies.mu.Unlock()
	return f.replies.last[e]
}
