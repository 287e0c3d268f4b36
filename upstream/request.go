package upstream

import (
	"crypto/tls"
	"net"
	"sync/atomic"

	"portico/regions/health"
	"portico/upstream/sendguard"
)

// request is one request to one address, however it is sent.
type request struct {
	client *Client
	series *addressMetrics
	choice health.Choice
	got    atomic.Bool     // a connection
	guard  sendguard.Guard // of a write
}

// GotConn counts the connection that the request got, and records a new one in the
// health of the address.
func (x *request) GotConn(_ net.Conn, reused bool, state *tls.ConnectionState) {
	x.got.Store(true)
	if reused {
		x.series.reused.Inc()
		return
	}
	x.series.opened.Inc()
	if state != nil {
		x.series.recordCertificate(*state)
	}
	x.choice.Connected(x.client.now())
}
