package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/limits"
	"portico/regions"
	"portico/regions/health"
)

// Options bound the calls of a [Client].
type Options struct {
	CallTimeout time.Duration // from the first dial to the last byte of an answer
	MaxAnswer   int64         // bytes of one answer, after decompression
	Readers     int           // reads by [Client.Read] under way to one endpoint; 0: 64
	Calls       int           // reads, and writes, by [Client.Do] under way to one endpoint; 0: 512
	// ReadersPerCaller and CallsPerCaller are how many of these one caller may have
	// under way; 0: all.
	ReadersPerCaller, CallsPerCaller int
	TLS                              *tls.Config // for https endpoints; nil for the system's defaults
	// Health is how addresses are judged and probed; zero: not at all.
	Health Health
	// Metrics may be nil.
	Metrics prometheus.Registerer
	// Log tells of changes in the health of addresses; nil for none.
	Log *zap.Logger
}

const (
	defaultReaders = 64
	defaultCalls   = 512
)

// Limits of the connections to one address.
const (
	dialTimeout       = 3 * time.Second
	handshakeTimeout  = 5 * time.Second
	maxIdle           = 128
	idleTimeout       = 30 * time.Second
	maxResponseHeader = 64 << 10
)

// Client calls regional endpoints. Each address has its own connections, so
// that a slow region cannot take those of another. It is safe for concurrent
// use.
type Client struct {
	options    Options
	metrics    *metrics
	log        *zap.Logger
	epoch      time.Time // the health of addresses counts from here
	registry   *health.Registry
	probing    atomic.Pointer[Probing]
	tls        atomic.Pointer[tls.Config]
	probersDue chan struct{} // there is another map, or another way of probing
	audit      atomic.Pointer[Auditor]
	reading    limits.Stats // of what waits for Options.Readers
	calling    limits.Stats // and for Options.Calls

	targets sync.Map // of *regions.Endpoint: *target

	mu         sync.Mutex
	mapTargets []*target // of the map
	byName     map[string]*target
	pools      map[*health.Address]*pool
	probers    map[*health.Address]*prober
}

// New returns a client. [Client.Close] ends its idle connections.
func New(o Options) *Client {
	if o.Readers == 0 {
		o.Readers = defaultReaders
	}
	if o.Calls == 0 {
		o.Calls = defaultCalls
	}
	if o.ReadersPerCaller == 0 {
		o.ReadersPerCaller = o.Readers
	}
	if o.CallsPerCaller == 0 {
		o.CallsPerCaller = o.Calls
	}
	c := &Client{
		options: o, log: o.Log, epoch: time.Now(), probersDue: make(chan struct{}, 1),
		byName: map[string]*target{}, pools: map[*health.Address]*pool{}, probers: map[*health.Address]*prober{},
	}
	if c.log == nil {
		c.log = zap.NewNop()
	}
	c.probing.Store(&o.Health.Probing)
	c.tls.Store(o.TLS)
	c.registry = health.New(o.Health.Settings, c.logHealthChange)
	c.metrics = newMetrics(o.Metrics, c)
	return c
}

// Close drops the connections that are idle.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		p.transports.Load().closeIdle()
	}
}

// now is the time as the health of addresses is told it.
func (c *Client) now() time.Duration { return time.Since(c.epoch) }

func (c *Client) transport(forWrites bool, of *addressMetrics) *http.Transport {
	dial := countedDial(&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}, of)
	t := &http.Transport{
		Proxy:                  nil, // a front door does not go by its environment
		DialContext:            dial,
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    maxIdle,
		MaxConnsPerHost:        maxConnections(c.options),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
		DisableCompression:     true, // bodies pass as they are
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		Protocols:              new(http.Protocols),
	}
	if settings := c.tls.Load(); settings != nil {
		t.TLSClientConfig = settings.Clone()
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

// mostConnections bounds the connections of one kind to one address. Calls are
// bounded before they ask for one, and wait there in an order that is fair; this is
// for connections that outlive their calls.
func maxConnections(o Options) int { return 2 * (o.Calls + o.Readers) }

// Call is one request to an endpoint.
type Call struct {
	Endpoint *regions.Endpoint
	Method   string
	Path     string      // as in a request target
	Query    string      // raw
	Header   http.Header // Do may change it
	Content  []byte
	// Caller names whose share of the endpoint's calls this one uses; empty for work
	// of Portico's own.
	Caller string
	// Since and SendWithin bound when the first byte of a write may leave; it
	// stays unsent when the time is over. EndWithin bounds every byte: a write
	// that is under way then is broken off, and may have taken effect. 0 is no
	// such bound.
	Since                 time.Time
	SendWithin, EndWithin time.Duration
	// Reserve, of a Read, is asked for room before it is made for n bytes more
	// of an answer; its error ends the call. It may be nil.
	Reserve func(ctx context.Context, n int64) error
	// Repeats, of a Read: the call repeats one that failed, and takes from the
	// endpoint's budget of retries.
	IsRetry bool
	// Job names the durable work that makes the call on its own account; what
	// [Client.Audit] was given is told of such calls.
	Job string
}

// Do makes one attempt and returns the answer, whose body the caller must
// close; reading it fails once the call's time is up, and with [ErrTooLarge]
// past the bound on answers. Where no connection could be made, and so nothing
// was sent, the attempt goes on to another address. The error is a *[Fault].
func (c *Client) Do(ctx context.Context, call Call) (*http.Response, error) {
	t := c.target(call.Endpoint)
	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	began := time.Now()
	response, sent, release, err := c.attemptInSlot(ctx, t, call)
	if call.Job != "" {
		c.auditCall(call, began, response, err)
	}
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			err = errors.Join(cause, err)
		}
		cancel()
		return nil, &Fault{Sent: sent, Region: call.Endpoint.Region, Err: err}
	}
	response.Body = &answerBody{body: response.Body, left: c.options.MaxAnswer, cancel: cancel, release: release}
	return response, nil
}

// inTurn makes an attempt once there is a slot for it, which release gives back.
func (c *Client) attemptInSlot(ctx context.Context, t *target, call Call) (response *http.Response, sent bool, release func(), err error) {
	slots := t.slots(call.Method)
	if err := acquire(ctx, slots, call.Caller); err != nil {
		return nil, false, nil, err
	}
	release = sync.OnceFunc(func() { slots.Release(call.Caller) })
	if response, sent, err = c.attempt(ctx, t, call, nil); err != nil {
		release()
	}
	return response, sent, release, err
}

// ErrTooLarge tells that an answer is longer than the bound.
var ErrTooLarge = errors.New("the answer exceeds the bound")

// answerBody bounds an answer and ends its call when it is closed. The call's slot is
// free once the answer has been read.
type answerBody struct {
	body    io.ReadCloser
	left    int64
	cancel  context.CancelFunc
	release func() // nil: none to release
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
	if err != nil && b.release != nil {
		b.release()
	}
	return n, err
}

func (b *answerBody) Close() error {
	err := b.body.Close()
	b.cancel()
	if b.release != nil {
		b.release()
	}
	return err
}
