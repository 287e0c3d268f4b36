package explain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"portico/gateway/admin/api"
	"portico/gateway/exchange"
	"portico/internal/connections"
	"portico/regions"
	"portico/upstream"
)

// mostCalls bounds the calls of an explanation.
const mostCalls = 1000

// errNotCalled is the error of a call that was recorded instead of made.
var errNotCalled = errors.New("the request is only explained: no provider is called")

// Calls records the calls that a request would make to providers instead of making them.
type Calls struct {
	client *upstream.Client

	mu       sync.Mutex
	recorded []call
}

// call is a call that a request would make.
type call struct {
	upstream.Call
	purpose    string
	addresses  []upstream.Prospect
	credential string // the header with a secret
	down       bool   // no address can be called
	sent       bool   // the call was made nevertheless
}

// NewCalls returns a recorder in place of c. Ports created by ForReal make calls through c.
func NewCalls(c *upstream.Client) *Calls { return &Calls{client: c} }

// For returns a port for calls with a purpose, one of the constants of package api.
func (c *Calls) For(purpose string) *Port { return &Port{calls: c, purpose: purpose} }

// ForReal is like For, but the port's reads are recorded and also made.
func (c *Calls) ForReal(purpose string) *Port { return &Port{c, purpose, true} }

// Port records calls for one purpose. It is used in place of an [upstream.Client].
type Port struct {
	calls   *Calls
	purpose string
	reads   bool // makes its reads for real
}

// emptyPage is the assumed answer of each region to a merged list, so that the list reaches
// all regions and fails only for those that cannot be called.
var emptyPage = []byte(`{"value":[]}`)

// unknownEndpoint is the endpoint of a planned resource whose location is not known yet.
var unknownEndpoint = &regions.Endpoint{}

// Do records a call. It returns an error in any case: that there is no address for the call,
// or that the call was not made.
func (p *Port) Do(_ context.Context, c upstream.Call) (*http.Response, error) {
	if c.Endpoint == nil {
		c.Endpoint = unknownEndpoint
	}
	if err := p.record(c); err != nil {
		return nil, err
	}
	return nil, &upstream.Fault{Region: c.Endpoint.Region, Err: errNotCalled}
}

// Read is like Do for a GET. For a merged list it returns an empty page.
func (p *Port) Read(ctx context.Context, c upstream.Call) (upstream.Answer, error) {
	c.Method = http.MethodGet
	if err := p.record(c); err != nil {
		return upstream.Answer{}, err
	}
	if p.reads {
		return p.calls.client.Read(ctx, c)
	}
	if p.purpose == api.List {
		return upstream.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: emptyPage}, nil
	}
	return upstream.Answer{}, &upstream.Fault{Region: c.Endpoint.Region, Err: errNotCalled}
}

// Send is like Do for answers that are read into memory.
func (p *Port) Send(ctx context.Context, c upstream.Call) (upstream.Answer, error) {
	_, err := p.Do(ctx, c) //nolint:bodyclose // there is no answer
	return upstream.Answer{}, err
}

// record records a call, once however often it is repeated. It returns an error if the
// endpoint cannot be called.
func (p *Port) record(c upstream.Call) error {
	var addresses []upstream.Prospect
	var err error
	if c.Endpoint != unknownEndpoint {
		addresses, err = p.calls.client.CallTargets(c.Endpoint)
	}
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	for _, entry := range p.calls.recorded {
		if entry.purpose == p.purpose && entry.Endpoint == c.Endpoint && entry.Method == c.Method && entry.Path == c.Path && entry.Query == c.Query {
			return err
		}
	}
	if len(p.calls.recorded) < mostCalls {
		p.calls.recorded = append(p.calls.recorded, call{
			Call: c, purpose: p.purpose, addresses: addresses, credential: p.calls.client.CredentialHeader(c.Endpoint),
			down: err != nil, sent: p.reads && err == nil,
		})
	}
	return err
}

// TakeOutcome reports whether the request would be forwarded, and whether its outcome depends
// on the answers of providers (open). It forgets the recorded calls.
func (c *Calls) TakeOutcome() (forwarded, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, recorded := range c.recorded {
		forwarded, open = forwarded || recorded.purpose == api.Forward, open || recorded.purpose != api.Forward
	}
	c.recorded = c.recorded[:0]
	return forwarded, open
}

// Refused explains a request that the HTTP server refuses before any handler sees it.
func Refused(refusal *connections.Refusal) api.Explanation {
	fault := exchange.NoRequest(refusal)
	return atHead(api.Verdict{
		Outcome: api.Refused, Status: fault.Status, Code: string(fault.Code), Message: fault.Message,
		Summary: fmt.Sprintf("refused before any handler: %d %s: %s The connection ends with that answer.", fault.Status, fault.Code, fault.Message),
	})
}

// Unended explains the bytes of a request whose head does not end.
func Unended() api.Explanation {
	return atHead(api.Verdict{
		Outcome: api.Refused,
		Summary: "not answered: the head is incomplete, because the empty line at its end is missing. The gateway waits a few seconds for the " +
			"rest, and closes the connection.",
	})
}

// readAsListener is the detail of the first step of each explanation.
const readAsListener = "read as the public listener reads it"

// atHead returns an explanation that ends with the verdict at the first step.
func atHead(v api.Verdict) api.Explanation {
	v.Step = string(exchange.AtHead)
	return api.Explanation{
		Verdict: v, Caller: api.ExplainedCaller{Roles: api.RolesSkipped},
		Checks: []api.ExplainedCheck{{Step: v.Step, Detail: v.Summary + " (" + readAsListener + ")"}},
	}
}
