package connections

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// TLSOptions configure a TLS listener.
type TLSOptions struct {
	Config  *tls.Config
	Timeout time.Duration // of one handshake
	// OnFailed is called for each failed handshake, except if the table closed its
	// connection.
	OnFailed func(from net.Addr, err error)
}

// ListenTLS is Listen for TLS. It makes each handshake in a goroutine: net/http
// needs a bare [*tls.Conn] for HTTP/2, and must get a scanned connection otherwise.
// Close closes connections that were not yet accepted.
func (t *Table) ListenTLS(l net.Listener, h TLSOptions) net.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	s := &tlsListener{
		listener: listener{l, t}, handshakes: h, ended: ctx.Done(), end: cancel,
		accepted: make(chan net.Conn), failed: make(chan error),
	}
	s.running.Go(func() { s.run(ctx) })
	return s
}

type tlsListener struct {
	listener
	handshakes TLSOptions
	accepted   chan net.Conn
	failed     chan error
	ended      <-chan struct{}
	end        context.CancelFunc
	running    sync.WaitGroup
}

// Accept implements [net.Listener].
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case err := <-l.failed:
		return nil, err
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. It returns when all handshakes have ended.
func (l *tlsListener) Close() error {
	l.end()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}

// run accepts connections until the listener is closed. After an error it waits
// until Accept has returned it.
func (l *tlsListener) run(ctx context.Context) {
	for {
		c, err := l.acceptAdmitted()
		if err == nil {
			l.running.Go(func() { l.handshake(ctx, c) })
			continue
		}
		select {
		case l.failed <- err:
		case <-ctx.Done():
			return
		}
	}
}

// handshake makes a connection's handshake and passes it to Accept.
func (l *tlsListener) handshake(ctx context.Context, c *conn) {
	c.table.startIdleTimer(c)
	session := tls.Server(c, l.handshakes.Config)
	err := c.SetDeadline(time.Now().Add(l.handshakes.Timeout))
	if err == nil {
		err = session.HandshakeContext(ctx)
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		answerPlainHTTP(err)
		if c.closeFor(ReasonHandshake) && ctx.Err() == nil {
			l.handshakes.OnFailed(c.RemoteAddr(), err)
		}
		return
	}
	var spoken net.Conn = session
	if session.ConnectionState().NegotiatedProtocol != "h2" {
		spoken = scannedTLSConn{&scannedConn{Conn: session}, session}
	}
	select {
	case l.accepted <- spoken:
	case <-ctx.Done():
		_ = c.Close() // without a TLS alert, which could block
	}
}

// answerPlainHTTP answers a client that speaks HTTP without TLS, as net/http does.
func answerPlainHTTP(err error) {
	var header tls.RecordHeaderError
	if !errors.As(err, &header) || header.Conn == nil {
		return
	}
	switch string(header.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		_ = header.Conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(header.Conn, "HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
	}
}
