package server

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// exchange is a request with its answer, in one allocation.
type exchange struct {
	conn    *conn
	context requestContext
	request http.Request
	url     url.URL
	body    body
	response
	last     bool        // close the connection after the answer
	received atomic.Bool // all content has been received
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
	x := &exchange{conn: c, context: requestContext{outer: c.ctx}}
	r := &x.request
	if err := c.parseHead(head, r, &x.url); err != nil {
		return nil, err
	}
	if err := x.frame(); err != nil {
		return nil, err
	}
	if err := x.checkExpect(); err != nil {
		return nil, err
	}
	c.lastWasPost = r.Method == http.MethodPost
	r.RemoteAddr, r.TLS = c.remote, c.tls
	x.openBody()
	return x, nil
}

// skipEmptyLines skips the empty lines that old clients send after a POST.
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

// bind sets the request's context. It is not inlined, because run would then
// hold the copies on its stack while the handler waits.
//
//go:noinline
func (x *exchange) bind() {
	bare := x.request
	x.request = *bare.WithContext(&x.context)
}

// run answers a request, and reports whether another one may follow.
func (x *exchange) run() (goOn bool) {
	c := x.conn
	x.bind()
	x.begin()
	c.handle(x)
	returned := false
	defer func() {
		if x.context.end(); !returned { // the handler panicked
			c.handled()
			// A goroutine that still reads the content must not read from the
			// buffer of another connection.
			_ = c.SetReadDeadline(past)
			_ = x.body.Close() // never fails
		}
	}()
	c.server.options.Handler.ServeHTTP(&x.response, &x.request)
	returned = true
	x.context.end()
	c.handled()
	return x.finish()
}

// writeUntil bounds the client's time to take the next bytes; zero: no bound.
func (x *exchange) writeUntil(t time.Time) { x.conn.writes.extend(x.conn.SetWriteDeadline, t) }
