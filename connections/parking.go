package connections

import (
	"crypto/tls"
	"errors"
	"io"
	"os"
	"time"
)

// parkAfter is how long a connection waits for a further request within net/http,
// which keeps two buffers of 4 KiB for it and a goroutine whose stack has served
// requests. After that it is parked: net/http takes it for closed, and gets it again
// as a new one with the first byte of its next request. Parked it costs a small
// stack.
//
// Only HTTP/1.x connections are parked over which a request was authenticated; others
// do not stay for long. Those of HTTP/2 have a state that net/http does not hand over.
const parkAfter = 5 * time.Second

// Where a scannedConn is on its way out of net/http.
const (
	staying int32 = iota
	leaving       // net/http has read an end, and will close it
	left
)

// setIdle records whether net/http waits for the next request of a connection that
// may be parked. It reports whether the connection is still with net/http.
func (s *scannedConn) setIdle(idle bool) (here bool) {
	if s.presence.Load() == left {
		return false
	}
	s.idle.Store(idle)
	return true
}

// SetReadDeadline implements [net.Conn]. While the connection is idle it ends the wait
// early, so that it can be parked.
func (s *scannedConn) SetReadDeadline(t time.Time) error {
	switch {
	case !s.idle.Load():
	case t.IsZero():
		s.idle.Store(false)
	default:
		s.until.Store(int64(t.Sub(s.listener.began)))
		if early := time.Now().Add(s.listener.table.parkAfter); early.Before(t) {
			t = early
		}
	}
	return s.Conn.SetReadDeadline(t)
}

func (s *scannedConn) deadline() time.Time {
	return s.listener.began.Add(time.Duration(s.until.Load()))
}

// endWait handles that the wait of an idle connection has ended: it makes net/http
// close the connection, which then is parked, unless its time is over or a part of a
// request was read.
func (s *scannedConn) endWait(p []byte) (int, error) {
	if !s.idle.CompareAndSwap(true, false) {
		return 0, os.ErrDeadlineExceeded
	}
	until := s.deadline()
	if s.heads.state == betweenRequests && time.Now().Before(until) {
		s.presence.Store(leaving)
		return 0, io.EOF
	}
	if err := s.Conn.SetReadDeadline(until); err != nil {
		return 0, err
	}
	return s.Read(p)
}

// Close closes or parks the connection.
func (s *scannedConn) Close() error {
	switch {
	case s.presence.CompareAndSwap(leaving, left):
		return s.listener.park(s)
	case s.presence.Load() == left:
		return nil // it is no longer net/http's
	}
	return s.Conn.Close()
}

// park waits for the next request of a connection in place of net/http.
func (l *listener) park(s *scannedConn) error {
	if err := s.below.SetReadDeadline(s.deadline()); err != nil {
		return errors.Join(err, s.Conn.Close())
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return s.Conn.Close()
	}
	l.parked[s] = struct{}{}
	l.running.Add(1)
	l.mu.Unlock()
	go l.awaitRequest(s)
	return nil
}

func (l *listener) awaitRequest(s *scannedConn) {
	defer l.running.Done()
	ready := s.below.readEarly() && s.below.SetReadDeadline(time.Time{}) == nil
	l.mu.Lock()
	delete(l.parked, s)
	l.mu.Unlock()
	if !ready {
		_ = s.Conn.Close()
		return
	}
	session, _ := s.Conn.(*tls.Conn)
	l.offer(s.below, l.scanned(s.below, session))
}

// wakeParked closes all parked connections, and lets no more be parked.
func (l *listener) wakeParked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for s := range l.parked {
		_ = s.below.SetReadDeadline(time.Unix(1, 0))
	}
}

// readEarly waits for the connection's next byte, and keeps that for Read.
func (c *conn) readEarly() bool {
	n, _ := c.Conn.Read(c.early[:])
	c.hasEarly = n > 0
	return c.hasEarly
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	if c.hasEarly && len(p) > 0 {
		c.hasEarly = false
		return copy(p, c.early[:]), nil
	}
	return c.Conn.Read(p)
}

func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
