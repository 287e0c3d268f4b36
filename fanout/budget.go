package fanout

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// slack is what a budget has beyond its number: room for the byte by which an
// answer is known to be too long.
const slack = 64 << 10

var (
	// errNoRoom: what is to be held does not fit beside what is held already.
	errNoRoom = errors.New("there is no room for it at present")
	// errBusy: nothing is held, and there was no room for all the waiting.
	errBusy = errors.New("other lists hold all the memory that there is for them")
)

// Budget is the memory that all lists together may hold, in bytes. Who holds
// nothing may wait for some; who holds something takes what there is or goes
// without, so that nobody waits for a waiting one. It is safe for concurrent
// use.
type Budget struct {
	mu      sync.Mutex
	free    int64
	waiting list.List // of *waiter, the longest waiting first
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{free: bytes + slack} }

// share is what one list holds of a budget.
type share struct {
	budget      *Budget
	limit, held int64 // guarded by budget.mu
}

type waiter struct {
	share   *share
	n       int64
	granted bool
	ended   chan struct{}
}

func (b *Budget) share(limit int64) *share { return &share{budget: b, limit: limit + slack} }

// take adds n bytes to what is held. It waits, as long as ctx lasts, only where
// nothing is held. The error is errNoRoom or errBusy.
func (s *share) take(ctx context.Context, n int64) error {
	b := s.budget
	b.mu.Lock()
	if s.held+n > s.limit {
		b.mu.Unlock()
		return errNoRoom
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
		return errNoRoom
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
			return errBusy
		}
	}
	if !w.granted {
		return errNoRoom
	}
	return nil
}

// force adds n bytes to what is held, whether there is room or not: for the
// little that cannot be foreseen.
func (s *share) force(n int64) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.budget.free -= n
	s.held += n
}

// give returns n bytes of what is held.
func (s *share) give(n int64) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.held -= n
	s.budget.free += n
	s.budget.grant()
}

// close returns all that is held.
func (s *share) close() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.budget.free += s.held
	s.held = 0
	s.budget.grant()
}

// holds is how much is held.
func (s *share) holds() int64 {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.held
}

// grant serves those who wait, in their order, as far as there is room.
func (b *Budget) grant() {
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
func (b *Budget) dismiss(s *share) {
	for place := b.waiting.Front(); place != nil; {
		next := place.Next()
		if w, _ := place.Value.(*waiter); w.share == s {
			b.waiting.Remove(place)
			close(w.ended)
		}
		place = next
	}
}
