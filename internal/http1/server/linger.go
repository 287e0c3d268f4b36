package server

import (
	"time"

	"portico/internal/timing"
)

// How long and for how many bytes a connection is read after its last answer. A client
// that writes on before it reads would have its connection reset if that were closed, and
// never see the answer. The time is of nginx's lingering_close; a client that pauses
// reads, or has gone. The bytes are many times the largest content that is taken, as
// clients announce too much by any factor.
const (
	lingerTime  = 30 * time.Second
	lingerPause = 5 * time.Second
	lingerBytes = 256 << 20
)

// What is left of that behind all content of the request, while the server shuts down,
// when the client has used up the time for its content, and while mostLingering other
// connections linger: those that do hold their places in the listener.
const (
	shortLinger      = 500 * time.Millisecond
	shortLingerBytes = 256 << 10
	mostLingering    = 256
)

// linger closes the way to the client and reads what it still sends: content of so many
// bytes, below 0 if their number is not known, and a little behind it. until is when the
// content must have arrived; zero: at no certain time.
func (c *conn) linger(content int64, until time.Time) {
	known := content >= 0
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.state.Store(lingering)
	defer c.server.lingering.Add(-1)
	now := time.Now()
	end, room := now.Add(lingerTime), int64(lingerBytes)
	if !until.IsZero() {
		end = timing.Earlier(end, timing.Later(until, now.Add(shortLinger)))
	}
	if c.server.lingering.Add(1) > c.server.mostLingering {
		end, room = now.Add(shortLinger), shortLingerBytes
	}
	into := dropped.Get().(*[dropSize]byte) // the only type in it
	defer dropped.Put(into)
	soon := false
	for room > 0 {
		if !soon && (known && content <= 0 || c.server.ended.Load()) {
			soon, end = true, timing.Earlier(end, time.Now().Add(shortLinger))
		}
		c.reads.exactly(c.SetReadDeadline, timing.Earlier(end, time.Now().Add(lingerPause)))
		if !soon && c.server.ended.Load() { // hurry may have come before that deadline
			continue
		}
		n, err := c.Conn.Read(into[:])
		if err != nil {
			return
		}
		content, room = content-int64(n), room-int64(n)
	}
}

// hurry ends the lingering of a connection soon: a server that shuts down waits for it.
func (c *conn) hurry() {
	if c.state.Load() == lingering {
		_ = c.SetReadDeadline(time.Now().Add(shortLinger)) // a connection that refuses it fails at its next read
	}
}

// lingerForContent lingers for the rest of a request's content, unless it has ended.
func (x *exchange) lingerForContent() {
	b := &x.body
	b.mu.Lock()
	ended, left, until := b.ended, b.left, b.until
	b.mu.Unlock()
	if ended {
		return
	}
	if x.request.ContentLength < 0 {
		left = -1
	} else {
		left -= int64(x.conn.w - x.conn.r)
	}
	x.conn.linger(left, until)
}
