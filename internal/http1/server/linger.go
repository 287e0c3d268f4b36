package server

import (
	"time"

	"portico/internal/timing"
)

// Bounds of reading a connection after its last answer. If the connection
// were closed at once, a client that is still sending would have it reset and
// would never see the answer. The time is from nginx's lingering_close; a
// client that pauses longer is reading, or has gone. The bytes are many times
// the accepted content, because clients may announce far too much.
const (
	lingerTime  = 30 * time.Second
	lingerPause = 5 * time.Second
	lingerBytes = 256 << 20
)

// Shorter bounds after all content of the request, during the server's shutdown, after
// the client's time for its content, and while mostLingering other connections linger,
// because lingering connections keep their places in the listener.
const (
	shortLinger      = 500 * time.Millisecond
	shortLingerBytes = 256 << 10
	mostLingering    = 256
)

// linger closes the way to the client and reads the data that it still sends:
// content of so many bytes, negative if unknown, and a little more. until is
// the deadline of the content; zero: none.
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
		if !soon && c.server.ended.Load() { // hurry may have set its deadline before ours
			continue
		}
		n, err := c.Conn.Read(into[:])
		if err != nil {
			return
		}
		content, room = content-int64(n), room-int64(n)
	}
}

// hurry shortens the lingering of a connection, because a shutdown waits for it.
func (c *conn) hurry() {
	if c.state.Load() == lingering {
		_ = c.SetReadDeadline(time.Now().Add(shortLinger)) // if it fails, the next read fails
	}
}

// lingerForContent lingers for the rest of a request's content, unless it has ended.
func (x *exchange) lingerForContent() {
	b := &x.body
	b.mu.Lock()
	ended, left, until := b.ended, b.left, b.readUntil
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
