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

// Caller is the caller of a batch, as far as its requests are concerned. The store
// keeps it in this form.
type Caller struct {
	Principal   access.Principal
	Client      tracing.Client
	Correlation string
	Host        string // that the caller sent the request to
	// Defaults are headers of requests that do not bring their own.
	Defaults http.Header
}

// inherited are the headers that the requests of a batch take from it.
var inherited = []string{"Accept-Language", "User-Agent", tracing.ClientRequestHeader}

// NewCaller is the caller of a request.
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

// name names the caller as [exchange.CallerName] does.
func (c *Caller) name() string { return exchange.CallerName(c.Principal, c.Client) }

type passedKey struct{}

// passed is a request on its way, with its caller.
type passed struct {
	*Request
	caller *Caller
}

// Of returns the request of a batch or of a deployment that a handler has before it, and its
// caller.
func Of(ctx context.Context) (*Request, *Caller) {
	p := ctx.Value(passedKey{}).(passed)
	return p.Request, p.caller
}

// Identify returns what takes the place of the links that identify and authenticate, for a
// request in a batch or of a deployment: it has ids of its own but for the correlation, and its
// caller is that of the whole, whatever its headers say. A caller that the configuration has
// lost since is refused.
func Identify(l *chain.Links) chain.Check {
	return func(w http.ResponseWriter, r *http.Request) (goesOn bool) {
		x := exchange.From(r)
		q, caller := Of(r.Context())
		r.Header[tracing.CorrelationHeader] = []string{caller.Correlation}
		x.Origin, x.Parent, x.Client, x.Span = q.Origin, q.Parent, caller.Client, x.Span.Below(spans.Request, "")
		if fault := l.Mint(x, r); fault != nil {
			exchange.Fail(w, r, fault)
			return false
		}
		l.Admit(x, r, caller.Principal)
		if !l.Authenticator.Valid(caller.Principal) {
			exchange.Fail(w, r, arm.NewError(arm.InvalidAuthenticationToken).
				Saying("The caller of this request is no longer known: the token or certificate by which its batch or deployment began is not accepted any more. The request was not sent."))
			return false
		}
		return true
	}
}

// OrderCaller returns the caller of a request in the form in which a deployment keeps it.
func OrderCaller(r *http.Request, x *exchange.Exchange) (json.RawMessage, error) {
	return json.Marshal(NewCaller(r, x))
}

// ReadCaller reads what OrderCaller wrote.
func ReadCaller(written json.RawMessage) (caller Caller, err error) {
	if err = json.Unmarshal(written, &caller); err != nil {
		err = fmt.Errorf("read the caller of a deployment: %w", err)
	}
	return caller, err
}
