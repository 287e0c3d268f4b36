// Package upstream calls the regional endpoints of resource providers over HTTP.
//
// [Client.Do] makes one attempt and streams the answer: it forwards the calls of
// clients, whose writes must never be sent twice. [Client.Read] is for Portico's own
// reads: it retries safe calls, through hashicorp/go-retryablehttp and within a budget
// per endpoint, and buffers the whole answer, bounded.
//
// Both take one of a limited number of slots of the endpoint; one caller has at most a
// share. Waiting callers are served in turn, for a bounded time.
//
// Both choose an address by package health, which learns from calls and from the probes
// of [Client.Run], and move on to another one as long as nothing was sent. A read whose
// connection breaks off before its answer moves on to one other address.
//
// Package internal/http1/client makes most calls. Reads over TLS, which may use HTTP/2, are made by
// net/http. Writes use HTTP/1.1: only a connection that carries one request at a time
// shows whether a byte of it has left (package sendguard).
//
// The client never follows redirects, never decompresses a streamed answer, and never
// calls a URL from an answer: a call names an endpoint of the region map, with path and
// query.
package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/internal/http1/client"
	"portico/internal/sendguard"
	"portico/limits"
	"portico/regions"
	"portico/regions/health"
	"portico/tracing/headers"
)

// Options bound the calls of a [Client].
type Options struct {
	CallTimeout time.Duration // from the first dial to the last byte of an answer
	MaxAnswer   int64         // bytes of one answer, after decompression
	Readers     int           // reads by [Client.Read] in flight to one endpoint; 0: 64
	Calls       int           // reads, and writes, by [Client.Do] in flight to one endpoint; 0: 512
	// ReadersPerCaller and CallsPerCaller bound one caller's share of these; 0: all.
	ReadersPerCaller, CallsPerCaller int
	// Queue bounds the wait for both.
	Queue Queue
	// Identities are for https endpoints.
	Identities Identities
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

// Client calls regional endpoints. Each address has its own connections, so
// that a slow region cannot use up another's. It is safe for concurrent use.
type Client struct {
	options    Options
	metrics    *metrics
	log        *zap.Logger
	epoch      time.Time // times of package health count from it
	registry   *health.Registry
	probing    atomic.Pointer[Probing]
	identities atomic.Pointer[Identities]
	probersDue chan struct{} // the map or the probing has changed
	audit      atomic.Pointer[Auditor]
	reading    limits.Stats // for Options.Readers
	calling    limits.Stats // for Options.Calls
	idle       client.Idle
	dial       dialer
	onWrite    func(*sendguard.Guard) // test hook for writes; nil for none

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
	o.Queue = o.Queue.orDefaults()
	c := &Client{
		options: o, log: o.Log, epoch: time.Now(), probersDue: make(chan struct{}, 1),
		byName: map[string]*target{}, pools: map[*health.Address]*pool{}, probers: map[*health.Address]*prober{},
	}
	if c.log == nil {
		c.log = zap.NewNop()
	}
	c.idle.Max = maxIdleInAll
	c.dial = newDialer().DialContext
	c.probing.Store(&o.Health.Probing)
	c.identities.Store(&o.Identities)
	c.registry = health.New(o.Health.Settings, c.logHealthChange)
	c.metrics = newMetrics(o.Metrics, c)
	return c
}

// SetDrained sets the function that reports whether a region, or an address, is out for
// maintenance now. Such an address is called only if no other one of its endpoint can be.
func (c *Client) SetDrained(is func(place string) bool) { c.registry.SetDrained(is) }

// Close closes idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		p.transports.Load().closeIdle()
	}
}

// now returns the current time for package health, and at converts a given one.
func (c *Client) now() time.Duration               { return time.Since(c.epoch) }
func (c *Client) at(given time.Time) time.Duration { return given.Sub(c.epoch) }

