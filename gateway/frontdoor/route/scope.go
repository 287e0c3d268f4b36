package route

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
)

// Scopes finds the scopes of locks, tags and roles, by the map of one configuration: the
// subscription, group or resource before the last hop of a path.
type Scopes struct {
	Map      *regions.Map
	Resolver *admission.Resolver
}

// Scope is the part of a path before its last hop.
type Scope struct {
	Key string // the folded id
	ID  string // literals and types as declared, names as the client wrote them
	// Resource is nil for a subscription and a group.
	Resource *routing.Request
	// Host is the id of the nearest tracked resource at or above the scope, or "".
	Host string
}

// Find returns the scope of a request's last hop. A tracked resource has to exist; only
// the provider knows whether an extension of it does.
func (f Scopes) Find(ctx context.Context, x *exchange.Exchange) (Scope, error) {
	path := &x.Request.Path
	text := path.Prefix(path.LastHop().Start())
	s := Scope{Key: arm.Fold(text), ID: "/subscriptions/" + path.Subscription()}
	if path.Hops() == 1 {
		if name := path.Group(); name != "" {
			s.ID = routing.GroupID(path.Subscription(), name)
		}
		return s, nil
	}
	var fault *arm.Error
	if s.Resource, fault = f.classify(text); fault != nil {
		return s, fault
	}
	if s.Resource.Class != routing.Instance || s.Resource.Type == nil {
		return s, x.Request.Unroutable()
	}
	s.ID = s.Resource.ID()
	if s.Host, fault = f.hostOf(path); fault != nil {
		return s, fault
	}
	return s, f.CheckHost(ctx, x, s)
}

func (f Scopes) classify(id string) (*routing.Request, *arm.Error) {
	return routing.ClassifyID(f.Map, http.MethodHead, id)
}

// hostOf returns the nearest tracked resource at or above the one before the last hop of
// a path.
func (f Scopes) hostOf(path *arm.Path) (string, *arm.Error) {
	n := path.Hop(1).Start()
	q, fault := f.classify(path.Prefix(n))
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

// CheckHost returns ARM's error if the host of a scope does not exist.
func (f Scopes) CheckHost(ctx context.Context, x *exchange.Exchange, s Scope) error {
	if s.Host == "" {
		return nil
	}
	host, fault := f.classify(s.Host)
	if fault != nil {
		return fault
	}
	host.Received = x.Request.Received
	_, err := f.Resolver.Resolve(ctx, x, host, routing.Body{})
	return err
}
