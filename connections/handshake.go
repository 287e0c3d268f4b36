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
type Handshakes struct {
	Config *tls.Config
	Limit  time.Duration // for one of them
	// Failed is told of each that failed, but for those that the table has ended.
	Failed func(from net.Addr, err error)
}

// ListenTLS is Listen for a listener that speaks TLS. It makes the handshakes, each
// in a goroutine of its own: net/http must be handed a bare [*tls.Conn] where HTTP/2
// was negotiated, and one whose heads are looked at where it was not. What it has not
// handed on when it is closed is closed as well.
func (t *Table) ListenTLS(l net.Listener, h Handshakes) net.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	s := &secureListener{
		listener: listener{l, t}, handshakes: h, ended: ctx.Done(), end: cancel,
		accepted: make(chan net.Conn), failed: make(chan error),
	}
	s.running.Go(func() { s.run(ctx) })
	return s
}

type secureListener struct {
	listener
	handshakes Handshakes
	accepted   chan net.Conn
	failed     chan error
	ended      <-chan struct{}
	end        context.CancelFunc
	running    sync.WaitGroup
}

// Accept implements [net.Listener].
func (l *secureListener) Accept() (net.Conn, error) {
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
func (l *secureListener) Close() error {
	l.end()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}

// run accepts connections until the listener is closed. While nobody asks for what
// failed, it waits.
func (l *secureListener) run(ctx context.Context) {
	for {
		c, err := l.admitted()
		if err == nil {
			l.running.Go(func() { l.handOn(ctx, c) })
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
func (l *secureListener) handOn(ctx context.Context, c *conn) {
	c.table.waits(c)
	session := tls.Server(c, l.handshakes.Config)
	err := c.SetDeadline(time.Now().Add(l.handshakes.Limit))
	if err == nil {
		err = session.HandshakeContext(ctx)
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		sayPlain(err)
		if c.end(Handshake) && ctx.Err() == nil {
			l.handshakes.Failed(c.RemoteAddr(), err)
		}
		return
	}
	var spoken net.Conn = session
	if session.ConnectionState().NegotiatedProtocol != "h2" {
		spoken = secured{&scanned{Conn: session}, session}
	}
	select {
	case l.accepted <- spoken:
	case <-ctx.Done():
		_ = c.Close() // without a word of TLS, which a client need not take
	}
}

// sayPlain answers a client that speaks HTTP without TLS, as net/http would.
func sayPlain(err error) {
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
