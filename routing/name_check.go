package routing

import (
	"net/http"
	"slices"
	"strings"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/regions"
)

// nameCheckAction is the action of a provider that checks whether a name is free.
const nameCheckAction = "checkNameAvailability"

// ChecksName reports whether the request asks a provider, for a subscription and not for
// one location, whether a name is free.
func (r *Request) ChecksName() bool {
	return r.Class == AtProvider && r.Method == http.MethodPost && r.Path.Subscription() != "" &&
		arm.EqualFold(r.Path.LastHop().Segment(0), nameCheckAction)
}

// ReadNameCheck checks that content is JSON, and reads the type whose name is checked.
func ReadNameCheck(content []byte) (Body, *arm.Error) {
	if fault := CheckJSON(content); fault != nil {
		return Body{}, fault
	}
	var body Body
	_ = jsontext.Object(content, func(m jsontext.Member) error { // other JSON names no type
		if arm.EqualFold(string(m.Key), "type") {
			body.NamedType, _ = jsontext.Text(m.Value)
		}
		return nil
	})
	return body, nil
}

// nameCheck serves a check whether a name of a type is free: by the one endpoint that
// serves the type, or by those of all regions that serve it, because each knows only
// its own resources. For a type that the map lacks it uses the global endpoint or,
// without one, all regions of the provider.
func (s *resolution) nameCheck() error {
	p := s.r.Provider
	t := p.TypeNamed(strings.TrimPrefix(arm.Fold(s.body.NamedType), p.Key+"/"))
	if t == nil && providerEndpoint(p, arm.GlobalLocation) != nil || t != nil && t.Routing == regions.Global {
		return s.atGlobal()
	}
	if t == nil {
		return s.askEach(regionsOf(p), func(region string) *regions.Endpoint { return providerEndpoint(p, region) })
	}
	for _, region := range t.EffectiveRegions() {
		if t.Endpoint(region) == nil {
			return noEndpoint(t, region)
		}
	}
	return s.askEach(t.EffectiveRegions(), t.Endpoint)
}

// askEach serves the request by the endpoints of some regions.
func (s *resolution) askEach(names []string, endpoint func(region string) *regions.Endpoint) error {
	switch len(names) {
	case 0:
		return s.atGlobal()
	case 1:
		s.d.Region, s.d.Endpoint = names[0], endpoint(names[0])
		return nil
	}
	s.d.Answer = AskEach
	for _, name := range slices.Sorted(slices.Values(names)) {
		s.d.Endpoints = append(s.d.Endpoints, endpoint(name))
	}
	return nil
}

// regionsOf returns the regions in which a provider has an endpoint, sorted.
func regionsOf(p *regions.Provider) (names []string) {
	for _, e := range p.Endpoints() { // by region
		if e.Region != arm.GlobalLocation && (len(names) == 0 || names[len(names)-1] != e.Region) {
			names = append(names, e.Region)
		}
	}
	return names
}
