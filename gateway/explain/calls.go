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

// mostCalls bounds how many calls an explanation names.
const mostCalls = 1000

// errNotCalled stands for the answer to a call that was only noted.
var errNotCalled = errors.New("the request is explained, and no provider is called")

// Calls notes the calls that a request would make, and makes none.
type Calls struct {
	client *upstream.Client

	mu    sync.Mutex
	noted []call
}

// call is a call that a request would make.
type call struct {
	upstream.Call
	purpose    string
	addresses  []upstream.Prospect
	credential string // the header with a secret
	down       bool   // no address can be called
	sent       bool   // after all
}

// NewCalls returns what notes the calls that a client would make.
func NewCalls(c *upstream.Client) *Calls { return &Calls{client: c} }

// For returns what takes the calls for a purpose, as one of package api has it.
func (c *Calls) For(purpose string) *Port { return &Port{calls: c, purpose: purpose} }

// Asking is For, for what makes the calls after all.
func (c *Calls) Asking(purpose string) *Port { return &Port{c, purpose, true} }

// Port takes calls for one purpose. It is used in the place of an [upstream.Client].
type Port struct {
	calls   *Calls
	purpose string
	asks    bool // it makes reads
}

// emptyPage is taken for the answer of a region to its part of a list: that shows whether
// the list fails for another region.
var emptyPage = []byte(`{"value":[]}`)

// notKnown stands for the endpoint of a planned resource whose location is not known yet.
var notKnown = &regions.Endpoint{}

// Do notes a call. The error is that of a call for which there is no address, or says that
// none was made.
func (p *Port) Do(_ context.Context, c upstream.Call) (*http.Response, error) {
	if c.Endpoint == nil {
		c.Endpoint = notKnown
	}
	if err := p.note(c); err != nil {
		return nil, err
	}
	return nil, &upstream.Fault{Region: c.Endpoint.Region, Err: errNotCalled}
}

// Read is Do for a GET. The part of a list that a region would be asked for is empty.
func (p *Port) Read(ctx context.Context, c upstream.Call) (upstream.Answer, error) {
	c.Method = http.MethodGet
	if err := p.note(c); err != nil {
		return upstream.Answer{}, err
	}
	if p.asks {
		return p.calls.client.Read(ctx, c)
	}
	if p.purpose == api.List {
		return upstream.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: emptyPage}, nil
	}
	return upstream.Answer{}, &upstream.Fault{Region: c.Endpoint.Region, Err: errNotCalled}
}

// Send is Do for answers that are read whole.
func (p *Port) Send(ctx context.Context, c upstream.Call) (upstream.Answer, error) {
	_, err := p.Do(ctx, c) //nolint:bodyclose // there is no answer
	return upstream.Answer{}, err
}

// note notes a call, once however often it is repeated.
func (p *Port) note(c upstream.Call) error {
	var addresses []upstream.Prospect
	var err error
	if c.Endpoint != notKnown {
		addresses, err = p.calls.client.Prospects(c.Endpoint)
	}
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	for _, entry := range p.calls.noted {
		if entry.purpose == p.purpose && entry.Endpoint == c.Endpoint && entry.Method == c.Method && entry.Path == c.Path && entry.Query == c.Query {
			return err
		}
	}
	if len(p.calls.noted) < mostCalls {
		p.calls.noted = append(p.calls.noted, call{
			Call: c, purpose: p.purpose, addresses: addresses, credential: p.calls.client.CredentialHeader(c.Endpoint),
			down: err != nil, sent: p.asks && err == nil,
		})
	}
	return err
}

// Take returns for what calls were noted, and forgets them: forwarded reports that the
// request itself would be, open that its way depends on what providers answer.
func (c *Calls) Take() (forwarded, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, noted := range c.noted {
		forwarded, open = forwarded || noted.purpose == api.Forward, open || noted.purpose != api.Forward
	}
	c.noted = c.noted[:0]
	return forwarded, open
}

// Refused explains bytes that are answered before there is a request.
func Refused(refusal *connections.Refusal) api.Explanation {
	fault := exchange.NoRequest(refusal)
	return atHead(api.Verdict{
		Outcome: api.Refused, Status: fault.Status, Code: string(fault.Code), Message: fault.Message,
		Summary: fmt.Sprintf("refused before any handler: %d %s: %s The connection ends with that answer.", fault.Status, fault.Code, fault.Message),
	})
}

// Unended explains bytes whose head does not end.
func Unended() api.Explanation {
	return atHead(api.Verdict{
		Outcome: api.Refused,
		Summary: "not answered: the head has no end, which is an empty line. The gateway waits some seconds for the rest, and closes the connection.",
	})
}

// readRaw says by whose rules the bytes of a request are read.
const readRaw = "read as the public listener reads it"

func atHead(v api.Verdict) api.Explanation {
	v.Step = string(exchange.AtHead)
	return api.Explanation{
		Verdict: v, Caller: api.ExplainedCaller{Roles: api.RolesSkipped},
		Checks: []api.ExplainedCheck{{Step: v.Step, Detail: v.Summary + " (" + readRaw + ")"}},
	}
}
