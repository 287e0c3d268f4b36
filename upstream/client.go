package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/limits"
	"portico/regions"
)

// Options bound the calls of a [Client].
type Options struct {
	CallTimeout time.Duration // from the first dial to the last byte of an answer
	MaxAnswer   int64         // bytes of one answer, after decompression
	Readers     int           // reads under way to one endpoint; 0: 64
	TLS         *tls.Config   // for https endpoints; nil for the system's defaults
	// Metrics may be nil.
	Metrics prometheus.Registerer
}

const defaultReaders = 64

// Limits of the connections to one address.
const (
	dialTimeout       = 3 * time.Second
	handshakeTimeout  = 5 * time.Second
	maxConnections    = 512
	maxIdle           = 128
	idleTimeout       = 30 * time.Second
	maxResponseHeader = 64 << 10
)

// Client calls regional endpoints. Each address has its own connections, so
// that a slow region cannot take those of another. It is safe for concurrent
// use.
type Client struct {
	options Options
	metrics *metrics
	audit   atomic.Pointer[Auditor]

	mu    sync.Mutex
	pools map[string]*pool
}

// pool holds the connections to the addresses of one endpoint, and what limits
// the reads of it.
type pool struct {
	writes, reads *http.Transport
	next          atomic.Uint32
	readers       *limits.Concurrency
	retries       limits.RetryBudget
	region        string
	series        map[string]*series // by host
	reading       prometheus.Gauge
}

// New returns a client. [Client.Close] ends its idle connections.
func New(o Options) *Client {
	if o.Readers == 0 {
		o.Readers = defaultReaders
	}
	return &Client{options: o, metrics: newMetrics(o.Metrics), pools: map[string]*pool{}}
}

// Close drops the connections that are idle.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		p.writes.CloseIdleConnections()
		p.reads.CloseIdleConnections()
	}
}

func (c *Client) pool(e *regions.Endpoint) *pool {
	key := e.Region + " " + e.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pools[key]
	if p == nil {
		all := c.metrics.watched(e.Region, e.URLs)
		p = &pool{
			writes: c.transport(true, all), reads: c.transport(false, all), readers: limits.NewConcurrency(c.options.Readers),
			region: e.Region, series: all, reading: c.metrics.reading.WithLabelValues(e.Region),
		}
		c.pools[key] = p
	}
	return p
}

func (c *Client) transport(forWrites bool, all map[string]*series) *http.Transport {
	dial := countedDial(&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}, all)
	t := &http.Transport{
		Proxy:                  nil, // a front door does not go by its environment
		DialContext:            dial,
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    maxIdle,
		MaxConnsPerHost:        maxConnections,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
		DisableCompression:     true, // bodies pass as they are
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		Protocols:              new(http.Protocols),
	}
	if c.options.TLS != nil {
		t.TLSClientConfig = c.options.TLS.Clone()
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(!forWrites)
	if forWrites {
		// Whether a byte of a write has left can be told from a connection of
		// its own only.
		t.DialContext = guardedDial(dial)
	}
	return t
}

// Call is one request to an endpoint.
type Call struct {
	Endpoint *regions.Endpoint
	Method   string
	Path     string      // as in a request target
	Query    string      // raw
	Header   http.Header // Do may change it
	Content  []byte
	// Since and SendWithin bound when the first byte of a write may leave; it
	// stays unsent when the time is over. Without them there is no such bound.
	Since      time.Time
	SendWithin time.Duration
	// Reserve, of a Read, is asked for room before it is made for n bytes more
	// of an answer; its error ends the call. It may be nil.
	Reserve func(ctx context.Context, n int64) error
	// Repeats, of a Read: the call repeats one that failed, and takes from the
	// endpoint's budget of retries.
	Repeats bool
	// Job names the durable work that makes the call on its own account; what
	// [Client.Audit] was given is told of such calls.
	Job string
}

// Do makes one attempt and returns the answer, whose body the caller must
// close; reading it fails once the call's time is up, and with [ErrTooLarge]
// past the bound on answers. The error is a *[Fault].
func (c *Client) Do(ctx context.Context, call Call) (*http.Response, error) {
	p := c.pool(call.Endpoint)
	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	began := time.Now()
	response, sent, err := p.roundTrip(ctx, call)
	if call.Job != "" {
		c.tell(call, began, response, err)
	}
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			err = errors.Join(cause, err)
		}
		cancel()
		return nil, &Fault{Sent: sent, Err: err}
	}
	response.Body = &answerBody{body: response.Body, left: c.options.MaxAnswer, cancel: cancel}
	return response, nil
}

// errSwitched: no call asks for another protocol.
var errSwitched = errors.New("the provider switched to another protocol")

func (p *pool) roundTrip(ctx context.Context, call Call) (response *http.Response, sent bool, err error) {
	response, sent, err = p.exchange(ctx, call)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
		_ = response.Body.Close()
		return nil, sent, errSwitched
	}
	return response, sent, err
}

func (p *pool) exchange(ctx context.Context, call Call) (response *http.Response, sent bool, err error) {
	if call.Method == http.MethodGet || call.Method == http.MethodHead {
		var got atomic.Bool
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { got.Store(true); count(info) }})
		response, err = p.send(p.reads, p.request(ctx, call))
		return response, got.Load(), err
	}
	s := &send{started: call.Since, within: call.SendWithin}
	ctx = s.trace(ctx)
	for {
		// The transport itself replaces a dead connection only when the
		// content fits its buffer.
		response, err = p.send(p.writes, p.request(ctx, call))
		if err == nil {
			return response, s.sent(), nil
		}
		if !s.again() {
			return nil, s.sent(), s.because(err)
		}
	}
}

// request builds the message byte for byte: net/url would write some paths in
// an encoding of its own.
func (p *pool) request(ctx context.Context, call Call) *http.Request {
	addresses := call.Endpoint.URLs
	base := addresses[int(p.next.Add(1)-1)%len(addresses)]
	path, err := url.PathUnescape(call.Path)
	if err != nil {
		path = call.Path
	}
	r := &http.Request{
		Method: call.Method,
		URL:    &url.URL{Scheme: base.Scheme, Host: base.Host, Path: path, RawPath: call.Path, RawQuery: call.Query},
		Host:   base.Host,
		Header: call.Header,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if len(r.Header["User-Agent"]) == 0 {
		r.Header["User-Agent"] = []string{""} // none of net/http's own
	}
	if len(call.Content) > 0 {
		// With GetBody the transport can change from a connection that died
		// while idle to a fresh one; that it never sends twice is for the
		// guard to see to.
		r.ContentLength = int64(len(call.Content))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(call.Content)), nil }
		r.Body = io.NopCloser(bytes.NewReader(call.Content))
	}
	hideReplayKeys(r.Header)
	return r.WithContext(ctx)
}

// ErrTooLarge tells that an answer is longer than the bound.
var ErrTooLarge = errors.New("the answer exceeds the bound")

// answerBody bounds an answer and ends its call when it is closed.
type answerBody struct {
	body   io.ReadCloser
	left   int64
	cancel context.CancelFunc
}

func (b *answerBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		b.left = 0
		return n, ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}

func (b *answerBody) Close() error {
	err := b.body.Close()
	b.cancel()
	return err
}
