package upstream

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
)

// countedConn is a connection that a gauge counts while it is open.
type countedConn struct {
	net.Conn
	series *addressMetrics
	closed sync.Once
}

func (c *countedConn) Close() error {
	c.closed.Do(c.series.open.Dec)
	return c.Conn.Close()
}

func countedDial(dialer *net.Dialer, of *addressMetrics) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		of.open.Inc()
		return &countedConn{Conn: conn, series: of}, nil
	}
}

// countConnection counts the connection that a request got.
func countConnection(info httptrace.GotConnInfo) {
	conn := info.Conn
	secured, ok := conn.(*tls.Conn)
	if ok {
		conn = secured.NetConn()
	}
	if guarded, ok := conn.(*guardedConn); ok {
		conn = guarded.Conn
	}
	counted, ok := conn.(*countedConn)
	if !ok {
		return
	}
	if info.Reused {
		counted.series.reused.Inc()
		return
	}
	counted.series.opened.Inc()
	if secured != nil {
		counted.series.recordCertificate(secured.ConnectionState())
	}
}
