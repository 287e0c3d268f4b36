package connections

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
)

// scannedConn is an HTTP/1.x connection whose request heads are scanned as they are
// read.
type scannedConn struct {
	net.Conn
	below    *conn
	listener *listener
	heads    headScanner
	requests int64 // handled so far
	handled  bool  // a handler has the present request

	// A read that net/http starts during a request can outlast the request.
	presence atomic.Int32 // staying, leaving, left
	idle     atomic.Bool  // net/http waits for a further request, and it may be parked
	until    atomic.Int64 // end of that wait, counted from the listener's beginning
}

// NetConn returns the underlying connection.
func (s *scannedConn) NetConn() net.Conn { return s.Conn }

// Read implements [net.Conn].
func (s *scannedConn) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n == 0 && s.idle.Load() && timedOut(err) {
		return s.endWait(p)
	}
	s.heads.scan(p[:n])
	return n, err
}

// CloseWrite lets a client that still sends read the answer before the connection is
// closed.
func (s *scannedConn) CloseWrite() error { return closeWrite(s.Conn) }

func (s *scannedConn) scanner() *scannedConn { return s }

// scannedTLSConn is a scannedConn over TLS. net/http calls ConnectionState for the
// TLS field of requests.
type scannedTLSConn struct {
	*scannedConn
	session *tls.Conn
}

// ConnectionState returns the state of the TLS session.
func (s scannedTLSConn) ConnectionState() tls.ConnectionState { return s.session.ConnectionState() }

type scannerKey struct{}

// AmbiguousKey is the context key under which a server that recognizes ambiguous
// requests by itself says, as a bool, whether the request is one.
type AmbiguousKey struct{}

// Ambiguous reports whether the head of a request has both Content-Length and
// Transfer-Encoding, or a Content-Length that another parser could read differently.
// It must be called once per request, in order, before anything is written.
func Ambiguous(ctx context.Context) bool {
	if known, ok := ctx.Value(AmbiguousKey{}).(bool); ok {
		return known // also of a request that was read below another one
	}
	s, ok := ctx.Value(scannerKey{}).(*scannedConn)
	if !ok {
		return false
	}
	s.requests++
	s.handled = true
	which := s.heads.ambiguous.Load()
	return which > 0 && s.requests >= which
}
