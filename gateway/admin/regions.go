package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"portico/gateway/admin/api"
	"portico/regions"
	"portico/upstream"
)

// listRegions lists the regions of the map and those that only endpoints name, such as
// global: at most ?limit= after ?after=, a name.
func (l *listener) listRegions(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	all := regionsOf(l.Config.Map)
	start, _ := slices.BinarySearchFunc(all, query.Get("after"), func(region regions.Region, after string) int {
		if region.Name <= after {
			return -1
		}
		return 1
	})
	page := pageOf("/admin/regions", query, all[start:], limit, l.regionOf, func(last regions.Region) string { return last.Name })
	return http.StatusOK, page, nil
}

// regionsOf returns the regions of a map sorted by name, including those that only endpoints
// name, such as global.
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

func (l *listener) allRegions() []api.Region {
	return listOf(regionsOf(l.Config.Map), l.regionOf).Value
}

func (l *listener) regionOf(r regions.Region) api.Region {
	shown := api.Region{Name: r.Name, DisplayName: r.DisplayName, PairedRegion: r.PairedRegion, Endpoints: []api.Endpoint{}, Drain: l.drainOf(r.Name)}
	var conditions []upstream.Condition
	for _, p := range l.Config.Map.Providers() {
		endpoints, states := l.endpointsOf(p, r.Name)
		shown.Endpoints, conditions = append(shown.Endpoints, endpoints...), append(conditions, states...)
	}
	shown.State = upstream.Overall(conditions).String()
	return shown
}

// endpointsOf returns the endpoints of a provider and of its types in a region, and their
// conditions.
func (l *listener) endpointsOf(p *regions.Provider, region string) (all []api.Endpoint, conditions []upstream.Condition) {
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
	for _, e := range order {
		s := l.Upstream.Status(e)
		shown := l.endpointOf(p, types[e], s)
		for _, name := range types[e] {
			if t := p.TypeNamed(name); l.failsLists(t, region, s.State) {
				shown.FailingLists = append(shown.FailingLists, t.FullName)
			}
		}
		all, conditions = append(all, shown), append(conditions, s.State)
	}
	return all, conditions
}

// failsLists reports whether the endpoint of a type in a region fails its merged lists.
func (l *listener) failsLists(t *regions.ResourceType, region string, state upstream.Condition) bool {
	return t.ListsFanOut() && len(t.EffectiveRegions()) > 1 && cmp.Or(t.OnRegionFailure, l.Config.Lists.OnRegionFailure) == regions.Fail &&
		(state == upstream.Down || l.Lists.Failing(t.FullName, region))
}

func (l *listener) endpointOf(p *regions.Provider, types []string, s upstream.EndpointStatus) api.Endpoint {
	e := api.Endpoint{Namespace: p.Namespace, Contact: p.Contact, ResourceTypes: types, State: s.State.String(), Shed: s.Shed, LastShed: timeOf(s.LastShed)}
	for _, a := range s.Addresses {
		shown := addressOf(a)
		shown.Drain = l.drainOf(a.URL)
		e.Addresses = append(e.Addresses, shown)
	}
	return e
}

func addressOf(s upstream.AddressStatus) api.Address {
	a := api.Address{
		URL: s.URL, State: s.State.String(), Slow: s.Slow, Circuit: s.Circuit.String(), Since: timeOf(s.Since),
		Requests: s.Requests, Failures: s.Failures, InFlight: s.InFlight,
		CertificateEnds: timeOf(s.CertificateEnds), Distrust: s.Distrust, LastDistrust: timeOf(s.LastDistrust),
	}
	if s.State == upstream.Down {
		a.Reason = s.Reason
	}
	return a
}
