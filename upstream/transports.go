package upstream

import (
	"net"
	"net/http"
	"time"

	"portico/internal/http1/client"
)

// Limits of the connections to one address.
const (
	dialTimeout       = 3 * time.Second
	handshakeTimeout  = 5 * time.Second
	maxIdleInAll      = 8192
	idleTimeout       = 30 * time.Second
	maxResponseHeader = 64 << 10
)

// transports holds the connections to one address with one identity. Writes
// and reads have separate connections.
type transports struct {
	identity      *Identity
	writes, reads *client.Client
	secureReads   *http.Transport // over TLS; a provider may use HTTP/2
}

func (c *Client) newTransports(p *pool) *transports {
	return &transports{
		identity: c.identity(p),
		writes:   c.http1Client(p), reads: c.http1Client(p), secureReads: c.transport(p),
	}
}

// closeIdle closes idle connections. Those in use are closed when they become
// idle, unless the transports are used again.
func (t *transports) closeIdle() {
	t.writes.CloseIdle()
	t.reads.CloseIdle()
	t.secureReads.CloseIdleConnections()
}

// useHTTP1 reports whether the package internal/http1/client makes a call, and not net/http.
func (p *pool) useHTTP1(call *Call) bool {
	return p.base.Scheme == "http" || isWrite(call.Method)
}

func (c *Client) http1Client(p *pool) *client.Client {
	return client.New(client.Options{
		Host: p.base.Host, Address: addressOf(p.base), TLS: c.tlsConfig(p),
		Dial:             countedDial(c.dial, p.series),
		HandshakeTimeout: handshakeTimeout,
		IdleTimeout:      idleTimeout,
		MaxIdle:          maxIdle(c.options),
		MaxOpen:          maxConnections(c.options),
		IdleInAll:        &c.idle,
		MaxHead:          maxResponseHeader,
	})
}

func (c *Client) transport(p *pool) *http.Transport {
	t := &http.Transport{
		Proxy:                  nil, // ignore the environment
		DialContext:            countedDial(c.dial, p.series),
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    maxIdle(c.options),
		MaxConnsPerHost:        maxConnections(c.options),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
		DisableCompression:     true, // bodies are forwarded unchanged
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		Protocols:              new(http.Protocols),
	}
	t.TLSClientConfig = c.tlsConfig(p)
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(true)
	return t
}

// maxIdle bounds the idle connections to one address by the number of possible calls.
// With fewer, some calls would close theirs at the end while others dial.
func maxIdle(o Options) int { return o.Calls + o.Readers }

// maxConnections bounds the connections of one kind to one address. Slots bound
// calls first, in a fair order; this covers connections that outlive their calls.
func maxConnections(o Options) int { return 2 * maxIdle(o) }

// newDialer returns the dialer of all calls' connections.
func newDialer() *net.Dialer { return &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second} }
