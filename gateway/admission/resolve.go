package admission

import (
	"context"
	"errors"
	"net/http"

	"portico/gateway/exchange"
	"portico/probe"
	"portico/routing"
)

// Resolver resolves the requests of one configuration. It joins the pure rules of package
// routing to the searches of package locate.
type Resolver struct {
	Router *routing.Router
	Finder Finder
	Prober probe.Prober
}

// Finder searches for a resource that the index does not know, as [locate.Finder] does.
type Finder interface {
	Find(ctx context.Context, caller probe.Caller, sought routing.Sought) error
}

// Resolve decides who serves q for the caller of x. Where that depends on a resource
// that the index does not know, it searches for the resource and resolves again.
func (r *Resolver) Resolve(ctx context.Context, x *exchange.Exchange, q *routing.Request, body routing.Body) (*routing.Decision, error) {
	var searched []string
	for {
		d, err := r.Router.Resolve(ctx, q, x.Principal, body, searched...)
		if err == nil {
			x.Decided(d)
			return d, nil
		}
		needed, ok := errors.AsType[*routing.SearchNeededError](err)
		if !ok {
			return d, err
		}
		if x.Trail != nil {
			x.Trail.Sought = append(x.Trail.Sought, needed.Sought)
		}
		if err := r.Finder.Find(ctx, CallerOf(x), needed.Sought); err != nil {
			return d, err
		}
		searched = append(searched, needed.Sought.Key)
	}
}

// ByStore is a resolver that leaves all questions to the store.
func (r *Resolver) ByStore() *Resolver {
	router, byStore := *r.Router, *r
	router.Scopes, byStore.Router = nil, &router
	return &byStore
}

// CallerOf is the caller on whose behalf providers are called for a request.
func CallerOf(x *exchange.Exchange) probe.Caller {
	return probe.Caller{Principal: x.Principal, Identity: x.Identity, Client: x.Client, Share: x.Caller()}
}

// ProberFor probes on a request's time and by its caller's share, under its ids, but
// as Portico itself: what a provider shows to one caller proves nothing, as it may
// hide a resource from that one.
func (r *Resolver) ProberFor(x *exchange.Exchange) (probe.Prober, http.Header) {
	header := http.Header{}
	x.Identity.Stamp(header)
	prober := r.Prober
	prober.Share = x.Caller()
	return prober, header
}
