package batch

import (
	"context"
	"net/http"

	"portico/access"
	"portico/gateway/exchange"
	"portico/tracing"
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
