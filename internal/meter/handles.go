package meter

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Handles caches the series of sets of labels, so that a request need not
// look them up by text. Nothing is removed: the labels must come from lists
// that do not grow. It is safe for concurrent use.
type Handles[Labels comparable, Series any] struct {
	create func(Labels) Series

	mu  sync.Mutex                        // held while all is replaced
	all atomic.Pointer[map[Labels]Series] // an immutable map
}

// NewHandles returns an empty cache, which makes series with create.
func NewHandles[Labels comparable, Series any](create func(Labels) Series) *Handles[Labels, Series] {
	h := &Handles[Labels, Series]{create: create}
	h.all.Store(&map[Labels]Series{})
	return h
}

// Get returns the series of a set of labels. It creates the series on the first call.
func (h *Handles[Labels, Series]) Get(l Labels) Series {
	if s, ok := (*h.all.Load())[l]; ok {
		return s
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	known := *h.all.Load()
	if s, ok := known[l]; ok {
		return s
	}
	next := maps.Clone(known)
	next[l] = h.create(l)
	h.all.Store(&next)
	return next[l]
}
