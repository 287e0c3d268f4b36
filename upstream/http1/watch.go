package http1

import (
	"sync"
	"time"
)

const (
	// watchEvery is how late a call may end after its deadline or its context.
	watchEvery = 20 * time.Millisecond
	// watchFrom is the least time for a call whose end may be so late.
	watchFrom = 2 * time.Second
)

// watch ends calls whose time is over or whose callers have gone. It looks at all of them
// at times, while there are any: a timer and a function for each cost more than the rest
// of a call that is answered at once.
type watch struct {
	mu    sync.Mutex
	first *exchange // the others follow
	timer *time.Timer
	due   bool // timer is set
}

// watched are an exchange's neighbours in a watch.
type watched struct{ next, before *exchange }

func (w *watch) add(x *exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x.next = w.first; x.next != nil {
		x.next.before = x
	}
	w.first = x
	if w.due {
		return
	}
	w.due = true
	if w.timer == nil {
		w.timer = time.AfterFunc(watchEvery, w.look)
	} else {
		w.timer.Reset(watchEvery)
	}
}

func (w *watch) remove(x *exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x.before != nil {
		x.before.next = x.next
	} else {
		w.first = x.next
	}
	if x.next != nil {
		x.next.before = x.before
	}
	x.watched = watched{}
}

// look interrupts what has to end, again and again until it has ended.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for x := w.first; x != nil; x = x.next {
		if x.ctx.Err() != nil || !x.deadline.IsZero() && !now.Before(x.deadline) {
			x.interrupt()
		}
	}
	if w.due = w.first != nil; w.due {
		w.timer.Reset(watchEvery)
	}
}
