// Package frontdoor serves the resources that Portico keeps itself. A file per resource
// holds its routes, its JSON and its handlers; groups, roles and tags, which are larger,
// have packages of their own. A new resource is a file and a line in Options.resources.
//
// Short work is done in a transaction of the inventory. Long work is checked here, handed
// to a durable job, and polled.
//
// A list shows its caller the elements that it may read, by their ids. Everybody who may
// read something in a subscription may read its own members, locations, SKUs, providers
// and features with their registrations. The names of tags are counted over the whole
// subscription, so only callers that may read all of it may list them: a partial sum
// would be wrong, and the full one would reveal hidden resources.
package frontdoor

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/config"
	"portico/fanout"
	"portico/gateway/admission"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/groups"
	"portico/gateway/frontdoor/rbac"
	"portico/gateway/frontdoor/route"
	"portico/gateway/frontdoor/tags"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/routing"
)

// Options are the dependencies of the resources.
type Options struct {
	Config      *config.Config
	Store       *inventory.Store
	Resolver    *admission.Resolver
	Authorizer  *authorize.Authorizer
	Admission   *admission.Admission
	Polls       *polling.Operations
	Lister      *fanout.Lister
	Batches     Resource
	Preflight   Resource
	WhatIf      Resource
	Deployments Resource
	Jobs        route.Jobs
	Proxy       tags.Sender
	// ReadLock reads a lock that was put, to check it; it may be nil.
	ReadLock func(ctx context.Context, subscription, scope, name string) (inventory.Lock, error)
}

// Resource is a resource that Portico serves itself.
type Resource interface{ Routes() []route.Route }

// resources returns all resources. If two routes match a request, the first is used.
func (o *Options) resources() []Resource {
	c, regions := o.Config, o.Config.Map
	lists := route.Lists{Lister: o.Lister, Public: c.Server.PublicURL}
	scopes := route.Scopes{Map: regions, Resolver: o.Resolver}
	return []Resource{
		metadata{c.Metadata, c.Server.PublicURL},
		tenants{o.Store},
		subscriptions{o.Store, o.Authorizer, lists},
		locations{regions},
		groups.Groups{Store: o.Store, Map: regions, Lists: lists, TagLimit: c.Limits.TagsPerResource},
		groups.Deletions{
			Store: o.Store, Admission: o.Admission, Polls: o.Polls, Prober: o.Resolver.Prober,
			AskTimeout: c.Index.AskTimeout, CallTimeout: c.Upstream.CallTimeout,
		},
		groups.Moves{
			Store: o.Store, Authorizer: o.Authorizer, Router: o.Resolver.Router, Resolver: o.Resolver, Admission: o.Admission, Polls: o.Polls, Limit: c.Move.Limit,
		},
		groups.Operations{Polls: o.Polls, Map: regions},
		resources{o.Store, lists},
		activityLog{o.Store.Events, lists},
		history{o.Store.Events, lists},
		providers{o.Store, regions},
		registrations{o.Store, providers{o.Store, regions}, o.Jobs, c.Index.AskTimeout},
		tags.Names{Store: o.Store, Lists: lists},
		resourceNames{},
		actions{},
		providerOperations{regions},
		o.Batches,
		o.Preflight,
		o.WhatIf,
		o.Deployments,
		features{o.Store, regions, o.Jobs},
		locks{o.Store.Locks, scopes, c.Index.AskTimeout, o.ReadLock},
		rbac.Definitions{Store: o.Store, Map: regions, Scopes: scopes, Lists: lists, Authorizer: o.Authorizer},
		rbac.Assignments{Roles: o.Store.Roles, Scopes: scopes, Lists: lists, Authorizer: o.Authorizer},
		rbac.None{Scopes: scopes},
		rbac.Permissions{Roles: o.Store.Roles, Scopes: scopes, Authorizer: o.Authorizer},
		tags.Tags{
			Store: o.Store, Scopes: scopes, Limit: c.Limits.TagsPerResource,
			Providers: o.Proxy, CallTime: c.Upstream.CallTimeout, CallMargin: c.Index.CallMargin,
		},
		skus{lists},
	}
}

// door serves routes.
type door struct {
	router     *routing.Router
	authorizer *authorize.Authorizer
}

// New returns the handler of all requests that Portico answers itself. Routes are matched
// on the folded path; handlers take names from the request's unfolded path.
func New(o Options) http.Handler {
	d := door{o.Resolver.Router, o.Authorizer}
	m := mux.NewRouter().SkipClean(true)
	for _, resource := range o.resources() {
		for _, r := range resource.Routes() {
			d.add(m, r)
		}
	}
	m.NotFoundHandler = d.serve(noRoute(func(_ http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
		return notFound(x.Request)
	}))
	m.MethodNotAllowedHandler = d.serve(noRoute(func(_ http.ResponseWriter, r *http.Request, _ *exchange.Exchange, _ route.Request) error {
		return methodNotAllowed(m, r)
	}))
	return foldPath(m)
}

