package gateway

import (
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/routing"
)

// ownHandler answers one of Portico's own routes: the request is checked, its
// subscription and group are resolved, its content is read.
type ownHandler func(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error

// ownCall is what an own route is called with.
type ownCall struct {
	routing.Decision
	content []byte
}

// ownRoutes returns the routes that Portico answers itself. They are matched on
// the folded path; names are taken from the request's own, unfolded one.
func (g *Gateway) ownRoutes() http.Handler {
	m := mux.NewRouter().SkipClean(true)
	get := []string{http.MethodGet}
	for _, route := range []struct {
		path    string
		methods []string
		handler ownHandler
	}{
		{"/metadata/endpoints", get, g.metadata},
		{"/tenants", get, g.listTenants},
		{"/subscriptions", get, g.listSubscriptions},
		{"/subscriptions/{s}", get, g.getSubscription},
		{"/subscriptions/{s}/locations", get, g.listLocations},
		{"/subscriptions/{s}/resourcegroups", get, g.listGroups},
		{"/subscriptions/{s}/resourcegroups/{g}", []string{http.MethodPut}, g.putGroup},
		{"/subscriptions/{s}/resourcegroups/{g}", []string{http.MethodPatch}, g.patchGroup},
		{"/subscriptions/{s}/resourcegroups/{g}", get, g.getGroup},
		{"/subscriptions/{s}/resourcegroups/{g}", []string{http.MethodHead}, g.headGroup},
		{"/subscriptions/{s}/resourcegroups/{g}", []string{http.MethodDelete}, g.deleteGroup},
		{"/subscriptions/{s}/resourcegroups/{g}/resources", get, g.listResources},
		{"/subscriptions/{s}/resources", get, g.listResources},
		{"/subscriptions/{s}/operationresults/{id}", get, g.ownResult},
		{"/subscriptions/{s}/operationstatuses/{id}", get, g.ownStatus},
		{"/subscriptions/{s}/providers", get, g.listProviders},
		{"/subscriptions/{s}/providers/{ns}", get, g.getProvider},
		{"/subscriptions/{s}/providers/{ns}/register", []string{http.MethodPost}, g.register},
		{"/subscriptions/{s}/providers/{ns}/unregister", []string{http.MethodPost}, g.unregister},
		{"/subscriptions/{s}/tagnames", get, g.listTagNames},
		{"/subscriptions/{s}/tagnames/{n}", []string{http.MethodPut}, g.putTag},
		{"/subscriptions/{s}/tagnames/{n}", []string{http.MethodDelete}, g.deleteTag},
		{"/subscriptions/{s}/tagnames/{n}/tagvalues/{v}", []string{http.MethodPut}, g.putTag},
		{"/subscriptions/{s}/tagnames/{n}/tagvalues/{v}", []string{http.MethodDelete}, g.deleteTag},
		{"/subscriptions/{s}/providers/microsoft.resources/checkresourcename", []string{http.MethodPost}, g.checkResourceName},
		{"/providers/microsoft.resources/checkresourcename", []string{http.MethodPost}, g.checkResourceName},
		{"/providers/{ns}/operations", get, g.listOperations},
		{"/batch", []string{http.MethodPost}, g.postBatch},
		{"/operationresults/{id}", get, g.batchResult},
		{"/providers", get, g.listProviders},
		{"/providers/{ns}", get, g.getProvider},
	} {
		m.Path(route.path).Methods(route.methods...).Handler(g.ownRoute(g.underLocks(route.handler)))
	}
	g.moveRoutes(m)
	g.featureRoutes(m)
	g.lockRoutes(m)
	g.tagRoutes(m)
	g.skuRoutes(m)
	m.NotFoundHandler = g.ownRoute(func(_ http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ ownCall) error {
		return noOwnRoute(x.Request)
	})
	m.MethodNotAllowedHandler = g.ownRoute(func(_ http.ResponseWriter, r *http.Request, _ *exchange.Exchange, _ ownCall) error {
		return methodNotAllowed(m, r)
	})
	return folding(m)
}

// folding hands a router the path in the form in which routes are written.
func folding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		folded := *r
		folded.URL = &url.URL{Path: arm.Fold(exchange.From(r).Request.Path.String())}
		next.ServeHTTP(w, &folded)
	})
}

func (g *Gateway) ownRoute(handle ownHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.ownAnswer(w, r, handle); err != nil {
			exchange.Fail(w, r, err)
		}
	})
}

func (g *Gateway) ownAnswer(w http.ResponseWriter, r *http.Request, handle ownHandler) error {
	x := exchange.From(r)
	content, err := x.Content(w, r)
	if err != nil {
		return err
	}
	if fault := x.Request.Check(g.router.Map, ""); fault != nil {
		return fault
	}
	if fault := routing.CheckJSON(content); fault != nil {
		return fault
	}
	d, err := g.router.ResolveOwn(r.Context(), x.Request, x.Principal)
	if err != nil {
		return err
	}
	return handle(w, r, x, ownCall{d, content})
}

// noOwnRoute tells what is missing: a type of one of Portico's own namespaces,
// templates, which are a matter of deployments, or a route altogether.
func noOwnRoute(q *routing.Request) *arm.Error {
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

// ofTemplates holds for the types and actions that are out of scope here.
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
