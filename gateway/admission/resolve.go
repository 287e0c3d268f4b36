package admission

import (
	"context"
	"errors"
	"net/http"

	"portico/gateway/exchange"
	"portico/probe"
	"portico/routing"
)

// Resolver resolves the requests of one configuration. It combines the pure rules of
// package routing with the searches of package locate.
type Resolver struct {
	Router *routing.Router
	Finder Finder
	Prober probe.Prober
}

// Finder searches for a resource that the index does not know, as [locate.Finder] does.
type Finder interface {
	Find(ctx context.Context, caller probe.Caller, sought routing.SearchedResource) error
}

// Resolve decides which region serves q for the caller of x. If that depends on a
// resource that the index does not know, it searches for the resource and resolves again.
func (r *Resolver) Resolve(ctx context.Context, x *exchange.Exchange, q *routing.Request, body routing.Body) (*routing.Decision, error) {
	var searched []string
	for {
		d, err := r.Router.Resolve(ctx, q, x.Principal, body, searched...)
		if err == nil {
			x.RecordDecision(d)
			return d, nil
		}
		needed, ok := errors.AsType[*routing.SearchNeededError](err)
		if !ok {
			return d, err
		}
		if x.Trail != nil {
			x.Trail.Searched = append(x.Trail.Searched, needed.Resource)
		}
		if err := r.Finder.Find(ctx, CallerOf(x), needed.Resource); err != nil {
			return d, err
		}
		searched = append(searched, needed.Resource.Key)
	}
}

// FromStore returns a resolver that takes every answer from the store, not from memory.
func (r *Resolver) FromStore() *Resolver {
	router, byStore := *r.Router, *r
	router.Scopes, byStore.Router = nil, &router
	return &byStore
}

// CallerOf returns the caller on whose behalf providers are called for a request.
func CallerOf(x *exchange.Exchange) probe.Caller {
	return probe.Caller{Principal: x.Principal, Identity: x.Identity, Client: x.Client, Share: x.Caller()}
}

// ProberFor returns a prober that counts against the caller's share, and headers with the
// request's ids. It probes as Portico itself: an answer to one caller proves nothing, as
// the provider may hide a resource from that caller.
func (r *Resolver) ProberFor(x *exchange.Exchange) (probe.Prober, http.Header) {
	header := http.Header{}
	x.Identity.Stamp(header)
	prober := r.Prober
	prober.Share = x.Caller()
	return prober, header
}
