package client

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"portico/internal/sendguard"
)

// conn is a connection with its buffers, used by one exchange at a time.
type conn struct {
	net.Conn           // wire, or TLS over it
	wire      *wire    // the guarded connection
	dialled   net.Conn // below wire
	state     *tls.ConnectionState
	reused    bool      // it has carried a request
	idleSince time.Time // zero: no sweep has seen it idle
	abort     func()    // makes all reads and writes fail
	bounded   bool      // it has a deadline

	in   []byte // read and not consumed: in[r:w]
	r, w int
	out  []byte // for heads of requests
}

// initialBuffer is the size of both buffers of a connection while it is idle.
const initialBuffer = 4 << 10

func newConn(dialled net.Conn) *conn {
	w := &wire{Conn: sendguard.NewConn(dialled), socket: sendguard.Socket(dialled)}
	w.tryStep, w.askStep = w.readOnce, w.askOnce
	cn := &conn{Conn: w, wire: w, dialled: dialled, in: make([]byte, initialBuffer), out: make([]byte, 0, initialBuffer)}
	cn.abort = func() { _ = dialled.SetDeadline(time.Unix(1, 0)) }
	return cn
}

// bound sets the deadline of all further operations; zero removes it.
func (c *conn) bound(deadline time.Time) error {
	if deadline.IsZero() && !c.bounded {
		return nil
	}
	c.bounded = !deadline.IsZero()
	return c.SetDeadline(deadline)
}

// readUntil sets only the read deadline.
func (c *conn) readUntil(deadline time.Time) { _ = c.dialled.SetReadDeadline(deadline) }

// alive reports whether an idle connection is open and has no unexpected
// bytes, which must not become the next answer.
func (c *conn) alive() bool {
	if c.r != c.w {
		return false
	}
	if c.wire.socket == nil {
		return true // unknown
	}
	c.wire.probing = true
	n, err := c.Conn.Read(c.in[:1])
	c.wire.probing = false
	return n == 0 && errors.Is(err, errNothingYet)
}

// fill reads once more into the buffer, which must have room.
func (c *conn) fill() error {
	if c.r > 0 && c.w == len(c.in) {
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
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

// read reads into p, directly if the buffer is empty and p is larger.
func (c *conn) read(p []byte) (n int, err error) {
	if c.r == c.w {
		c.r, c.w = 0, 0
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

// line returns the next line with its end, of at most limit bytes. It is valid until
// the next read.
func (c *conn) line(limit int) ([]byte, error) {
	for from := c.r; ; {
		if end := bytes.IndexByte(c.in[from:c.w], '\n'); end >= 0 {
			line := c.in[c.r : from+end+1]
			c.r = from + end + 1
			if len(line) > limit {
				return nil, errTooLong
			}
			return line, nil
		}
		scanned := c.w - c.r
		if scanned >= limit {
			return nil, errTooLong
		}
		c.room()
		if err := c.fill(); err != nil {
			return nil, err
		}
		from = c.r + scanned
	}
}

// room enlarges the buffer if it is full of unconsumed bytes.
func (c *conn) room() {
	if c.r > 0 || c.w < len(c.in) {
		return
	}
	larger := make([]byte, 2*len(c.in))
	copy(larger, c.in[:c.w])
	c.in = larger
}

// hasLine reports whether the buffer holds the end of a line.
func (c *conn) hasLine() bool { return bytes.IndexByte(c.in[c.r:c.w], '\n') >= 0 }

// skip drops the next n bytes if the buffer holds them.
func (c *conn) skip(n int64) bool {
	if int64(c.w-c.r) < n {
		return false
	}
	c.r += int(n)
	return true
}

// shrink replaces buffers that one exchange made large.
func (c *conn) shrink() {
	c.r, c.w = 0, 0
	if len(c.in) > initialBuffer {
		c.in = make([]byte, initialBuffer)
	}
	if cap(c.out) > 4*initialBuffer {
		c.out = make([]byte, 0, initialBuffer)
	}
}

// wire is a guarded connection that can be read without waiting.
type wire struct {
	*sendguard.Conn
	socket  syscall.RawConn
	probing bool // used by its one reader

	tryStep, askStep func(fd uintptr) bool // readOnce, askOnce
	p                []byte                // to read into
	n                int
	err              error

	request []byte // its unsent rest
	tried   bool   // the socket was checked
	by      *exchange
}

// nothingYet is the error of a read that would have to wait. TLS takes it for
// a timeout, after which it can continue.
type nothingYet struct{}

func (nothingYet) Error() string   { return "nothing has come yet" }
func (nothingYet) Timeout() bool   { return true }
func (nothingYet) Temporary() bool { return true }

var errNothingYet error = nothingYet{}

func (w *wire) Read(p []byte) (int, error) {
	if w.probing {
		return w.tryRead(p)
	}
	return w.Conn.Read(p)
}
