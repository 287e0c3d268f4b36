package server

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"portico/internal/timing"
)

// watchEvery is the time between two looks at the connections. A request that is seen
// by two looks may last, so that its client is watched.
const watchEvery = 100 * time.Millisecond

// What a connection does. Only Shutdown makes it closing, only a watch makes it watched.
const (
	waiting   int32 = iota // for a request, so that Shutdown may close it
	closing                // Shutdown closes it
	active                 // it reads a request, or writes an answer
	handling               // its handler is called
	watched                // its handler is called, and a second goroutine reads
	lingering              // it has answered for the last time, and drops what still comes
)

// presence is a watch's record of a connection.
type presence struct {
	state   atomic.Int32
	request atomic.Pointer[exchange] // while the handler is called

	place timing.Watched[*conn]
	// Guarded by the watch.
	seen    *exchange     // by the last look
	awaited chan struct{} // closed when the second goroutine has ended; nil: there is none
}

// look starts a second goroutine on the connection of each request that it sees for the
// second time and whose content has all come. The goroutine notices if the client of
// such a long request goes away. The connections of short requests cost nothing.
func (c *conn) look(time.Time) {
	x := c.request.Load()
	if x == nil || x != c.seen {
		c.seen = x
		return
	}
	if x.received.Load() && c.awaited == nil && c.state.CompareAndSwap(handling, watched) {
		c.awaitAlongside(x)
	}
}

// awaitAlongside starts a second goroutine that reads, unless the handler serves another
// request by now.
func (c *conn) awaitAlongside(x *exchange) {
	if c.request.Load() != x {
		c.state.Store(handling)
		return
	}
	c.awaited = make(chan struct{})
	c.reads.exactly(c.SetReadDeadline, time.Time{})
	go c.awaitEnd(x, c.awaited)
}

// awaitEnd reads while a handler runs. If the client goes away, it ends the request's
// context; if the client sends a byte of its next request, it keeps the byte.
func (c *conn) awaitEnd(x *exchange, ended chan<- struct{}) {
	defer close(ended)
	n, err := c.Conn.Read(c.early.b[:])
	c.early.has = n > 0
	if err != nil && n == 0 && !timedOut(err) {
		x.context.end()
	}
}

// handle notes that a handler is called.
func (c *conn) handle(x *exchange) {
	c.request.Store(x)
	c.state.Store(handling)
}

// handled notes that the handler has returned, and ends the second goroutine.
func (c *conn) handled() {
	if !c.state.CompareAndSwap(handling, active) {
		c.endAwaiting()
	}
	c.request.Store(nil)
}

func (c *conn) endAwaiting() {
	w := &c.server.watch
	w.Lock() // look has done what it began
	awaited := c.awaited
	c.awaited = nil
	c.state.Store(active)
	w.Unlock()
	if awaited == nil {
		return
	}
	c.reads.exactly(c.SetReadDeadline, past)
	<-awaited
	if c.early.has {
		c.early.has = false
		c.room()
		c.in[c.w] = c.early.b[0]
		c.w++
	}
}

func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
