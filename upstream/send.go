package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// send is what one request may put on the wire, and whether it has. The
// transport may try several connections; the connection that carries the first
// byte is the only one that ever will.
type send struct {
	mu      sync.Mutex
	carrier *guardedConn // the connection that took the first byte
	started time.Time
	within  time.Duration // 0: no bound
}

var (
	errTooLate    = errors.New("the time in which the request could be sent is over")
	errSecondSend = errors.New("the request was sent before")
)

// begin allows or refuses bytes of the request on connection c.
func (s *send) begin(c *guardedConn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.carrier == c:
		return nil
	case s.carrier != nil:
		return errSecondSend
	case s.within > 0 && elapsed(s.started, time.Now()) > s.within:
		return errTooLate
	}
	s.carrier = c
	return nil
}

// sent reports whether a byte of the request may have left.
func (s *send) sent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.carrier != nil
}

// elapsed is the larger of what the monotonic and the wall clock say: a
// suspended machine stops the one, a set clock moves the other.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// trace arms each connection that the transport chooses for the request.
func (s *send) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			conn := info.Conn
			if secured, ok := conn.(*tls.Conn); ok {
				conn = secured.NetConn()
			}
			if guarded, ok := conn.(*guardedConn); ok {
				guarded.send.Store(s)
			}
		},
	})
}

// guardedConn is a connection that asks the request it carries before a byte
// leaves. It carries one request at a time: HTTP/1.1 without pipelining.
type guardedConn struct {
	net.Conn
	send atomic.Pointer[send]
}

// Write refuses bytes that the request may not send. Before any request has
// the connection (a TLS handshake) everything passes.
func (c *guardedConn) Write(p []byte) (int, error) {
	if s := c.send.Load(); s != nil {
		if err := s.begin(c); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

func guardedDial(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &guardedConn{Conn: conn}, nil
	}
}
