package timing

import (
	"sync"
	"time"
)

// Watch looks periodically at all its things while there are any. A timer and
// a function for each would cost more than the rest of a short request. Every
// and Look are set before the first use.
type Watch[T any] struct {
	sync.Mutex // held while it looks
	Every      time.Duration
	Look       func(of T, now time.Time)

	first *Watched[T] // the others follow
	timer *time.Timer
	due   bool // timer is set
}

// Watched is the entry of one thing in a [Watch].
type Watched[T any] struct {
	next, before *Watched[T]
	of           T
}

// Add adds a thing, which is looked at until its entry is removed.
func (w *Watch[T]) Add(at *Watched[T], of T) {
	w.Lock()
	defer w.Unlock()
	at.of = of
	if at.next = w.first; at.next != nil {
		at.next.before = at
	}
	w.first = at
	if w.due {
		return
	}
	w.due = true
	if w.timer == nil {
		w.timer = time.AfterFunc(w.Every, w.look)
	} else {
		w.timer.Reset(w.Every)
	}
}

// Remove removes the thing of an entry.
func (w *Watch[T]) Remove(at *Watched[T]) {
	w.Lock()
	defer w.Unlock()
	if at.before != nil {
		at.before.next = at.next
	} else {
		w.first = at.next
	}
	if at.next != nil {
		at.next.before = at.before
	}
	*at = Watched[T]{}
}

// Each calls f with each watched thing.
func (w *Watch[T]) Each(f func(of T)) {
	w.Lock()
	defer w.Unlock()
	for at := w.first; at != nil; at = at.next {
		f(at.of)
	}
}

func (w *Watch[T]) look() {
	now := time.Now()
	w.Each(func(of T) { w.Look(of, now) })
	w.Lock()
	defer w.Unlock()
	if w.due = w.first != nil; w.due {
		w.timer.Reset(w.Every)
	}
}
