package connections

import (
	"context"
	"crypto/tls"
	"net"
)

// scanned is a connection of HTTP/1.x whose heads are looked at while they are read.
type scannedConn struct {
	net.Conn
	heads    headScanner
	requests int64 // requests that the handler has been given
}

// NetConn is the connection below.
func (s *scannedConn) NetConn() net.Conn { return s.Conn }

// Read implements [net.Conn].
func (s *scannedConn) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.heads.scan(p[:n])
	return n, err
}

// CloseWrite has a client that still sends read the answer before the connection
// goes.
func (s *scannedConn) CloseWrite() error { return closeWrite(s.Conn) }

func (s *scannedConn) scanner() *scannedConn { return s }

// secured is a scanned connection over TLS. From ConnectionState net/http has what
// it tells handlers of that.
type scannedTLSConn struct {
	*scannedConn
	session *tls.Conn
}

// ConnectionState is what was negotiated.
func (s scannedTLSConn) ConnectionState() tls.ConnectionState { return s.session.ConnectionState() }

type scannerKey struct{}

// Ambiguous reports whether the head of a request has both a Content-Length and a
// Transfer-Encoding, or a Content-Length that goes on in another line. It must be
// asked once for each request, in their order.
func Ambiguous(ctx context.Context) bool {
	s, ok := ctx.Value(scannerKey{}).(*scannedConn)
	if !ok {
		return false
	}
	s.requests++
	which := s.heads.ambiguous.Load()
	return which > 0 && s.requests >= which
}
