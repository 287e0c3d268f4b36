package http1

import (
	"runtime"
	"sync"
	"sync/atomic"
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

	// crowded: the last look saw more calls than the processors can have at work. Then a
	// call that has to wait lets others go on first, and often finds that its answer has
	// come: that saves it a read in vain, and a wait.
	crowded atomic.Bool
}

// crowd is how many calls for each processor are a crowd.
const crowd = 32

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
	now, calls := time.Now(), 0
	for x := w.first; x != nil; x = x.next {
		calls++
		if x.ctx.Err() != nil || !x.deadline.IsZero() && !now.Before(x.deadline) {
			x.interrupt()
		}
	}
	w.crowded.Store(calls >= crowd*runtime.GOMAXPROCS(0))
	if w.due = w.first != nil; w.due {
		w.timer.Reset(watchEvery)
	}
}
