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
	Readers     int           // reads by [Client.Read] in flight to one endpoint; 0: 64
	Calls       int           // reads, and writes, by [Client.Do] in flight to one endpoint; 0: 512
	// ReadersPerCaller and CallsPerCaller bound those of one caller; 0: all.
	ReadersPerCaller, CallsPerCaller int
	TLS                              *tls.Config // for https endpoints; nil for the system's defaults
	// Health configures ejection and probes; zero: none.
	Health Health
	// Metrics may be nil.
	Metrics prometheus.Registerer
	// Log receives changes in the health of addresses; may be nil.
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
	idleTimeout       = 30 * time.Second
	maxResponseHeader = 64 << 10
)

// Client calls regional endpoints. Each address has its own connections, so that a
// slow region cannot use up those of another. It is safe for concurrent use.
type Client struct {
	options    Options
	metrics    *metrics
	log        *zap.Logger
	epoch      time.Time // times of package health count from it
	registry   *health.Registry
	probing    atomic.Pointer[Probing]
	tls        atomic.Pointer[tls.Config]
	probersDue chan struct{} // the map or the probing has changed
	audit      atomic.Pointer[Auditor]
	reading    limits.Stats // for Options.Readers
	calling    limits.Stats // for Options.Calls

	targets sync.Map // of *regions.Endpoint: *target

	mu         sync.Mutex
	mapTargets []*target // of the current map
	byName     map[string]*target
	pools      map[*health.Address]*pool
	probers    map[*health.Address]*prober
}

// New returns a client. [Client.Close] closes its idle connections.
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

// Close closes idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		p.transports.Load().closeIdle()
	}
}

// now returns the time as package health counts it.
func (c *Client) now() time.Duration { return time.Since(c.epoch) }

func (c *Client) transport(forWrites bool, of *addressMetrics) *http.Transport {
	dial := countedDial(&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}, of)
	t := &http.Transport{
		Proxy:                  nil, // ignore the environment
		DialContext:            dial,
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    maxIdle(c.options),
		MaxConnsPerHost:        maxConnections(c.options),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
		DisableCompression:     true, // bodies are passed on unchanged
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		Protocols:              new(http.Protocols),
	}
	if settings := c.tls.Load(); settings != nil {
		t.TLSClientConfig = settings.Clone()
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(!forWrites)
	if forWrites {
		// Only a connection that carries one request at a time shows whether a
		// byte of a write has left.
		t.DialContext = guardedDial(dial)
	}
	return t
}

// maxIdle bounds the idle connections to one address: as many as there may be calls.
// With fewer, some calls close theirs when they end while others dial.
func maxIdle(o Options) int { return o.Calls + o.Readers }

// maxConnections bounds the connections of one kind to one address. Slots bound
// calls first, in a fair order; this covers connections that outlive their calls.
func maxConnections(o Options) int { return 2 * maxIdle(o) }

// Call is one request to an endpoint.
type Call struct {
	Endpoint *regions.Endpoint
	Method   string
	Path     string      // as in a request target
	Query    string      // raw
	Header   http.Header // Do may change it
	Content  []byte
	// Caller is charged for the slot; empty for Portico's own work.
	Caller string
	// SendWithin, counted from Since, bounds when the first byte of a write may
	// leave; later it stays unsent. EndWithin bounds every byte: a write still being
	// sent then is cut off, and may have taken effect. 0 is no bound.
	Since                 time.Time
	SendWithin, EndWithin time.Duration
	// Reserve is called by Read before it allocates n more bytes for an answer; an
	// error ends the call. It may be nil.
	Reserve func(ctx context.Context, n int64) error
	// IsRetry marks a Read that repeats a failed one. It is charged to the endpoint's
	// retry budget.
	IsRetry bool
	// Job names the durable work that makes the call; the auditor receives such
	// calls.
	Job string
}

// Do makes one attempt and returns the answer, whose body the caller must close.
// Reading it fails once the call's time is up, and with [ErrTooLarge] beyond the
// bound on answers. If it cannot connect, and so has sent nothing, the attempt moves
// on to another address. The error is a *[Fault].
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

// attemptInSlot makes an attempt once a slot is free; release returns the slot.
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

// ErrTooLarge is returned if an answer is longer than the bound.
var ErrTooLarge = errors.New("the answer exceeds the bound")

// answerBody bounds an answer and ends its call on Close. It releases the call's
// slot once the answer has been read.
type answerBody struct {
	body    io.ReadCloser
	left    int64
	cancel  context.CancelFunc
	release func() // may be nil
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
