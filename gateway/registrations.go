package gateway

import (
	"context"
	"net/http"
	"strings"

	"portico/access"
	"portico/regions"
	"portico/routing"
)

// registering returns the request that registers a subscription for the namespace of a type;
// nil if writes need none.
func (g *Gateway) registering(ctx context.Context, subscription, typ string) (*routing.Request, error) {
	namespace, _, _ := strings.Cut(typ, "/")
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

// mayRegister returns why a caller may not register a subscription that has to be registered
// for the namespace of a type.
func (g *Gateway) mayRegister(ctx context.Context, who access.Principal, subscription, typ string) error {
	q, err := g.registering(ctx, subscription, typ)
	if q == nil {
		return err
	}
	return g.authorizer.MayStill(ctx, who, q.LiteralAction(), q.Scope())
}

// registration returns the path by which a deployment registers a subscription for the
// namespace of a type; "" if it need not.
func (g *Gateway) registration(ctx context.Context, subscription, typ string) (path string, err error) {
	q, err := g.registering(ctx, subscription, typ)
	if q == nil {
		return "", err
	}
	return q.Path.Escaped(), nil
}
