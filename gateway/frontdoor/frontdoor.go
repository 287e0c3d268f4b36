package frontdoor

import (
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/config"
	"portico/fanout"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/groups"
	"portico/gateway/frontdoor/page"
	"portico/gateway/frontdoor/route"
	"portico/gateway/frontdoor/scope"
	"portico/gateway/frontdoor/tags"
	"portico/gateway/polling"
	"portico/gateway/resolve"
	"portico/inventory"
	"portico/routing"
)

// Options are what the resources need.
type Options struct {
	Config    *config.Config
	Store     *inventory.Store
	Router    *routing.Router
	Resolver  *resolve.Resolver
	Admission *admission.Admission
	Polls     *polling.Operations
	Lister    *fanout.Lister
	Batches   Resource
	Jobs      Jobs
	Proxy     tags.Sender
}

// Jobs wakes the workers of a kind of job.
type Jobs interface{ Nudge(kind string) }

// Resource is a resource that Portico answers itself.
type Resource interface{ Routes() []route.Route }

// resources are all of them. Where two routes match a request, the first is taken.
func (o *Options) resources() []Resource {
	c, regions := o.Config, o.Config.Map
	lists := page.Lists{Lister: o.Lister, Public: c.Server.PublicURL}
	scopes := scope.Finder{Map: regions, Resolver: o.Resolver}
	return []Resource{
		metadata{c.Metadata, c.Server.PublicURL},
		tenants{o.Store},
		subscriptions{o.Store, lists},
		locations{regions},
		groups.Groups{Store: o.Store, Map: regions, Lists: lists, TagLimit: c.Limits.TagsPerResource},
		groups.Deletions{
			Store: o.Store, Admission: o.Admission, Polls: o.Polls, Prober: o.Resolver.Prober,
			AskTimeout: c.Index.AskTimeout, CallTimeout: c.Upstream.CallTimeout,
		},
		groups.Moves{
			Store: o.Store, Router: o.Router, Resolver: o.Resolver, Admission: o.Admission, Polls: o.Polls, Limit: c.Move.Limit,
		},
		groups.Operations{Polls: o.Polls, Map: regions},
		resources{o.Store, lists},
		activityLog{o.Store, lists},
		providers{o.Store, regions},
		registrations{o.Store, providers{o.Store, regions}, o.Jobs, c.Index.AskTimeout},
		tags.Names{Store: o.Store, Lists: lists},
		resourceNames{},
		actions{},
		o.Batches,
		features{o.Store, regions, o.Jobs},
		locks{o.Store, scopes, c.Index.AskTimeout},
		tags.Tags{
			Store: o.Store, Scopes: scopes, Limit: c.Limits.TagsPerResource,
			Providers: o.Proxy, CallTime: c.Upstream.CallTimeout, CallMargin: c.Index.CallMargin,
		},
		skus{lists},
	}
}

// door serves routes.
type door struct {
	router    *routing.Router
	admission *admission.Admission
}

// New returns the handler of all requests that Portico answers itself. Routes are
// matched on the folded path; handlers take names from the request's own one.
func New(o Options) http.Handler {
	d := door{o.Router, o.Admission}
	m := mux.NewRouter().SkipClean(true)
	for _, of := range o.resources() {
		for _, r := range of.Routes() {
			d.add(m, r)
		}
	}
	m.NotFoundHandler = d.serve(func(_ http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
		return notFound(x.Request)
	})
	m.MethodNotAllowedHandler = d.serve(func(_ http.ResponseWriter, r *http.Request, _ *exchange.Exchange, _ route.Request) error {
		return methodNotAllowed(m, r)
	})
	return folding(m)
}

func (d door) add(m *mux.Router, r route.Route) {
	matched, handle := m.NewRoute(), r.Handle
	if r.Matches != nil {
		matched.MatcherFunc(func(r2 *http.Request, _ *mux.RouteMatch) bool { return r.Matches(exchange.From(r2).Request) })
	} else {
		matched.Path(r.Path)
	}
	if !r.IgnoresLocks {
		handle = d.underLocks(handle)
	}
	matched.Methods(r.Method).Handler(d.serve(handle))
}

// folding hands a router the path in the form in which routes are written.
func folding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		folded := *r
		folded.URL = &url.URL{Path: arm.Fold(exchange.From(r).Request.Path.String())}
		next.ServeHTTP(w, &folded)
	})
}

func (d door) serve(handle route.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := d.answer(w, r, handle); err != nil {
			exchange.Fail(w, r, err)
		}
	})
}

// answer checks a request, resolves its subscription and group, and has it handled.
func (d door) answer(w http.ResponseWriter, r *http.Request, handle route.Handler) error {
	x := exchange.From(r)
	content, err := x.Content(w, r)
	if err != nil {
		return err
	}
	if fault := x.Request.Check(d.router.Map, ""); fault != nil {
		return fault
	}
	if fault := routing.CheckJSON(content); fault != nil {
		return fault
	}
	decision, err := d.router.ResolveOwn(r.Context(), x.Request, x.Principal)
	if err != nil {
		return err
	}
	return handle(w, r, x, route.Request{Decision: decision, Content: content})
}

// underLocks refuses a write that a lock above its path forbids.
func (d door) underLocks(handle route.Handler) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
		if err := d.admission.CheckLocks(r.Context(), x, req.Subscription.ID); err != nil {
			return err
		}
		return handle(w, r, x, req)
	}
}

// notFound says what is missing: a type of one of Portico's own namespaces,
// templates, which are a matter of deployments, or a route altogether.
func notFound(q *routing.Request) *arm.Error {
	if i, below := q.Path.Own(); below && q.Path.Group() != "" && ofTemplates(q.Path.Segment(i)) {
		return arm.NoTemplates(q.Query.APIVersion)
	}
	if q.Path.Hops() > 0 {
		hop := q.Path.LastHop()
		switch {
		case hop.Len() == 0 || !routing.OwnNamespace(hop.Namespace()):
		case arm.EqualFold(hop.Namespace(), "Microsoft.Resources") && ofTemplates(hop.Segment(0)):
			return arm.NoTemplates(q.Query.APIVersion)
		default:
			return arm.NewError(arm.InvalidResourceType, hop.Namespace(), q.Query.APIVersion).About("resourceType")
		}
	}
	return q.Unroutable()
}

// ofTemplates reports whether a segment names one of the types and actions that are out of scope here.
func ofTemplates(segment string) bool {
	return arm.EqualFold(segment, "deployments") || arm.EqualFold(segment, "exportTemplate")
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
