package proxy

import (
	"context"
	"net/http"

	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/routing"
)

// authorize refuses requests that the caller's roles do not allow, before the answer can
// reveal what exists. It returns the part of a list that the caller may see. The caller
// that began an operation may poll it, whatever its roles are by then.
func (p *Proxy) authorize(ctx context.Context, x *exchange.Exchange) (*authorize.Readable, error) {
	if !p.Authorizer.Enforced() {
		return nil, nil
	}
	q := x.Request
	question := authorize.Question{Action: q.Action(), Scope: q.Scope(), Partly: q.Class == routing.Collection && q.Method == http.MethodGet}
	if q.Pollable() {
		question.Excused = p.callerBegan
	}
	return p.Authorizer.Decide(ctx, x, question)
}

// refuseUnlessBegan refuses the request unless its caller began the operation.
func (p *Proxy) refuseUnlessBegan(ctx context.Context, x *exchange.Exchange) error {
	began, err := p.callerBegan(ctx, x)
	if err == nil && !began {
		err = authorize.Denial(x.Principal, x.Request.Action(), x.Request.Scope())
	}
	return err
}

// callerBegan reports whether the caller of x began the operation that it polls.
func (p *Proxy) callerBegan(ctx context.Context, x *exchange.Exchange) (bool, error) {
	return p.Resolver.Router.Began(ctx, x.Request, x.Principal)
}
