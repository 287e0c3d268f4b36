package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"portico/internal/connections"
)

// parkAfter is how long a connection keeps its buffers and its goroutine's
// stack while it waits for the next request.
const parkAfter = 5 * time.Second

// conn is a connection.
type conn struct {
	net.Conn
	server *Server
	ctx    context.Context // for all its requests
	remote string
	tls    *tls.ConnectionState // nil: none

	reads, writes deadline

	buffers *buffers
	in      []byte // what was read and not consumed: in[r:w]
	r, w    int
	out     []byte // the beginning of an answer
	lines   []span // of the head

	lastWasPost bool
	early       early

	presence
}

// begin serves a new connection.
func (c *conn) begin() {
	if addr := c.RemoteAddr(); addr != nil {
		c.remote = addr.String()
	}
	if session, ok := c.Conn.(interface{ ConnectionState() tls.ConnectionState }); ok {
		state := session.ConnectionState()
		c.tls = &state
	}
	c.ctx = context.Background() // requests have their own ends
	if hook := c.server.options.ConnContext; hook != nil {
		c.ctx = hook(c.ctx, c.Conn)
	}
	c.reads.exactly(c.SetReadDeadline, time.Now().Add(c.server.options.ReadHeaderTimeout))
	c.serve(false)
}

// serve serves requests until the connection ends or is parked; reused
// reports whether it has carried a request before.
func (c *conn) serve(reused bool) {
	parked := false
	defer func() {
		if failure := recover(); failure != nil && failure != http.ErrAbortHandler { //nolint:errorlint // net/http compares it in the same way
			c.logPanic(failure)
		}
		if !parked {
			c.release()
			c.end()
		}
	}()
	c.acquire()
	for {
		switch err := c.awaitRequest(reused); {
		case errors.Is(err, errPark):
			parked = true
			c.release()
			go c.park()
			return
		case err != nil:
			return
		}
		reused = true
		x, err := c.readRequest()
		if !c.state.CompareAndSwap(waiting, active) {
			return
		}
		c.hook(http.StateActive)
		if err != nil {
			if why, ok := errors.AsType[*connections.Refusal](err); ok && !c.server.ended.Load() {
				c.refuse(why)
			}
			return
		}
		if !x.run() {
			return
		}
		c.hook(http.StateIdle)
		if c.state.Store(waiting); c.server.ended.Load() {
			return
		}
	}
}

func (c *conn) logPanic(failure any) {
	const size = 64 << 10
	stack := make([]byte, size)
	stack = stack[:runtime.Stack(stack, false)]
	c.server.logf("http: panic serving %v: %v\n%s", c.remote, failure, stack)
}

func (c *conn) end() {
	_ = c.Conn.Close()
	c.hook(http.StateClosed)
	c.server.remove(c)
}

func (c *conn) hook(state http.ConnState) {
	if hook := c.server.options.ConnState; hook != nil {
		hook(c.Conn, state)
	}
}

// errPark is returned by a wait that continues without buffers.
var errPark = errors.New("the connection is to be parked")

// awaitRequest waits for the first bytes of a request.
func (c *conn) awaitRequest(reused bool) error {
	if c.r < c.w {
		return nil
	}
	c.r, c.w = 0, 0
	if reused {
		c.reads.extend(c.SetReadDeadline, time.Now().Add(min(c.server.parkAfter, c.server.options.IdleTimeout)))
	}
	err := c.fill()
	if reused && errors.Is(err, os.ErrDeadlineExceeded) && c.server.options.IdleTimeout > c.server.parkAfter {
		return errPark
	}
	return err
}

// park waits for the next request of a connection that keeps only a small stack.
func (c *conn) park() {
	c.reads.exactly(c.SetReadDeadline, time.Now().Add(c.server.options.IdleTimeout-c.server.parkAfter))
	if n, _ := c.Conn.Read(c.early.b[:]); n == 0 {
		c.end()
		return
	}
	c.early.has = true
	go c.serve(true) // with a stack that may grow
}

// early is a byte that was read before there was a buffer for it.
type early struct {
	b   [1]byte
	has bool
}

// bufferSize is the size of each of a connection's two buffers.
const bufferSize = 4 << 10

// buffers holds the memory that a connection needs while it serves.
type buffers struct {
	in, out [bufferSize]byte
	lines   [usualLines]span
}

const usualLines = 32

var pool = sync.Pool{New: func() any { return new(buffers) }}

func (c *conn) acquire() {
	c.buffers = pool.Get().(*buffers) // the only type in it
	c.server.watch.Add(&c.place, c)
	c.in, c.out, c.lines = c.buffers.in[:], c.buffers.out[:0], c.buffers.lines[:0]
	if c.r, c.w = 0, 0; c.early.has {
		c.early.has = false
		c.w = copy(c.in, c.early.b[:])
	}
}

// release returns the buffers to the pool. Their content is overwritten
// before it is read again.
func (c *conn) release() {
	c.server.watch.Remove(&c.place)
	c.seen = nil
	pool.Put(c.buffers)
	c.buffers, c.in, c.out, c.lines = nil, nil, nil, nil
}

// fill reads once more into the buffer, which must have room.
func (c *conn) fill() error {
	n, err := c.Conn.Read(c.in[c.w:])
	c.w += n
	if n > 0 {
		return nil // the next read returns the error again
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// room makes room in a full buffer.
func (c *conn) room() {
	if c.w < len(c.in) {
		return
	}
	if c.r > 0 {
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
		return
	}
	larger := make([]byte, 2*len(c.in))
	copy(larger, c.in[:c.w])
	c.in = larger
}

// shrink replaces buffers that one request made large, once they are empty.
func (c *conn) shrink() {
	if len(c.in) > bufferSize && c.w-c.r <= bufferSize {
		c.w = copy(c.buffers.in[:], c.in[c.r:c.w])
		c.in, c.r = c.buffers.in[:], 0
	}
	c.out, c.lines = c.buffers.out[:0], c.buffers.lines[:0]
}

// read reads into p, directly if the buffer is empty and p is larger. It
// waits at most until the given time.
func (c *conn) read(p []byte, until time.Time) (n int, err error) {
	if c.r == c.w {
		c.r, c.w = 0, 0
		c.reads.extend(c.SetReadDeadline, until)
		if len(p) >= len(c.in) {
			return c.Conn.Read(p)
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n = copy(p, c.in[c.r:c.w])
	c.r += n
	return n, nil
}
