package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"portico/failpoint"
	"portico/timing"
)

// writeGuard controls which bytes of one request may be written, and records whether
// any was. The transport may try several connections; only the one that took the
// first byte may take more.
type writeGuard struct {
	mu              sync.Mutex
	carrier         *guardedConn // the connection that took the first byte
	reused          bool         // the current connection has carried other requests
	stale           bool         // a reused connection was dead before it took a byte
	started         time.Time
	firstByteWithin time.Duration // bounds the first byte; 0: no bound
	lastByteWithin  time.Duration // bounds every byte; 0: no bound
	lateErr         error         // why a byte was refused after a deadline
}

var (
	errTooLate    = errors.New("the time in which the request could be sent is over")
	errCutOff     = errors.New("the request was broken off: its time ended before its last byte was sent")
	errSecondSend = errors.New("the request was sent before")
)

// attach records whether the connection that the request got was reused.
func (s *writeGuard) attach(reused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reused, s.stale = reused, false
}

// allowBytes returns nil if connection c may write bytes of the request, and reports
// whether they are its first.
func (s *writeGuard) allowBytes(c *guardedConn) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = s.carrier == nil
	passed := timing.Elapsed(s.started, time.Now())
	switch over := s.lastByteWithin > 0 && passed > s.lastByteWithin; {
	case !first && s.carrier != c:
		return false, errSecondSend
	case first && (over || s.firstByteWithin > 0 && passed > s.firstByteWithin):
		s.lateErr = errTooLate
	case over:
		s.lateErr = errCutOff
	default:
		s.carrier = c
		return first, nil
	}
	return false, s.lateErr
}

// undoFirstByte reverts the first allowBytes: no byte has left after all.
func (s *writeGuard) undoFirstByte() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carrier, s.stale = nil, s.reused
	if s.lateErr != nil {
		s.lateErr = errTooLate
	}
}

// retryStale reports, once, that the request may be sent on another connection.
func (s *writeGuard) retryStale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.stale
	s.stale = false
	return again
}

// sent reports whether a byte of the request may have left.
func (s *writeGuard) sent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.carrier != nil
}

// withDeadlineError adds the deadline error to err if bytes were refused for it: the
// transport may report only the connection that it closed then.
func (s *writeGuard) withDeadlineError(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lateErr != nil && !errors.Is(err, s.lateErr) {
		return errors.Join(s.lateErr, err)
	}
	return err
}

// trace attaches the guard to each connection that the transport chooses for the
// request, and calls made.
func (s *writeGuard) trace(ctx context.Context, made func(httptrace.GotConnInfo)) context.Context {
	t := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			made(info)
			conn := info.Conn
			if secured, ok := conn.(*tls.Conn); ok {
				conn = secured.NetConn()
			}
			if guarded, ok := conn.(*guardedConn); ok {
				s.attach(info.Reused)
				guarded.guard.Store(s)
			}
		},
	}
	if failpoint.Enabled {
		t.GotFirstResponseByte = func() { s.sent() } // waits for afterSend
	}
	return httptrace.WithClientTrace(ctx, t)
}

// guardedConn is a connection that consults its request's guard before it writes. It
// carries one request at a time: HTTP/1.1 without pipelining.
type guardedConn struct {
	net.Conn
	socket syscall.RawConn // of Conn; nil if it has none or the platform is unsupported
	guard  atomic.Pointer[writeGuard]
}

// maxPiece bounds what is written without consulting the guard again.
const maxPiece = 64 << 10

// Write refuses bytes that the guard does not allow. Without a request (a TLS
// handshake) everything passes. If the connection died while idle and took no byte,
// the request may use another one.
//
// A large write may block repeatedly, and the process may be stopped meanwhile, so
// the guard is consulted before each piece.
func (c *guardedConn) Write(p []byte) (n int, err error) {
	s := c.guard.Load()
	if s == nil {
		return c.Conn.Write(p)
	}
	begun := false
	allow := func() error {
		first, err := s.allowBytes(c)
		begun = begun || first
		return err
	}
	for n < len(p) && err == nil {
		var wrote int
		wrote, err = c.writePiece(p[n:min(n+maxPiece, len(p))], allow)
		n += wrote
	}
	if begun && n == 0 && err != nil {
		s.undoFirstByte()
	}
	if failpoint.Enabled && begun && err == nil {
		err = s.afterSend()
	}
	return n, err
}

// writePiece writes a part of p, if allowed. On a socket each system call is
// checked; [net.Conn.Write] checks only once, and a blocked write continues
// unchecked.
func (c *guardedConn) writePiece(p []byte, allow func() error) (int, error) {
	if c.socket != nil {
		return writeSocket(c.socket, p, allow)
	}
	if err := allow(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// afterSend is the point at which bytes of the request have left. No answer is read
// before it returns: see trace.
func (s *writeGuard) afterSend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return failpoint.Hit(failpoint.UpstreamSendAfter)
}

func guardedDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &guardedConn{Conn: conn, socket: socketOf(conn)}, nil
	}
}
