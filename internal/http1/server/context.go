package server

import (
	"context"
	"sync/atomic"
	"time"

	"portico/internal/connections"
)

// requestContext is the context of a request, below its connection's. It costs nothing
// until a goroutine waits for its end: most requests are answered before.
type requestContext struct {
	outer     context.Context // the connection's
	ambiguous bool            // see connections.Ambiguous
	ended     atomic.Bool     // it was cancelled
	awaited   atomic.Pointer[awaitedEnd]
}

// awaitedEnd is the cancellable context behind a request's context, created
// once a goroutine waits for its end.
type awaitedEnd struct {
	context.Context
	cancel context.CancelFunc
}

var _ context.Context = (*requestContext)(nil)

// end cancels the context.
func (c *requestContext) end() {
	c.ended.Store(true)
	if awaited := c.awaited.Load(); awaited != nil {
		awaited.cancel()
	}
}

// Done implements [context.Context].
func (c *requestContext) Done() <-chan struct{} {
	awaited := c.awaited.Load()
	if awaited == nil {
		inner, cancel := context.WithCancel(c.outer)
		if awaited = (&awaitedEnd{inner, cancel}); !c.awaited.CompareAndSwap(nil, awaited) {
			cancel()
			awaited = c.awaited.Load()
		}
		if c.ended.Load() { // end may have run before it could see the waiting goroutine
			awaited.cancel()
		}
	}
	return awaited.Done()
}

// Err implements [context.Context].
func (c *requestContext) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return c.outer.Err()
}

// Deadline implements [context.Context].
func (c *requestContext) Deadline() (time.Time, bool) { return c.outer.Deadline() }

// Value implements [context.Context]. A derived context has called Done when
// it is created, so it finds the cancellable context here and needs no
// goroutine to be cancelled with it.
func (c *requestContext) Value(key any) any {
	if _, ok := key.(connections.AmbiguousKey); ok {
		return c.ambiguous
	}
	if awaited := c.awaited.Load(); awaited != nil {
		return awaited.Value(key)
	}
	return c.outer.Value(key)
}
