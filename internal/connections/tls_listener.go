package connections

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// TLSOptions configure a TLS listener.
type TLSOptions struct {
	Config  *tls.Config
	Timeout time.Duration // for one handshake
	// OnFailed is called for each failed handshake, except if the table closed its
	// connection.
	OnFailed func(from net.Addr, err error)
}

// ListenTLS is like Listen, for TLS. Each handshake runs in its own
// goroutine. The connections are of type [*tls.Conn], from which the server
// learns whether HTTP/2 was negotiated.
func (t *Table) ListenTLS(l net.Listener, h TLSOptions) net.Listener { return t.listen(l, &h) }

// handshake makes a connection's handshake and passes it to Accept.
func (l *listener) handshake(ctx context.Context, c *conn) {
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
		answerPlainHTTP(ctx, err, c.table.options.Describe)
		if c.closeFor(ReasonHandshake) && ctx.Err() == nil {
			l.handshakes.OnFailed(c.RemoteAddr(), err)
		}
		return
	}
	l.offer(c, session)
}

// Bounds of reading a connection without TLS after its answer.
const (
	plainLinger      = 2 * time.Second
	plainLingerBytes = 64 << 20
)

// answerPlainHTTP answers a client that sends HTTP without TLS, as net/http
// does, and keeps reading its content, so that it sees the answer.
func answerPlainHTTP(ctx context.Context, err error, describe Describer) {
	var header tls.RecordHeaderError
	if !errors.As(err, &header) || header.Conn == nil {
		return
	}
	switch string(header.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		_ = header.Conn.SetWriteDeadline(time.Now().Add(time.Second))
		why := &Refusal{http.StatusBadRequest, "", "it came without TLS to a listener of HTTPS"}
		if _, err := header.Conn.Write(why.AppendAnswer(nil, describe)); err != nil || closeWrite(header.Conn) != nil {
			return
		}
		_ = header.Conn.SetReadDeadline(time.Now().Add(plainLinger))
		defer context.AfterFunc(ctx, func() { _ = header.Conn.SetReadDeadline(time.Unix(1, 0)) })()
		_, _ = io.CopyN(io.Discard, header.Conn, plainLingerBytes) // until its end, or an error
	}
}
