package proxy

import (
	"context"
	"net/http"

	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/routing"
)

// authorize refuses what the caller's roles do not allow, before anything is said of
// what exists. It returns what of a list the caller may see. An operation may be polled
// by the caller that began it, whatever roles it has by then.
func (p *Proxy) authorize(ctx context.Context, x *exchange.Exchange) (*authorize.Readable, error) {
	if !p.Authorizer.Enforced() {
		return nil, nil
	}
	q := x.Request
	question := authorize.Question{Action: q.Action(), Scope: q.Scope(), Partly: q.Class == routing.Collection && q.Method == http.MethodGet}
	if q.Pollable() {
		question.Excused = p.began
	}
	return p.Authorizer.Ask(ctx, x, question)
}

// refuseUnlessBegan refuses what only the caller that began an operation may do.
func (p *Proxy) refuseUnlessBegan(ctx context.Context, x *exchange.Exchange) error {
	began, err := p.began(ctx, x)
	if err == nil && !began {
		err = authorize.Denial(x.Principal, x.Request.Action(), x.Request.Scope())
	}
	return err
}

// began reports whether the caller of x began the operation that it polls.
func (p *Proxy) began(ctx context.Context, x *exchange.Exchange) (bool, error) {
	return p.Resolver.Router.Began(ctx, x.Request, x.Principal)
}
