package gateway

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
)

// scope is what one of Portico's own resources stands on: the subscription, the
// group, or the resource before the last hop of its path.
type scope struct {
	key string // the folded id
	id  string // literals and types as declared, names as the client wrote them
	// on is the resource, nil where it is no resource.
	on *routing.Request
	// host is the id of the nearest tracked resource, it or one above it, that it
	// goes with; "" where there is none.
	host string
}

// scopeOf is the scope of a request's last hop. A tracked resource has to be
// there; whether an extension of it is, only its provider knows.
func (g *Gateway) scopeOf(ctx context.Context, x *exchange.Exchange) (scope, error) {
	path := &x.Request.Path
	text := path.Prefix(path.LastHop().Start())
	s := scope{key: arm.Fold(text), id: "/subscriptions/" + path.Subscription()}
	if path.Hops() == 1 {
		if name := path.Group(); name != "" {
			s.id = routing.GroupID(path.Subscription(), name)
		}
		return s, nil
	}
	var fault *arm.Error
	if s.on, fault = routing.ClassifyID(g.router.Map, http.MethodHead, text); fault != nil {
		return s, fault
	}
	if s.on.Class != routing.Instance || s.on.Type == nil {
		return s, x.Request.Unroutable()
	}
	s.id = s.on.ID()
	s.host, fault = g.hostOf(path)
	if fault != nil {
		return s, fault
	}
	return s, g.mustStand(ctx, x, s)
}

// hostOf is the nearest tracked resource at or above the one in which the last
// hop of a path lies.
func (g *Gateway) hostOf(path *arm.Path) (string, *arm.Error) {
	n := path.Hop(1).Start()
	q, fault := routing.ClassifyID(g.router.Map, http.MethodHead, path.Prefix(n))
	if fault != nil {
		return "", fault
	}
	for t := q.Type; t != nil; t = t.Parent {
		if t.Kind == regions.Tracked {
			return path.Prefix(n), nil
		}
		n -= 2
	}
	return "", nil
}

// mustStand returns ARM's answer where a scope goes with a tracked resource that
// is not there.
func (g *Gateway) mustStand(ctx context.Context, x *exchange.Exchange, s scope) error {
	if s.host == "" {
		return nil
	}
	host, fault := routing.ClassifyID(g.router.Map, http.MethodHead, s.host)
	if fault != nil {
		return fault
	}
	_, err := g.resolver.Resolve(ctx, x, host, routing.Body{})
	return err
}
