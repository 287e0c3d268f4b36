package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"portico/access"
	"portico/arm"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/tracing"
	"portico/tracing/spans"
)

// Caller is what the requests of a batch need to know of its caller. The store keeps it
// as JSON.
type Caller struct {
	Principal   access.Principal
	Client      tracing.Client
	Correlation string
	Host        string // the Host that the batch was sent to
	// Defaults are headers for requests that do not set them.
	Defaults http.Header
}

// inherited lists the headers that the requests of a batch inherit from it.
var inherited = []string{"Accept-Language", "User-Agent", tracing.ClientRequestHeader}

// NewCaller returns the caller of a request.
func NewCaller(r *http.Request, x *exchange.Exchange) *Caller {
	c := &Caller{
		Principal: x.Principal, Client: x.Client, Correlation: x.Identity.Correlation, Host: r.Host, Defaults: http.Header{},
	}
	for _, name := range inherited {
		if values := r.Header[name]; len(values) > 0 {
			c.Defaults[name] = values
		}
	}
	return c
}

// name returns the caller's name, as [exchange.CallerName] does.
func (c *Caller) name() string { return exchange.CallerName(c.Principal, c.Client) }

type passedKey struct{}

// passedRequest is a request in a context, with its caller.
type passedRequest struct {
	*Request
	caller *Caller
}

// FromContext returns the request of a batch or of a deployment that a handler is serving, and its
// caller.
func FromContext(ctx context.Context) (*Request, *Caller) {
	p := ctx.Value(passedKey{}).(passedRequest)
	return p.Request, p.caller
}

// Identify returns a check that replaces the identifying and authenticating links for a
// request of a batch or a deployment: the request gets ids of its own except for the
// correlation id, and has the caller of the whole, whatever its headers say. A caller
// that the configuration no longer knows is refused.
func Identify(l *chain.Links) chain.Check {
	return func(w http.ResponseWriter, r *http.Request) (goesOn bool) {
		x := exchange.From(r)
		q, caller := FromContext(r.Context())
		r.Header[tracing.CorrelationHeader] = []string{caller.Correlation}
		x.Origin, x.Parent, x.Client, x.Span = q.Origin, q.Parent, caller.Client, x.Span.StartChild(spans.Request, "")
		if fault := l.Mint(x, r); fault != nil {
			exchange.Fail(w, r, fault)
			return false
		}
		l.Admit(x, r, caller.Principal)
		if !l.Authenticator.Valid(caller.Principal) {
			exchange.Fail(w, r, arm.NewError(arm.InvalidAuthenticationToken).
				WithMessage("The caller of this request is no longer known: the token or certificate by which its batch or deployment began is not accepted any more. The request was not sent."))
			return false
		}
		return true
	}
}

// OrderCaller returns the caller of a request as a deployment stores it.
func OrderCaller(r *http.Request, x *exchange.Exchange) (json.RawMessage, error) {
	return json.Marshal(NewCaller(r, x))
}

// ReadCaller reads what OrderCaller returned.
func ReadCaller(written json.RawMessage) (caller Caller, err error) {
	if err = json.Unmarshal(written, &caller); err != nil {
		err = fmt.Errorf("read the caller of a deployment: %w", err)
	}
	return caller, err
}
