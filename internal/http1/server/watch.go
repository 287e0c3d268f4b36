package server

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"portico/internal/timing"
)

// watchEvery is the interval of looks at the connections. A request that two
// looks have seen may last, so that its client is watched.
const watchEvery = 100 * time.Millisecond

// States of a connection. Only Shutdown sets closing, and only a watch sets watched.
const (
	waiting   int32 = iota // for a request, so that Shutdown may close it
	closing                // Shutdown closes it
	active                 // it reads a request or writes an answer
	handling               // its handler runs
	watched                // its handler runs, and a second goroutine reads
	lingering              // it has sent its last answer, and drops further input
)

// presence is a watch's record of a connection.
type presence struct {
	state   atomic.Int32
	request atomic.Pointer[exchange] // while the handler runs

	place timing.Watched[*conn]
	// Guarded by the watch.
	seen    *exchange     // by the latest look
	awaited chan struct{} // closed when the second goroutine has ended; nil without one
}

// look starts a second goroutine for a request that it sees for the second
// time and whose content has been received. The goroutine notices if the
// client leaves. Connections of short requests cost nothing.
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

// awaitAlongside starts a second goroutine that reads, unless the handler
// already serves another request.
func (c *conn) awaitAlongside(x *exchange) {
	if c.request.Load() != x {
		c.state.Store(handling)
		return
	}
	c.awaited = make(chan struct{})
	c.reads.exactly(c.SetReadDeadline, time.Time{})
	go c.awaitEnd(x, c.awaited)
}

// awaitEnd reads while a handler runs. If the client leaves, it ends the
// request's context; a byte of the next request is kept.
func (c *conn) awaitEnd(x *exchange, ended chan<- struct{}) {
	defer close(ended)
	n, err := c.Conn.Read(c.early.b[:])
	c.early.has = n > 0
	if err != nil && n == 0 && !timedOut(err) {
		x.context.end()
	}
}

// handle records that a handler runs.
func (c *conn) handle(x *exchange) {
	c.request.Store(x)
	c.state.Store(handling)
}

// handled records that the handler has returned, and ends the second goroutine.
func (c *conn) handled() {
	if !c.state.CompareAndSwap(handling, active) {
		c.endAwaiting()
	}
	c.request.Store(nil)
}

func (c *conn) endAwaiting() {
	w := &c.server.watch
	w.Lock() // look has finished what it started
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