// noRoute returns a route for requests that match no other: the answer depends on whether
// the subscription and the group exist.
func noRoute(handle route.Handler) route.Route {
	return route.Route{ActionOf: (*routing.Request).Action, Handle: handle}
}

func (d door) add(m *mux.Router, r route.Route) {
	matched := m.NewRoute()
	if r.Matches != nil {
		matched.MatcherFunc(func(r2 *http.Request, _ *mux.RouteMatch) bool { return r.Matches(exchange.From(r2).Request) })
	} else {
		matched.Path(r.Path)
	}
	r.Handle = withHandlerStep(r.Handle)
	if !r.IgnoresLocks {
		r.Handle = withLockCheck(r)
	}
	matched.Methods(r.Method).Handler(d.serve(r))
}

// foldPath calls a router with the folded path: routes are written folded.
func foldPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		folded := *r
		folded.URL = &url.URL{Path: arm.Fold(exchange.From(r).Request.Path.String())}
		next.ServeHTTP(w, &folded)
	})
}

func (d door) serve(rt route.Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchange.From(r).Route = rt.Path
		if err := d.answer(w, r, rt); err != nil {
			exchange.Fail(w, r, err)
		}
	})
}

// answer checks whether the caller may make a request, checks the request, resolves its
// subscription and group, and calls the handler.
func (d door) answer(w http.ResponseWriter, r *http.Request, rt route.Route) error {
	x := exchange.From(r)
	x.RecordStage(exchange.AtRoles)
	readable, err := d.authorize(r.Context(), x, rt)
	if err != nil {
		return err
	}
	x.RecordStage(exchange.AtContent)
	content, err := x.Content(w, r)
	if err != nil {
		return err
	}
	x.RecordStage(exchange.AtArguments)
	if fault := x.Request.Check(d.router.Map, ""); fault != nil {
		return fault
	}
	if fault := x.Request.Query.CheckOptions(); fault != nil {
		return fault
	}
	if !rt.Relaxed {
		if fault := routing.CheckJSON(content); fault != nil {
			return fault
		}
	}
	x.RecordStage(exchange.AtPlace)
	resolve := d.router.ResolveOwn
	if rt.OutlivesGroup {
		resolve = d.router.ResolveSubscription
	}
	decision, err := resolve(r.Context(), x.Request, x.Principal)
	if err != nil {
		return err
	}
	x.RecordDecision(&decision)
	return rt.Handle(w, r, x, route.Request{Decision: decision, Content: content, Readable: readable})
}

// authorize refuses requests that the caller's roles do not allow, before the answer can
// reveal what exists. It returns the part of a list that the caller may see.
func (d door) authorize(ctx context.Context, x *exchange.Exchange, rt route.Route) (*authorize.Readable, error) {
	action := rt.Action
	if rt.ActionOf != nil {
		action = rt.ActionOf(x.Request)
	}
	x.RouteAction = action
	if !d.authorizer.Enforced() {
		return nil, nil
	}
	return d.authorizer.Decide(ctx, x, authorize.Question{Action: action, Scope: x.Request.Scope(), Partly: rt.Partly, Excused: rt.Excused})
}

// withLockCheck wraps a route's handler to refuse writes that locks forbid.
func withLockCheck(rt route.Route) route.Handler {
	check := admission.CheckLocks
	if rt.EndsAllBelow {
		check = admission.CheckAllLocks
	}
	return func(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
		x.RecordStage(exchange.AtLocks)
		if err := check(x, req.Decision.Locks); err != nil {
			return err
		}
		return rt.Handle(w, r, x, req)
	}
}

// withHandlerStep wraps a handler to record that a request has reached it.
func withHandlerStep(handle route.Handler) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
		x.RecordStage(exchange.AtHandler)
		return handle(w, r, x, req)
	}
}

// notFound returns the error for a missing type of one of Portico's own namespaces, or
// for a missing route.
func notFound(q *routing.Request) *arm.Error {
	if q.Path.Hops() > 0 {
		if hop := q.Path.LastHop(); hop.Len() > 0 && routing.OwnNamespace(hop.Namespace()) {
			return arm.NewError(arm.InvalidResourceType, hop.Namespace(), q.Query.APIVersion).WithTarget("resourceType")
		}
	}
	return q.Unroutable()
}

func methodNotAllowed(m *mux.Router, r *http.Request) *arm.Error {
	fault := arm.NewError(arm.MethodNotAllowed, r.Method)
	for _, method := range exchange.Methods {
		probe := *r
		probe.Method = method
		var match mux.RouteMatch
		if m.Match(&probe, &match) && match.MatchErr == nil {
			fault.Allow = append(fault.Allow, method)
		}
	}
	return fault
}
