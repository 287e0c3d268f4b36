package client

import (
	"errors"
	"io"
)

// errStale is the error of a request that was not sent, because its
// connection was closed or had unexpected bytes.
var errStale = errors.New("the idle connection cannot be used")

// ask checks an idle connection, writes the request without content in c.out,
// and waits for the beginning of its answer, which it leaves in the buffer.
// It notifies the exchange before it writes anything.
//
// All of this is one operation on the socket. Bytes that arrive after the
// check end the wait, so ask need not try to read before it waits, which
// would nearly always be useless.
func (c *conn) ask(by *exchange) error {
	if c.r != c.w {
		return errStale
	}
	c.r, c.w = 0, 0
	n, rest, err := c.wire.ask(c.out, c.in, by)
	c.w = n
	switch {
	case err != nil:
		return err
	case len(rest) > 0: // the socket takes no more now
		_, err = c.Write(rest)
		return err
	case n == 0:
		return io.EOF
	}
	return nil
}

// canAsk reports whether ask can send a request over c.
func (c *conn) canAsk(r *Request) bool {
	return c.reused && c.state == nil && c.wire.socket != nil && r.Guard == nil && len(r.Content) == 0
}
