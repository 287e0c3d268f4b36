// Package sendguard decides which bytes of a write may leave, and records whether any
// has: rule R1 of the index.
//
// A [Guard] belongs to one request. A [Conn] consults the guard of its request before
// each system call that writes, even if the process was stopped or the call had to wait.
// It carries one request at a time: HTTP/1.1 without pipelining.
package sendguard

import (
	"errors"
	"sync"
	"time"

	"portico/internal/failpoint"
	"portico/internal/timing"
)

// Guard controls which bytes of one request may be written, and records whether any
// was. The client may try several connections; only the one that took the first byte
// may take more.
type Guard struct {
	mu              sync.Mutex
	carrier         *Conn // the connection that took the first byte
	reused          bool  // the current connection has carried other requests
	stale           bool  // a reused connection was dead before it took a byte
	started         time.Time
	firstByteWithin time.Duration
	lastByteWithin  time.Duration
	lateErr         error // error of a byte refused after a deadline
}

// Errors of refused bytes.
var (
	ErrTooLate    = errors.New("the time in which the request could be sent is over")
	ErrCutOff     = errors.New("the request was broken off: its time ended before its last byte was sent")
	ErrSecondSend = errors.New("the request was sent before")
)

// Set sets the guard's bounds: the first byte may leave within firstByteWithin of
// started, and any byte within lastByteWithin. 0 is no bound.
func (g *Guard) Set(started time.Time, firstByteWithin, lastByteWithin time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started, g.firstByteWithin, g.lastByteWithin = started, firstByteWithin, lastByteWithin
}

// Attach makes c carry the request; reused reports whether c has carried others.
func (g *Guard) Attach(c *Conn, reused bool) {
	g.mu.Lock()
	g.reused, g.stale = reused, false
	g.mu.Unlock()
	c.guard.Store(g)
}

// allow returns nil if connection c may write bytes of the request, and reports
// whether they are its first.
func (g *Guard) allow(c *Conn) (first bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first = g.carrier == nil
	passed := timing.Elapsed(g.started, time.Now())
	switch over := g.lastByteWithin > 0 && passed > g.lastByteWithin; {
	case !first && g.carrier != c:
		return false, ErrSecondSend
	case first && (over || g.firstByteWithin > 0 && passed > g.firstByteWithin):
		g.lateErr = ErrTooLate
	case over:
		g.lateErr = ErrCutOff
	default:
		g.carrier = c
		return first, nil
	}
	return false, g.lateErr
}

// undoFirstByte reverts the first allow: no byte has left after all. If the
// connection failed, the request may use another one.
func (g *Guard) undoFirstByte(failed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.carrier = nil
	g.stale = failed && g.reused
	if g.lateErr != nil {
		g.lateErr = ErrTooLate
	}
}

// RetryStale reports, once, that the request may be sent on another
// connection, because its connection died while idle and took no byte.
func (g *Guard) RetryStale() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	again := g.stale
	g.stale = false
	return again
}

// Sent reports whether a byte of the request may have left.
func (g *Guard) Sent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.carrier != nil
}

// WithDeadlineError joins err with the deadline error if bytes were refused because of a
// deadline: a client may report only that the connection was closed.
func (g *Guard) WithDeadlineError(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lateErr != nil && !errors.Is(err, g.lateErr) {
		return errors.Join(g.lateErr, err)
	}
	return err
}

// afterSend is the failpoint after bytes of the request have left. Sent waits for it.
func (g *Guard) afterSend() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return failpoint.Hit(failpoint.UpstreamSendAfter)
}
