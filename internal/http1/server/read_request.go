package server

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"time"
)

// ReadRequest reads a request from the bytes of a client that then closes its side of
// the connection, like a [Server] with the limit maxHead. It returns the handler's
// request, below ctx, with its content still to be read. The error is a
// *[connections.Refusal] for a request that is answered without the handler, and
// [io.EOF] for an incomplete head; a server would wait for the rest.
func ReadRequest(ctx context.Context, sent []byte, maxHead int) (*http.Request, error) {
	c := &conn{Conn: &sentBytes{Reader: bytes.NewReader(sent)}, server: New(Options{MaxHead: maxHead}), ctx: ctx, in: make([]byte, bufferSize)}
	x, err := c.readRequest()
	if err != nil {
		return nil, err
	}
	return x.request.WithContext(&x.context), nil
}

// sentBytes is a connection of a client that has sent everything and accepts any answer.
type sentBytes struct{ *bytes.Reader }

var _ net.Conn = (*sentBytes)(nil)

func (*sentBytes) Write(p []byte) (int, error)      { return len(p), nil }
func (*sentBytes) Close() error                     { return nil }
func (*sentBytes) LocalAddr() net.Addr              { return nil }
func (*sentBytes) RemoteAddr() net.Addr             { return nil }
func (*sentBytes) SetDeadline(time.Time) error      { return nil }
func (*sentBytes) SetReadDeadline(time.Time) error  { return nil }
func (*sentBytes) SetWriteDeadline(time.Time) error { return nil }
