package probe

import (
	"sync"
	"time"

	"portico/regions"
)

// Heard is what a search last heard of an endpoint.
type Heard struct {
	At       time.Time // by the store; the zero time: it was not asked
	Answered bool      // whether the resource exists there
}

// hearing remembers what endpoints said to searches. There are as many as the map has.
type hearing struct {
	mu   sync.Mutex
	last map[*regions.Endpoint]Heard
}

func (h *hearing) note(e *regions.Endpoint, heard Heard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[*regions.Endpoint]Heard{}
	}
	h.last[e] = heard
}

// Heard returns what a search last heard of an endpoint of the finder's map: whether a
// resource that it may hold can be created just now.
func (f *Finder) Heard(e *regions.Endpoint) Heard {
	f.heard.mu.Lock()
	defer f.heard.mu.Unlock()
	return f.heard.last[e]
}
