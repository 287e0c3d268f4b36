package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/gateway/admin/console"
)

// router returns the router of all paths.
func (l *listener) router() *mux.Router {
	m := mux.NewRouter()
	l.healthRoutes(m)
	l.consolePages(m, console.Files())
	guarded := m.NewRoute().Subrouter()
	guarded.Use(l.Audit.Admin, l.requireToken, recordOperator, l.streamChanges)
	handlers := l.handlers()
	for _, o := range api.Operations() {
		// The path is matched before the method: otherwise gorilla/mux answers a wrong
		// method with 404.
		guarded.Path(o.Path).Methods(o.Method).Handler(l.serve(checkQuery(&o, handlers[o.Method+" "+o.Path])))
	}
	profileRoutes(guarded)
	return m
}

// handlers returns the handler of each operation, by its method and path.
func (l *listener) handlers() map[string]handler {
	sinks := sinkHandlers{l}
	return map[string]handler{
		"GET /admin/status":                    l.getStatus,
		"GET /admin/regions":                   l.listRegions,
		"POST /admin/regions/{region}/retire":  l.retireRegion,
		"POST /admin/drains":                   l.orderDrain(false),
		"POST /admin/drains/end":               l.orderDrain(true),
		"GET /admin/providers":                 l.listProviders,
		"GET /admin/subscriptions":             l.listSubscriptions,
		"GET /admin/subscriptions/{id}":        l.getSubscription,
		"PUT /admin/subscriptions/{id}":        l.putSubscription,
		"GET /admin/resources":                 l.listResources,
		"GET /admin/resource":                  l.getResource,
		"GET /admin/jobs":                      l.listJobs,
		"GET /admin/jobs/{id}":                 l.getJob,
		"POST /admin/jobs/{id}/cancel":         l.cancelJob,
		"GET /admin/jobs/{id}/members":         l.listDeletionMembers,
		"GET /admin/jobs/{id}/deployment":      l.showDeployment,
		"GET /admin/jobKinds":                  l.listJobKinds,
		"GET /admin/doubts":                    l.listDoubts,
		"GET /admin/fences":                    l.listFences,
		"GET /admin/locks":                     l.listLocks,
		"GET /admin/roles":                     l.listRoles,
		"POST /admin/roles/check":              l.checkRoles,
		"POST /admin/roles/who":                l.whoMay,
		"POST /admin/sweeps":                   l.orderSweep,
		"GET /admin/deleteOrder":               l.deleteOrder,
		"GET /admin/changes":                   l.listChanges,
		"GET /admin/sinks":                     sinks.listSinks,
		"GET /admin/sinks/{name}":              sinks.getSink,
		"POST /admin/sinks/{name}/test":        sinks.testSink,
		"GET /admin/sinks/{name}/retrying":     sinks.listRetrying,
		"GET /admin/sinks/{name}/dead":         sinks.listDead,
		"POST /admin/sinks/{name}/dead/replay": sinks.replayDead,
		"DELETE /admin/sinks/{name}/dead/{id}": sinks.deleteDead,
		"POST /admin/reload":                   l.reload,
		"POST /admin/unstick":                  unsticker{listener: l}.unstick,
		"GET /admin/traffic":                   l.showTraffic,
		"GET /admin/errors":                    l.listErrors,
		"GET /admin/configuration":             l.showConfiguration,
		"GET /admin/configurations":            l.listConfigurations,
		"GET /admin/strays":                    l.listStrays,
		"POST /admin/explain":                  l.explain,
		"GET /admin/why":                       l.why,
		"GET /admin/openapi.json":              getDocument,
	}
}

func getDocument(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, api.OpenAPI(), nil
}

// checkQuery makes a handler refuse query parameters that its operation does not have:
// without the check, a misspelt filter would show everything.
func checkQuery(o *api.Operation, handle handler) handler {
	var known []string
	for _, p := range o.Query {
		known = append(known, p.Name)
	}
	return func(w http.ResponseWriter, r *http.Request) (int, any, error) {
		for name := range r.URL.Query() {
			if !slices.Contains(known, name) {
				return 0, nil, arm.NewError(arm.InvalidQueryParameter, name, "there is "+cmp.Or(strings.Join(known, ", "), "none")).WithTarget(name)
			}
		}
		return handle(w, r)
	}
}
