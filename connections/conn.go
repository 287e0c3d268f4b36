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
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// arm has the connection closed after a time, unless that is put off. The table is
// locked.
func (c *conn) arm(after time.Duration) {
	c.disarm()
	if !c.open {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(after, func() { c.expire(&timer) })
	c.idle = timer
}

func (c *conn) disarm() {
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
		t.options.Refused(Unauthenticated)
	}
}

// connOf finds the table's connection, also below TLS.
func connOf(c net.Conn) (*conn, bool) {
	if below, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = below.NetConn()
	}
	own, ok := c.(*conn)
	return own, ok
}

// State is the hook ConnState of an [http.Server].
func (t *Table) State(c net.Conn, state http.ConnState) {
	own, ok := connOf(c)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	waits := state == http.StateNew || state == http.StateIdle
	if waits && !own.authenticated.Load() {
		own.arm(t.options.IdleUnauthenticated)
		return
	}
	own.disarm()
}

type key struct{}

// Context is the hook ConnContext of an [http.Server].
func (t *Table) Context(ctx context.Context, c net.Conn) context.Context {
	own, ok := connOf(c)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, key{}, own)
}

// Authenticated notes that a request with this context has shown who sends it: its
// connection stays idle for as long as those of clients do.
func Authenticated(ctx context.Context) {
	if c, ok := ctx.Value(key{}).(*conn); ok {
		c.authenticated.Store(true)
	}
}
