package contoso

import (
	"crypto/x509"
	"errors"
	"net/http"
	"portico/provider/contoso/fault"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// Options configure a provider. Only Region is required.
type Options struct {
	// Region is the one region that the endpoint serves; "global" makes it the
	// endpoint of the global types.
	Region string
	// StateFile keeps the state across restarts; if it is empty, the state is
	// only in memory. A write is on disk before it is acknowledged. Only one
	// provider may use the file at a time.
	StateFile string
	// PageSize bounds the resources on a page of a list, 50 if zero.
	PageSize int
	// Log gets one entry per request, at level info; nil logs nothing.
	Log *zap.Logger
	// Breaks names rules of the contract that the provider breaks, each from
	// [Breaks]; New refuses unknown ones.
	Breaks []string
	// Habits names freedoms that the provider takes with properties and links,
	// by constants such as [AddDefaults]; New refuses unknown ones.
	Habits []string
	// Types lists further resource types with their api-versions, as
	// "Namespace/type@2024-01-01": tracked ones, and proxy-only ones below
	// those. They have no special rules.
	Types []string
	// AnyType makes the endpoint serve all other types too, with any bodies.
	// Their names determine how they are carried out and answered.
	AnyType bool
	// FrontDoor creates the machines of clusters; if it is nil, clusters are refused.
	FrontDoor *FrontDoor
	// Clients are the authorities of the certificates that a front door must show in the
	// TLS handshake; everyone else is answered with 403. Nil requires no certificate.
	Clients *x509.CertPool
	// Now is the clock of asynchronous operations, time.Now if nil.
	Now func() time.Time
}

// Provider is one isolated regional endpoint. It is an http.Handler for
// concurrent requests, and may be mounted on several servers.
type Provider struct {
	region   string
	pageSize int
	log      *zap.Logger
	now      func() time.Time
	catalog  catalog
	anyType  bool
	versions []string // api-versions
	breaks   breaks
	habits   habits
	met      encounters
	clients  *x509.CertPool

	frontDoor *FrontDoor
	outward   *http.Client
	faults    fault.Table
	requests  recorder

	// closing, once closed, ends the waits of requests with a fault; active
	// counts running requests, which may outlive their connections.
	closing chan struct{}
	active  sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	state   *state
	journal *journal // nil without a state file
	closed  bool
}

// New opens the state file, if any, and returns the provider that continues from it.
// Close releases what New acquired.
func New(o Options) (*Provider, error) {
	if location(o.Region) == "" {
		return nil, errors.New("a region is required")
	}
	if o.PageSize < 0 {
		return nil, errors.New("the page size must not be negative")
	}
	broken, err := newBreaks(o.Breaks)
	if err != nil {
		return nil, err
	}
	habits, err := newHabits(o.Habits)
	if err != nil {
		return nil, err
	}
	further, versions, err := furtherTypes(o.Types)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		region: location(o.Region), pageSize: o.PageSize, log: o.Log, now: o.Now,
		catalog: append(newCatalog(), further...), anyType: o.AnyType, versions: append(apiVersions[:], versions...), breaks: broken, habits: habits,
		state: newState(), closing: make(chan struct{}),
		clients: o.Clients, frontDoor: o.FrontDoor, outward: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	if p.pageSize == 0 {
		p.pageSize = 50
	}
	if p.log == nil {
		p.log = zap.NewNop()
	}
	if p.now == nil {
		p.now = time.Now
	}
	if o.StateFile != "" {
		j, s, err := openJournal(o.StateFile, p.region)
		if err != nil {
			return nil, err
		}
		p.journal, p.state = j, s
	}
	return p, nil
}

// Close ends the waits of running requests, lets these requests finish, and
// closes the state file. Later requests are answered with 503.
func (p *Provider) Close() error {
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.mu.Unlock()
	if was {
		return nil
	}
	close(p.closing)
	p.active.Wait()
	if p.journal == nil {
		return nil
	}
	return p.journal.close()
}

// enter counts a request as active unless the provider is closed.
func (p *Provider) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.active.Add(1)
	}
	return !p.closed
}

// ServeHTTP answers a request to the contract's API or to contoso's own administration.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		failed(fail(http.StatusServiceUnavailable, "ServiceUnavailable", "The provider is closed.")).send(w)
		return
	}
	defer p.active.Done()
	if err := p.trusts(r); err != nil {
		if p.breaks[certificateTooLate] {
			p.serve(discardAnswer{}, r)
		}
		failed(err).send(w)
		return
	}
	if isAdmin(r) {
		p.admin(w, r)
		return
	}
	if !isNotice(r) { // the subscription keeps these
		p.requests.add(p.now(), r)
	}
	id := uuid.NewString()
	if routing := r.Header.Get("x-ms-routing-request-id"); routing != "" && p.breaks[requestIDIsRoutingID] {
		id = routing
	}
	if correlation := r.Header.Get("x-ms-correlation-request-id"); correlation != "" && p.breaks[requestIDIsCorrelationID] {
		id = correlation
	}
	w.Header().Set("x-ms-request-id", id)
	status, fault := p.serve(w, r)
	p.log.Info("request",
		zap.String("method", r.Method),
		zap.String("path", r.URL.EscapedPath()),
		zap.Int("status", status),
		zap.String("fault", fault),
		zap.String("correlationId", r.Header.Get("x-ms-correlation-request-id")),
		zap.String("clientRequestId", r.Header.Get("x-ms-client-request-id")))
}

// serve answers the request with its fault, if any, and returns the status
// and the fault for the log.
func (p *Provider) serve(w http.ResponseWriter, r *http.Request) (int, string) {
	f, ok := p.faults.Take(r, isNotice(r))
	if !ok {
		a := failed(badFault())
		a.send(w)
		return a.status, ""
	}
	if f.Name == fault.CutRequest {
		receiveHalf(w, r)
		return 0, f.Name
	}
	c, err := p.read(r, f)
	if err != nil {
		a := failed(err)
		a.send(w)
		return a.status, f.Name
	}
	c.requestID = w.Header().Get("x-ms-request-id")
	return p.misbehave(w, r, c), f.Name
}

// answer returns the contract's answer to the call.
func (p *Provider) answer(c *call) answer {
	a, err := p.route(c)
	if err != nil {
		if _, ok := errors.AsType[*failure](err); !ok {
			p.log.Error("request failed", zap.Error(err))
		}
		a = failed(err)
	}
	return c.mistype(p.breaks.spoil(a))
}

// transact runs f on the current state, after ending all due operations. If it returns
// no error, f's change is durable and visible; otherwise nothing is changed.
func (p *Provider) transact(f func(*tx) (answer, error)) (answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if err := p.settle(now); err != nil {
		return answer{}, err
	}
	t := p.newTx(now)
	a, err := f(t)
	if err == nil {
		err = t.relist()
	}
	if err != nil {
		return answer{}, err
	}
	return a, p.commit(&t.change)
}

func (p *Provider) newTx(now time.Time) *tx {
	return &tx{state: p.state, catalog: p.catalog, breaks: p.breaks, now: now}
}

func (p *Provider) commit(c *change) error {
	if c.empty() {
		return nil
	}
	if p.journal == nil {
		p.state.apply(c)
		return nil
	}
	if err := p.journal.append(c); err != nil {
		return err
	}
	p.state.apply(c)
	if p.journal.size > p.journal.rewriteAt {
		if err := p.journal.rewrite(p.state); err != nil {
			// The old journal already holds the change itself.
			p.log.Error("state file not rewritten", zap.Error(err))
			p.journal.rewriteAt *= 2
		}
	}
	return nil
}
