package routing

import (
	"net/http"
	"slices"
	"strings"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/regions"
)

// nameCheckAction is the provider's action to check whether a name is available.
const nameCheckAction = "checkNameAvailability"

// ChecksName reports whether the request checks with a provider, for a
// subscription and not for one location, whether a name is available.
func (r *Request) ChecksName() bool {
	return r.Class == AtProvider && r.Method == http.MethodPost && r.Path.Subscription() != "" &&
		arm.EqualFold(r.Path.LastHop().Segment(0), nameCheckAction)
}

// ReadNameCheck checks that content is JSON, and reads the type in a name check.
func ReadNameCheck(content []byte) (Body, *arm.Error) {
	if fault := CheckJSON(content); fault != nil {
		return Body{}, fault
	}
	var body Body
	_ = jsontext.Object(content, func(m jsontext.Member) error { // other JSON has no type
		if arm.EqualFold(string(m.Key), "type") {
			body.NamedType, _ = jsontext.Text(m.Value)
		}
		return nil
	})
	return body, nil
}

// routeNameCheck routes a name check for a type: to the only endpoint that
// serves the type, or to the endpoints of all regions that serve it, because
// each knows only its own resources. For a type that the map lacks it uses
// the global endpoint or, without one, all regions of the provider.
func (s *resolution) routeNameCheck() error {
	p := s.r.Provider
	t := p.TypeNamed(strings.TrimPrefix(arm.Fold(s.body.NamedType), p.Key+"/"))
	if t == nil && providerEndpoint(p, arm.GlobalLocation) != nil || t != nil && t.Routing == regions.Global {
		return s.routeToGlobal()
	}
	if t == nil {
		return s.routeToEach(regionsOf(p), func(region string) *regions.Endpoint { return providerEndpoint(p, region) })
	}
	for _, region := range t.EffectiveRegions() {
		if t.Endpoint(region) == nil {
			return noEndpoint(t, region)
		}
	}
	return s.routeToEach(t.EffectiveRegions(), t.Endpoint)
}

// routeToEach routes the request to the endpoints of some regions.
func (s *resolution) routeToEach(names []string, endpoint func(region string) *regions.Endpoint) error {
	switch len(names) {
	case 0:
		return s.routeToGlobal()
	case 1:
		s.d.Region, s.d.Endpoint = names[0], endpoint(names[0])
		return nil
	}
	s.d.Mode = AllRegions
	for _, name := range slices.Sorted(slices.Values(names)) {
		s.d.Endpoints = append(s.d.Endpoints, endpoint(name))
	}
	return nil
}

// regionsOf returns the regions with an endpoint of a provider, sorted.
func regionsOf(p *regions.Provider) (names []string) {
	for _, e := range p.Endpoints() { // by region
		if e.Region != arm.GlobalLocation && (len(names) == 0 || names[len(names)-1] != e.Region) {
			names = append(names, e.Region)
		}
	}
	return names
}
