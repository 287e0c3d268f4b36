package http1

import (
	"errors"
	"os"
	"sync"
	"time"
)

// watchEvery is the time between two looks at the requests under way. One that has been
// there for two looks may last, so that its client is watched.
const watchEvery = 100 * time.Millisecond

// watch notices that the clients of requests which take long go away.
type watch struct {
	mu    sync.Mutex
	first *conn // the others follow
	timer *time.Timer
	due   bool // timer is set
}

// presence is what a watch knows of a connection. The watch's mutex guards it while the
// connection is in the watch.
type presence struct {
	next, before *conn
	request      *exchange
	seen         bool
	awaited      chan struct{} // closed when the second reader has ended; nil: there is none
}

func (w *watch) add(c *conn, x *exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.request, c.seen = x, false
	if c.next = w.first; c.next != nil {
		c.next.before = c
	}
	w.first = c
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

func (w *watch) remove(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.before != nil {
		c.before.next = c.next
	} else {
		w.first = c.next
	}
	if c.next != nil {
		c.next.before = c.before
	}
	c.next, c.before, c.request = nil, nil, nil
}

// look has the clients awaited of requests that it sees again, once these have brought
// all their content.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := w.first; c != nil; c = c.next {
		switch {
		case !c.seen:
			c.seen = true
		case c.awaited == nil && c.request.received.Load():
			c.awaited = make(chan struct{})
			c.reads.exactly(c.SetReadDeadline, time.Time{})
			go c.awaitEnd(c.request, c.awaited)
		}
	}
	if w.due = w.first != nil; w.due {
		w.timer.Reset(watchEvery)
	}
}

// awaitEnd reads beside a handler. If the client goes away its request's context ends; if
// it sends a byte of its next request that is kept.
func (c *conn) awaitEnd(x *exchange, ended chan<- struct{}) {
	defer close(ended)
	n, err := c.Conn.Read(c.early.b[:])
	c.early.has = n > 0
	if err != nil && n == 0 && !timedOut(err) {
		x.cancel()
	}
}

// unwatch ends the watch over a connection, and the reading beside its handler.
func (c *conn) unwatch() {
	c.server.watch.remove(c)
	if c.awaited == nil {
		return
	}
	c.reads.exactly(c.SetReadDeadline, past)
	<-c.awaited
	c.awaited = nil
	if c.early.has {
		c.early.has = false
		c.room()
		c.in[c.w] = c.early.b[0]
		c.w++
	}
}

func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
