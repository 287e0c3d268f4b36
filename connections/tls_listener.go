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

// Handshakes are how connections of a listener begin that speaks TLS.
type TLSOptions struct {
	Config  *tls.Config
	Timeout time.Duration // for one of them
	// Failed is told of each that failed, but for those that the table has ended.
	OnFailed func(from net.Addr, err error)
}

// ListenTLS is Listen for a listener that speaks TLS. It makes the handshakes, each
// in a goroutine of its own: net/http must be handed a bare [*tls.Conn] where HTTP/2
// was negotiated, and one whose heads are looked at where it was not. What it has not
// handed on when it is closed is closed as well.
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

// run accepts connections until the listener is closed. While nobody asks for what
// failed, it waits.
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

// handOn makes a connection's handshake and hands it to who accepts.
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
		_ = c.Close() // without a word of TLS, which a client need not take
	}
}

// sayPlain answers a client that speaks HTTP without TLS, as net/http would.
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
