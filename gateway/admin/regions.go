package admin

import (
	"net/http"
	"slices"
	"strings"

	"portico/gateway/admin/api"
	"portico/regions"
	"portico/upstream"
)

// listRegions lists the regions of the map and those that have nothing but endpoints, at
// most ?limit= of them, behind ?after=, a name.
func (l *listener) listRegions(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	all := regionsOf(l.Config.Map)
	behind, _ := slices.BinarySearchFunc(all, query.Get("after"), func(region regions.Region, after string) int {
		if region.Name <= after {
			return -1
		}
		return 1
	})
	page := pageOf("/admin/regions", query, all[behind:], limit, l.regionOf, func(last regions.Region) string { return last.Name })
	return http.StatusOK, page, nil
}

// regionsOf are the regions of a map, by name, with those that it has endpoints in alone,
// such as global.
func regionsOf(m *regions.Map) []regions.Region {
	all := slices.Clone(m.Regions())
	for _, e := range m.Endpoints() {
		if !slices.ContainsFunc(all, func(r regions.Region) bool { return r.Name == e.Region }) {
			all = append(all, regions.Region{Name: e.Region})
		}
	}
	slices.SortFunc(all, func(a, b regions.Region) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// allRegions are all regions, as this gateway knows them.
func (l *listener) allRegions() []api.Region {
	return listOf(regionsOf(l.Config.Map), l.regionOf).Value
}

func (l *listener) regionOf(r regions.Region) api.Region {
	shown := api.Region{Name: r.Name, DisplayName: r.DisplayName, PairedRegion: r.PairedRegion, Endpoints: []api.Endpoint{}}
	for _, p := range l.Config.Map.Providers() {
		shown.Endpoints = append(shown.Endpoints, l.endpointsOf(p, r.Name)...)
	}
	shown.State = overall(shown.Endpoints, func(e api.Endpoint) string { return e.State })
	return shown
}

// endpointsOf are a provider's endpoints in a region: its own one, and those of its types.
func (l *listener) endpointsOf(p *regions.Provider, region string) []api.Endpoint {
	var order []*regions.Endpoint
	types := map[*regions.Endpoint][]string{}
	if e := p.Endpoint(region); e != nil {
		order, types[e] = append(order, e), []string{}
	}
	for _, t := range p.Types() {
		e := t.Endpoint(region)
		if e == nil {
			continue
		}
		if types[e] == nil {
			order = append(order, e)
		}
		types[e] = append(types[e], t.Name)
	}
	all := make([]api.Endpoint, len(order))
	for i, e := range order {
		all[i] = endpointOf(p.Namespace, types[e], l.Upstream.Status(e))
	}
	return all
}

func endpointOf(namespace string, types []string, s upstream.EndpointStatus) api.Endpoint {
	e := api.Endpoint{Namespace: namespace, ResourceTypes: types, Shed: s.Shed, LastShed: timeOf(s.LastShed)}
	for _, a := range s.Addresses {
		e.Addresses = append(e.Addresses, addressOf(a))
	}
	// Where none is healthy some may be called all the same.
	if e.State = overall(e.Addresses, func(a api.Address) string { return a.State }); e.State == api.Down && s.Reachable {
		e.State = api.Degraded
	}
	return e
}

func addressOf(s upstream.AddressStatus) api.Address {
	a := api.Address{
		URL: s.URL, State: api.Up, Circuit: s.Circuit.String(), Since: timeOf(s.Since), Requests: s.Requests, Failures: s.Failures, InFlight: s.InFlight,
		CertificateEnds: timeOf(s.CertificateEnds), Distrust: s.Distrust, LastDistrust: timeOf(s.LastDistrust),
	}
	switch {
	case !s.Up:
		a.State, a.Reason = api.Down, s.Reason
	case !s.Known:
		a.State = api.Unknown
	}
	return a
}

// overall is the state of what has parts: down where all are, degraded where some are not
// up or not in full, unknown where nothing is known of any.
func overall[T any](parts []T, state func(T) string) string {
	counts := map[string]int{}
	for _, part := range parts {
		counts[state(part)]++
	}
	switch {
	case len(parts) == 0 || counts[api.Unknown] == len(parts):
		return api.Unknown
	case counts[api.Down] == len(parts):
		return api.Down
	case counts[api.Down]+counts[api.Degraded] > 0:
		return api.Degraded
	}
	return api.Up
}
