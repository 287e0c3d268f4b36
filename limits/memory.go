package limits

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// MemorySlack is what there is beyond every number of bytes: room for the byte
// by which an answer is known to be too long.
const MemorySlack = 64 << 10

var (
	// ErrNoRoom says that something does not fit beside what is held already.
	ErrNoRoom = errors.New("there is no room for it at present")
	// ErrBusy says that nothing is held, and that there was no room for all the
	// waiting.
	ErrBusy = errors.New("others hold all the memory that there is")
)

// Memory is what many answers, or contents, together may hold, in bytes. Who holds
// nothing may wait for some; who holds something takes what there is or goes
// without, so that nobody waits for a waiting one. It is safe for concurrent
// use.
type Memory struct {
	mu      sync.Mutex
	free    int64
	waiting list.List // of *waiter, the longest waiting first
}

// NewMemory returns a memory of so many bytes.
func NewMemory(bytes int64) *Memory { return &Memory{free: bytes + MemorySlack} }

// MemoryShare is what one holder has of a memory. It must be closed.
type MemoryShare struct {
	memory      *Memory
	limit, held int64 // guarded by memory.mu
}

type waiter struct {
	share   *MemoryShare
	n       int64
	granted bool
	ended   chan struct{}
}

// Share returns an empty share that never holds more than limit.
func (b *Memory) Share(limit int64) *MemoryShare {
	return &MemoryShare{memory: b, limit: limit + MemorySlack}
}

// Free is how much nobody holds.
func (b *Memory) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free - MemorySlack
}

// Take adds n bytes to what is held. It waits, as long as ctx lasts, only where
// nothing is held. The error is ErrNoRoom or ErrBusy.
func (s *MemoryShare) Take(ctx context.Context, n int64) error {
	b := s.memory
	b.mu.Lock()
	if s.held+n > s.limit {
		b.mu.Unlock()
		return ErrNoRoom
	}
	// Those who hold nothing queue up; the others may pass them, for only with
	// what they give back the queue moves on.
	if n <= b.free && (s.held > 0 || b.waiting.Len() == 0) {
		b.free -= n
		s.held += n
		b.mu.Unlock()
		return nil
	}
	if s.held > 0 {
		b.mu.Unlock()
		return ErrNoRoom
	}
	w := &waiter{share: s, n: n, ended: make(chan struct{})}
	place := b.waiting.PushBack(w)
	b.mu.Unlock()
	select {
	case <-w.ended:
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		select {
		case <-w.ended: // at the same moment
		default:
			b.waiting.Remove(place)
			b.grant() // it may have stood in the way of one that wants less
			return ErrBusy
		}
	}
	if !w.granted {
		return ErrNoRoom
	}
	return nil
}

// Force adds n bytes to what is held, whether there is room or not: for the
// little that cannot be foreseen.
func (s *MemoryShare) Force(n int64) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.free -= n
	s.held += n
}

// Give returns n bytes of what is held.
func (s *MemoryShare) Give(n int64) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.held -= n
	s.memory.free += n
	s.memory.grant()
}

// Close returns all that is held.
func (s *MemoryShare) Close() {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.free += s.held
	s.held = 0
	s.memory.grant()
}

// Holds is how much is held.
func (s *MemoryShare) Holds() int64 {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return s.held
}

// grant serves those who wait, in their order, as far as there is room.
func (b *Memory) grant() {
	for place := b.waiting.Front(); place != nil; place = b.waiting.Front() {
		w, _ := place.Value.(*waiter)
		if w.n > b.free {
			return
		}
		b.waiting.Remove(place)
		w.granted = true
		b.free -= w.n
		w.share.held += w.n
		close(w.ended)
		b.dismiss(w.share)
	}
}

// dismiss sends away whoever else waits for a list that holds something now.
func (b *Memory) dismiss(s *MemoryShare) {
	for place := b.waiting.Front(); place != nil; {
		next := place.Next()
		if w, _ := place.Value.(*waiter); w.share == s {
			b.waiting.Remove(place)
			close(w.ended)
		}
		place = next
	}
}