// Call is one request to an endpoint.
type Call struct {
	Endpoint *regions.Endpoint
	Method   string
	Path     string      // as in a request target
	Query    string      // raw
	Header   http.Header // Do may change it
	// Own holds further headers, set by the gateway. Header has none of them.
	Own     headers.Fields
	Content []byte
	// Caller is charged for the slot; empty for Portico's own work.
	Caller string
	// Provider is the called namespace, as the map spells it, for metrics.
	Provider string
	// SendWithin, counted from Since, bounds when the first byte of a write may leave;
	// after that it stays unsent. EndWithin bounds every byte: a write that is still
	// being sent then is cut off, and may have taken effect. 0 is no bound.
	Since                 time.Time
	SendWithin, EndWithin time.Duration
	// Reserve is called by Read before it allocates n more bytes for an answer; an
	// error ends the call. It may be nil.
	Reserve func(ctx context.Context, n int64) error
	// Buffer provides n bytes, with arbitrary content, for an answer whose
	// length Read knows; they become the answer's body. It may be nil.
	Buffer func(n int64) []byte
	// IsRetry marks a Read that repeats a failed one. It is charged to the endpoint's
	// retry budget.
	IsRetry bool
	// Job names the durable work that makes the call; the auditor receives such calls.
	Job string

	deadline time.Time // in addition to the context's; zero: none
	attempt  int       // number of the attempt
	queued   time.Duration
}

// Do makes one attempt and returns the answer, whose body the caller must close.
// Reading it fails once the call's time is up, and with [ErrTooLarge] beyond the
// bound on answers. If it cannot connect, and so has sent nothing, the attempt moves
// on to another address, and so does, once, a read whose connection breaks off before
// its answer. The error is a *[Fault].
func (c *Client) Do(ctx context.Context, call Call) (*http.Response, error) {
	t := c.target(call.Endpoint)
	began := time.Now()
	call.deadline = began.Add(c.options.CallTimeout)
	r := c.attemptInSlot(ctx, t, &call, began)
	if call.Job != "" {
		c.auditCall(&call, began, r.response, r.err)
	}
	if r.err != nil {
		return nil, &Fault{Sent: r.sent, Region: call.Endpoint.Region, Err: withCause(call.ended(ctx), r.err)}
	}
	r.request.left = c.options.MaxAnswer
	return r.response, nil
}

// ended returns the reason why the call's time has ended; nil if it has not.
func (call *Call) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !call.deadline.IsZero() && !time.Now().Before(call.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// withCause joins err with the reason why a call ended, if any.
func withCause(cause, err error) error {
	if cause == nil {
		return err
	}
	return errors.Join(cause, err)
}

// attemptInSlot makes an attempt once a slot is free. Closing the answer's
// body releases the slot.
func (c *Client) attemptInSlot(ctx context.Context, t *target, call *Call, now time.Time) attemptResult {
	slots := t.slots(call.Method)
	if err := c.acquire(ctx, call.deadline, slots, call); err != nil {
		return attemptResult{err: err}
	}
	if call.queued > 0 {
		now = time.Now()
	}
	r := c.attempt(ctx, t, call, nil, now)
	if r.err != nil {
		slots.Release(call.Caller)
		return r
	}
	r.request.slot.of, r.request.slot.caller = slots, call.Caller
	return r
}

// ErrTooLarge is returned if an answer is longer than the bound.
var ErrTooLarge = errors.New("the answer exceeds the bound")

// Auditor receives each call that a job made, with its start, and the status of its
// answer or its error. It must not keep the call.
type Auditor func(call Call, began time.Time, status int, err error)

// Audit sets the auditor of calls with a Job.
func (c *Client) Audit(a Auditor) { c.audit.Store(&a) }

func (c *Client) auditCall(call *Call, began time.Time, response *http.Response, err error) {
	auditor := c.audit.Load()
	if auditor == nil {
		return
	}
	status := 0
	if err == nil {
		status = response.StatusCode
	}
	(*auditor)(*call, began, status, err)
}

// maxSendAnswer bounds the answer to a write of Portico's own. Only its
// status and error matter.
const maxSendAnswer = 1 << 20

// Send makes a call like [Client.Do] and reads its complete answer,
// decompressed. Without an answer the Status is 0, and the error is Do's.
// With an answer, an error means that the body broke off or, for
// [ErrTooLarge], that it exceeds 1 MiB; there is no Body then.
func (c *Client) Send(ctx context.Context, call Call) (Answer, error) {
	response, err := c.Do(ctx, call)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	body, err := ReadAll(response.Header, response.Body, maxSendAnswer)
	return Answer{response.StatusCode, response.Header, body}, err
}

// Unsent reports whether err means that no byte of a call has left.
func Unsent(err error) bool {
	fault, ok := errors.AsType[*Fault](err)
	return ok && !fault.Sent
}
