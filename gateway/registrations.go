package gateway

import (
	"context"
	"net/http"

	"portico/access"
	"portico/regions"
	"portico/routing"
)

// registering returns the request that registers a subscription for a namespace; nil if
// writes need none.
func (g *Gateway) registering(ctx context.Context, subscription, namespace string) (*routing.Request, error) {
	p := g.config.Map.Provider(namespace)
	if p == nil || p.Registration != regions.Required {
		return nil, nil
	}
	registration, err := g.store.Registration(ctx, subscription, p.Key)
	if err != nil || registration.State.Permits() {
		return nil, err
	}
	q, fault := routing.ClassifyID(g.config.Map, http.MethodPost, "/subscriptions/"+subscription+"/providers/"+p.Namespace+"/register")
	if fault != nil {
		return nil, fault
	}
	return q, nil
}

// mayRegister returns why a caller may not register a subscription for a namespace; nil also
// if writes need no registration.
func (g *Gateway) mayRegister(ctx context.Context, who access.Principal, subscription, namespace string) error {
	q, err := g.registering(ctx, subscription, namespace)
	if q == nil {
		return err
	}
	return g.authorizer.MayStill(ctx, who, q.LiteralAction(), q.Scope())
}
