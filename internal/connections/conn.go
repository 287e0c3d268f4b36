package connections

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// conn is a connection in a table.
type conn struct {
	net.Conn
	table         *Table
	from          *address
	authenticated atomic.Bool

	// Guarded by the table's mutex.
	open bool // and in the table
	idle *time.Timer
}

// Close closes the connection and frees its place in the table.
func (c *conn) Close() error {
	c.table.mu.Lock()
	c.table.remove(c)
	c.table.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends the answer, so that a client that is still sending can read
// it before the connection is closed.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// closeFor closes the connection and reports the reason, unless it is closed
// already.
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

// setIdleTimer closes the connection after a time unless cleared. The caller
// holds the table's lock.
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

// expire closes the connection if the timer that fired is still the current one.
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

// connOf returns the table's connection below wrappers.
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

// ConnState implements the ConnState hook of an [http.Server].
func (t *Table) ConnState(c net.Conn, state http.ConnState) {
	own, ok := connOf(c)
	if !ok {
		return
	}
	if own.authenticated.Load() { // the request's start stopped its timer
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

// startIdleTimer starts the idle timer of a connection. A running timer continues.
func (t *Table) startIdleTimer(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.idle == nil {
		c.setIdleTimer(t.options.IdleUnauthenticated)
	}
}

func (t *Table) stopIdleTimer(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.clearIdleTimer()
}

type connKey struct{}

// ConnContext implements the ConnContext hook of an [http.Server].
func (t *Table) ConnContext(ctx context.Context, c net.Conn) context.Context {
	own, ok := connOf(c)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, connKey{}, own)
}

// Authenticated records that the request with this context was authenticated:
// its connection no longer has an idle bound.
func Authenticated(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.authenticated.Store(true)
	}
}

// AmbiguousKey is the context key of a bool, set by a server, for [Ambiguous].
type AmbiguousKey struct{}

// Ambiguous reports whether another parser could see another end of the
// request: its head has both Content-Length and Transfer-Encoding, or a
// Content-Length that others may read differently.
func Ambiguous(ctx context.Context) bool {
	ambiguous, _ := ctx.Value(AmbiguousKey{}).(bool)
	return ambiguous
}
