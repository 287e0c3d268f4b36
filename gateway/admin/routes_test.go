package admin

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"portico/gateway/admin/api"
)

// undescribed are routes that answer with no JSON of the listener's own, and those of the
// console's pages.
func undescribed(path string) bool {
	return slices.Contains([]string{"/", "/healthz", "/readyz", "/metrics"}, path) ||
		strings.HasPrefix(path, "/debug/pprof/") || strings.HasPrefix(path, "/console/")
}

// served are the routes that a router has, by method and path.
func served(t *testing.T, m *mux.Router) (all []string) {
	t.Helper()
	err := m.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		if route.GetHandler() == nil {
			return nil // a router in a router
		}
		path, err := route.GetPathTemplate()
		if err != nil || undescribed(path) {
			return err
		}
		methods, err := route.GetMethods()
		for _, method := range methods {
			all = append(all, method+" "+path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func described(operations []api.Operation) (all []string) {
	for _, o := range operations {
		all = append(all, o.Method+" "+o.Path)
	}
	slices.Sort(all)
	return all
}

// What is served is described, and what is described is served and has a handler.
func TestRoutesAreTheDescribedOperations(t *testing.T) {
	l := &listener{}
	if got, want := slices.Sorted(maps.Keys(l.handlers())), described(api.Operations()); !slices.Equal(got, want) {
		t.Errorf("handled   %q\ndescribed %q", got, want)
	}
	m, want := l.router(), described(api.Operations())
	if got := served(t, m); len(got) < 25 || !slices.Equal(got, want) {
		t.Errorf("served    %q\ndescribed %q", got, want)
	}
	m.Path("/admin/more").Methods(http.MethodGet).Handler(http.NotFoundHandler())
	if slices.Equal(served(t, m), want) {
		t.Error("a route that nothing describes is not noticed")
	}
}
