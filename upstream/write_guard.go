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
)

// send is what one request may put on the wire, and whether it has. The
// transport may try several connections; the connection that carries the first
// byte is the only one that ever will.
type writeGuard struct {
	mu              sync.Mutex
	carrier         *guardedConn // the connection that took the first byte
	reused          bool         // the connection at hand has carried others before
	stale           bool         // it had, and was dead before it took a byte
	started         time.Time
	firstByteWithin time.Duration // bounds the first byte; 0: no bound
	lastByteWithin  time.Duration // bounds every byte; 0: no bound
	lateErr         error         // why a byte was refused for the time
}

var (
	errTooLate    = errors.New("the time in which the request could be sent is over")
	errCutOff     = errors.New("the request was broken off: its time ended before its last byte was sent")
	errSecondSend = errors.New("the request was sent before")
)

// arm notes which kind of connection the request got.
func (s *writeGuard) attach(reused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reused, s.stale = reused, false
}

// begin allows or refuses bytes of the request on connection c, and reports
// whether they are its first.
func (s *writeGuard) allowBytes(c *guardedConn) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = s.carrier == nil
	passed := elapsed(s.started, time.Now())
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

// withdraw takes the first begin back: no byte has left after all.
func (s *writeGuard) undoFirstByte() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carrier, s.stale = nil, s.reused
	if s.lateErr != nil {
		s.lateErr = errTooLate
	}
}

// again reports, once, that the request may go out on another connection.
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

// because adds to an error what the transport may have hidden behind a closed
// connection of its own making: that the bytes were refused for the time.
func (s *writeGuard) withDeadlineError(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lateErr != nil && !errors.Is(err, s.lateErr) {
		return errors.Join(s.lateErr, err)
	}
	return err
}

// elapsed is the larger of what the monotonic and the wall clock say: a
// suspended machine stops the one, a set clock moves the other.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// trace arms each connection that the transport chooses for the request, and
// tells made of it.
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
		t.GotFirstResponseByte = func() { s.sent() } // waits for left
	}
	return httptrace.WithClientTrace(ctx, t)
}

// guardedConn is a connection that asks the request it carries before bytes
// leave. It carries one request at a time: HTTP/1.1 without pipelining.
type guardedConn struct {
	net.Conn
	socket syscall.RawConn // of Conn; nil: it is none, or its system call is unknown
	guard  atomic.Pointer[writeGuard]
}

// pieceBytes bounds what is written without the request being asked again.
const maxPiece = 64 << 10

// Write refuses bytes that the request may not send. Before any request has
// the connection (a TLS handshake) everything passes. A connection that took
// no byte, having died while it was idle, leaves the request to another one.
//
// One large write may wait for its reader again and again, and the process may
// be stopped meanwhile, so the request is asked before each piece of it.
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

// writePiece writes a part of p, if that is allowed. What waits in
// [net.Conn.Write] for its reader goes on without being asked once the
// connection takes bytes again; of a socket each system call is asked about.
func (c *guardedConn) writePiece(p []byte, allow func() error) (int, error) {
	if c.socket != nil {
		return writeSocket(c.socket, p, allow)
	}
	if err := allow(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// left is the point at which bytes of the request have left. Nothing of the answer
// is read before it is passed: see trace.
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
