package sendguard

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"portico/internal/failpoint"
)

// Conn is a connection that consults its request's guard before it writes.
type Conn struct {
	net.Conn
	guard atomic.Pointer[Guard]

	writing sync.Mutex
	socket  syscall.RawConn // of Conn; nil if it has none or the platform is unsupported
	piece   pieceWrite
}

// NewConn returns a guarded connection that carries no request yet.
func NewConn(conn net.Conn) *Conn {
	c := &Conn{Conn: conn, socket: Socket(conn)}
	c.piece.conn = c
	c.piece.step = c.piece.writeOnce
	return c
}

// Detach ends the request that c carries. Later bytes belong to no request.
func (c *Conn) Detach() { c.guard.Store(nil) }

// maxPiece bounds the bytes that are written without consulting the guard again.
const maxPiece = 64 << 10

// Write refuses bytes that the guard does not allow. Without a request
// (during a TLS handshake) everything passes. If the connection died while
// idle and took no byte, the request may use another one.
//
// A large write may block repeatedly, and the process may be stopped
// meanwhile, so the guard is consulted before each piece.
func (c *Conn) Write(p []byte) (n int, err error) { return c.write(p, true) }

// TryWrite is like Write, but writes only bytes that need no waiting. It
// writes nothing if it cannot tell.
func (c *Conn) TryWrite(p []byte) (n int, err error) {
	if c.socket == nil || c.guard.Load() == nil {
		return 0, nil
	}
	return c.write(p, false)
}

func (c *Conn) write(p []byte, wait bool) (n int, err error) {
	g := c.guard.Load()
	if g == nil {
		return c.Conn.Write(p)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	started, full := false, false
	for n < len(p) && err == nil && !full {
		var wrote int
		var first bool
		wrote, first, err = c.writePiece(g, p[n:min(n+maxPiece, len(p))], wait)
		started, full = started || first, wrote == 0
		n += wrote
	}
	if wait && full && err == nil {
		err = io.ErrShortWrite
	}
	if started && n == 0 {
		g.undoFirstByte(err != nil)
		started = false
	}
	if failpoint.Enabled && started && err == nil {
		if err = g.afterSend(); err != nil {
			_ = c.Close() // otherwise an answer in flight would still be read
		}
	}
	return n, err
}

// writePiece writes a part of p, if allowed, and reports whether it was the request's
// first. On a socket each system call is checked; [net.Conn.Write] checks only once,
// and a blocked write continues unchecked.
func (c *Conn) writePiece(g *Guard, p []byte, wait bool) (n int, first bool, err error) {
	if c.socket != nil {
		return c.piece.write(c.socket, g, p, wait)
	}
	if first, err = g.allow(c); err != nil {
		return 0, false, err
	}
	n, err = c.Conn.Write(p)
	return n, first, err
}
