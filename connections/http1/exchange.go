package http1

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"portico/connections"
)

// exchange is a request with its answer: one allocation.
type exchange struct {
	context.Context // of the connection, until the request has its own
	conn            *conn
	cancel          context.CancelFunc
	request         http.Request
	url             url.URL
	body            body
	response
	ambiguous bool        // another reader could see another end
	last      bool        // the connection ends with the answer
	received  atomic.Bool // all content
}

// Value implements [context.Context].
func (x *exchange) Value(key any) any {
	if _, ok := key.(connections.AmbiguousKey); ok {
		return x.ambiguous
	}
	return x.Context.Value(key)
}

// readRequest reads a request up to its content.
func (c *conn) readRequest() (*exchange, error) {
	if c.lastWasPost {
		if err := c.skipEmptyLines(); err != nil {
			return nil, err
		}
	}
	head, err := c.readHead()
	if err != nil {
		return nil, err
	}
	x := &exchange{Context: c.ctx, conn: c}
	r := &x.request
	if err := c.parseHead(head, r, &x.url); err != nil {
		return nil, err
	}
	if err := x.frame(); err != nil {
		return nil, err
	}
	if err := x.expects(); err != nil {
		return nil, err
	}
	c.lastWasPost = r.Method == http.MethodPost
	r.RemoteAddr, r.TLS = c.remote, c.tls
	x.openBody()
	return x, nil
}

// skipEmptyLines skips what old clients send behind a POST.
func (c *conn) skipEmptyLines() error {
	for range 4 {
		if c.r == c.w {
			c.r, c.w = 0, 0
			if err := c.fill(); err != nil {
				return err
			}
		}
		if b := c.in[c.r]; b != '\r' && b != '\n' {
			return nil
		}
		c.r++
	}
	return nil
}

// bind gives the request its context. It is not inlined, as run would hold the copies on
// its stack while the handler waits.
//
//go:noinline
func (x *exchange) bind(ctx context.Context) {
	bare := x.request
	x.request = *bare.WithContext(ctx)
}

// run answers a request, and reports whether another one may follow.
func (x *exchange) run() (goOn bool) {
	c := x.conn
	ctx, cancel := context.WithCancel(x)
	x.cancel = cancel
	x.bind(ctx)
	x.begin()
	c.handle(x)
	returned := false
	defer func() {
		if cancel(); !returned { // it panicked
			c.handled()
			// Whoever still reads the content must not find the buffer of another connection.
			_ = c.SetReadDeadline(past)
			_ = x.body.Close() // nothing fails
		}
	}()
	c.server.options.Handler.ServeHTTP(&x.response, &x.request)
	returned = true
	cancel()
	c.handled()
	return x.finish()
}

// writeUntil is how long the client may take for what is written next; zero: for ever.
func (x *exchange) writeUntil(t time.Time) { x.conn.writes.until(x.conn.SetWriteDeadline, t) }
