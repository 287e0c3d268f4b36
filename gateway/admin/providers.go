package admin

import (
	"net/http"
	"slices"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/regions"
)

// listProviders lists the providers of the map, at most ?limit= after ?after=, a namespace.
func (l *listener) listProviders(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	all, after := l.Config.Map.Providers(), arm.Fold(query.Get("after"))
	start := len(all)
	if i := slices.IndexFunc(all, func(p *regions.Provider) bool { return p.Key > after }); i >= 0 {
		start = i
	}
	page := pageOf("/admin/providers", query, all[start:], limit, providerOf, func(last *regions.Provider) string { return last.Key })
	return http.StatusOK, page, nil
}

func providerOf(p *regions.Provider) api.Provider {
	return api.Provider{Namespace: p.Namespace, Registration: p.Registration.String(), Contact: p.Contact, ResourceTypes: listOf(p.Types(), typeOf).Value}
}

func typeOf(t *regions.ResourceType) api.ResourceType {
	return api.ResourceType{
		Name: t.Name, Kind: t.Kind.String(), Routing: t.Routing.String(),
		APIVersions: slices.Concat([]string{}, t.APIVersions), Locations: slices.Concat([]string{}, t.Locations),
	}
}
