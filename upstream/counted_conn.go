package upstream

import (
	"context"
	"net"
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

// NetConn returns the counted connection.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

func countedDial(dial dialer, of *addressMetrics) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		of.open.Inc()
		return &countedConn{Conn: conn, series: of}, nil
	}
}
