package connections

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// conn is a connection of a table.
type conn struct {
	net.Conn
	table         *Table
	from          *address
	authenticated atomic.Bool

	// Guarded by the table's mutex.
	open bool // and in the table
	idle *time.Timer
}

// Close closes the connection, and makes room for another.
func (c *conn) Close() error {
	c.table.mu.Lock()
	c.table.remove(c)
	c.table.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite has a client that still sends read the answer before the connection
// goes.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// end closes the connection for a reason, unless that has been done.
func (c *conn) closeFor(reason string) bool {
	c.table.mu.Lock()
	open := c.table.remove(c)
	c.table.mu.Unlock()
	_ = c.Conn.Close()
	if open {
		c.table.options.OnRefused(reason)
	}
	return open
}

// arm has the connection closed after a time, unless that is put off. The table is
// locked.
func (c *conn) setIdleTimer(after time.Duration) {
	c.clearIdleTimer()
	if !c.open {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(after, func() { c.expire(&timer) })
	c.idle = timer
}

func (c *conn) clearIdleTimer() {
	if c.idle != nil {
		c.idle.Stop()
		c.idle = nil
	}
}

// expire closes the connection if the timer that has run out is the one that
// counts.
func (c *conn) expire(timer **time.Timer) {
	t := c.table
	t.mu.Lock()
	expired := c.idle == *timer && t.remove(c)
	t.mu.Unlock()
	if expired {
		_ = c.Conn.Close()
		t.options.OnRefused(ReasonUnauthenticated)
	}
}

// connOf finds the table's connection, also below others.
func connOf(c net.Conn) (*conn, bool) {
	for {
		if own, ok := c.(*conn); ok {
			return own, true
		}
		above, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil, false
		}
		c = above.NetConn()
	}
}

// State is the hook ConnState of an [http.Server].
func (t *Table) ConnState(c net.Conn, state http.ConnState) {
	own, ok := connOf(c)
	if !ok {
		return
	}
	switch state {
	case http.StateNew:
		t.startIdleTimer(own)
	case http.StateIdle:
		t.stopIdleTimer(own)
		t.startIdleTimer(own)
	default:
		t.stopIdleTimer(own)
	}
}

// waits has a connection closed if it waits for its next request too long and nobody
// was authenticated over it. Where it waits already, that goes on.
func (t *Table) startIdleTimer(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.idle == nil && !c.authenticated.Load() {
		c.setIdleTimer(t.options.IdleUnauthenticated)
	}
}

func (t *Table) stopIdleTimer(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.clearIdleTimer()
}

type connKey struct{}

// Context is the hook ConnContext of an [http.Server].
func (t *Table) ConnContext(ctx context.Context, c net.Conn) context.Context {
	own, ok := connOf(c)
	if !ok {
		return ctx
	}
	ctx = context.WithValue(ctx, connKey{}, own)
	if over, ok := c.(interface{ messages() *scannedConn }); ok {
		ctx = context.WithValue(ctx, scannerKey{}, over.messages())
	}
	return ctx
}

// Authenticated notes that a request with this context has shown who sends it: its
// connection stays idle for as long as those of clients do.
func Authenticated(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.authenticated.Store(true)
	}
}
