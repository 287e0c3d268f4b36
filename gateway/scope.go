package gateway

import (
	"context"
	"net/http"
	"strings"

	"portico/arm"
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
}

// scopeOf is the scope of a request's last hop. A tracked resource has to be
// there; whether an extension of it is, only its provider knows.
func (g *Gateway) scopeOf(ctx context.Context, x *exchange) (scope, error) {
	path := &x.request.Path
	text := path.Prefix(path.LastHop().Start())
	s := scope{key: arm.Fold(text), id: "/subscriptions/" + path.Subscription()}
	if path.Hops() == 1 {
		if name := path.Group(); name != "" {
			s.id = routing.GroupID(path.Subscription(), name)
		}
		return s, nil
	}
	var fault *arm.Error
	if s.on, fault = g.named(http.MethodHead, text, ""); fault != nil {
		return s, fault
	}
	if s.on.Class != routing.Instance || s.on.Type == nil {
		return s, x.request.Unroutable()
	}
	s.id = s.on.ID()
	return s, g.mustStand(ctx, x, path.Prefix(path.Hop(1).Start()))
}

// mustStand returns ARM's answer where an id names a tracked resource that is
// not there.
func (g *Gateway) mustStand(ctx context.Context, x *exchange, id string) error {
	host, fault := g.named(http.MethodHead, id, "")
	if fault != nil {
		return fault
	}
	if host.Type == nil || host.Type.Kind != regions.Tracked {
		return nil
	}
	_, err := g.router.Resolve(ctx, host, x.principal, routing.Body{})
	return err
}

// named classifies a call to what an id names. Ids are written plainly; in a
// request's path some characters that names may hold stand for something else.
func (g *Gateway) named(method, id, query string) (*routing.Request, *arm.Error) {
	return routing.Classify(g.router.Map, method, strings.ReplaceAll(id, "#", "%23"), query)
}
