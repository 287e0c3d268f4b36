package regions

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"portico/arm"
)

// New resolves a checked declaration. It tolerates invalid ones: the first of
// duplicates counts, a template that does not expand to an address makes no
// endpoint, a nested type whose parent is not declared has no parent.
func New(d Declaration) *Map {
	r := resolver{
		m: &Map{
			regions:  slices.Clone(d.Regions),
			byName:   make(map[string]int, len(d.Regions)),
			byKey:    make(map[string]*Provider, len(d.Providers)),
			internal: make(map[string]*Provider),
		},
		shared: make(map[string]*Endpoint),
	}
	for i, region := range d.Regions {
		if _, twice := r.m.byName[region.Name]; !twice {
			r.m.byName[region.Name] = i
		}
	}
	for i := range d.Providers {
		r.provider(&d.Providers[i])
	}
	slices.SortFunc(r.m.providers, func(a, b *Provider) int { return cmp.Compare(a.Key, b.Key) })
	for _, key := range slices.Sorted(maps.Keys(r.shared)) {
		r.m.endpoints = append(r.m.endpoints, r.shared[key])
	}
	return r.m
}

type resolver struct {
	m      *Map
	shared map[string]*Endpoint
}

func (r *resolver) provider(d *ProviderDeclaration) {
	p := &Provider{
		Namespace:    d.Namespace,
		Contact:      d.Contact,
		Key:          arm.Fold(d.Namespace),
		Registration: d.Registration,
		Features:     slices.Clone(d.Features),
		Validation:   d.Validation,

		requestHeaders: canonicalNames(d.RequestHeaders),
		answerHeaders:  canonicalNames(d.AnswerHeaders),
		redirectHosts:  redirectHosts(d.RedirectHosts),
		tls:            d.TLS,
		credential:     d.Credential,

		byKey: make(map[string]*ResourceType, len(d.Types)),
	}
	if r.m.byKey[p.Key] != nil {
		return
	}
	r.m.byKey[p.Key] = p
	r.m.longest = max(r.m.longest, len(p.Key))
	r.m.providers = append(r.m.providers, p)
	for _, id := range d.InternalSubscriptions {
		if id := arm.Fold(id); r.m.internal[id] == nil {
			r.m.internal[id] = p
		}
	}

	p.endpoints = make(map[string]*Endpoint)
	r.addMissing(p.endpoints, d.Addresses, "", p)

	declared := make(map[*ResourceType]*TypeDeclaration, len(d.Types))
	for i := range d.Types {
		if t := r.newType(p, &d.Types[i]); t != nil {
			declared[t] = &d.Types[i]
		}
	}
	for _, t := range parentsFirst(p.types) {
		r.finishType(t, declared, d.Addresses)
	}
}

// newType adds a type with its own declarations.
func (r *resolver) newType(p *Provider, d *TypeDeclaration) *ResourceType {
	key := arm.Fold(d.Name)
	if p.byKey[key] != nil {
		return nil
	}
	fullName := p.Namespace + "/" + d.Name
	t := &ResourceType{
		Provider:        p,
		Name:            d.Name,
		FullName:        fullName,
		Key:             arm.Fold(fullName),
		Actions:         Actions{Read: fullName + "/read", Write: fullName + "/write", Delete: fullName + "/delete"},
		Kind:            d.Kind,
		Routing:         d.Routing,
		Subservice:      d.Subservice,
		APIVersions:     arm.NewestFirst(d.APIVersions),
		DeletionPolicy:  d.DeletionPolicy,
		Capabilities:    d.Capabilities,
		LateWriteWindow: d.LateWriteWindow,
		OnRegionFailure: d.OnRegionFailure,
		shapes:          d.Shapes,
	}
	p.byKey[key] = t
	p.longest = max(p.longest, len(key))
	p.types = append(p.types, t)
	return t
}

// finishType adds the inheritance of a type from its parent, which is
// finished, and from its provider.
func (r *resolver) finishType(t *ResourceType, declared map[*ResourceType]*TypeDeclaration, provider Addresses) {
	if i := strings.LastIndexByte(t.Name, '/'); i > 0 {
		t.Parent = t.Provider.TypeNamed(t.Name[:i])
	}
	if t.Parent != nil {
		t.Routing = t.Parent.Routing
		if t.Subservice == "" {
			t.Subservice = t.Parent.Subservice
		}
	}
	t.endpoints = make(map[string]*Endpoint)
	for level := t; level != nil; level = level.Parent {
		r.addMissing(t.endpoints, declared[level].Addresses, t.Subservice, t.Provider)
	}
	r.addMissing(t.endpoints, provider, t.Subservice, t.Provider)
	t.Locations = r.locations(t, declared[t].Locations)
	t.resolveSKUs(declared[t].SKUs)
}

func (r *resolver) locations(t *ResourceType, declared []string) []string {
	switch {
	case t.Parent != nil:
		return t.Parent.Locations
	case t.Routing == Global:
		return []string{arm.GlobalLocation}
	case len(declared) > 0:
		return slices.Clone(declared)
	}
	var all []string
	for _, region := range r.m.regions {
		if t.endpoints[region.Name] != nil {
			all = append(all, region.Name)
		}
	}
	return all
}

// addMissing adds one level's endpoints for the regions that dst lacks.
func (r *resolver) addMissing(dst map[string]*Endpoint, level Addresses, subservice string, p *Provider) {
	for region, urls := range level.Endpoints {
		if dst[region] == nil && len(urls) > 0 {
			dst[region] = r.sharedEndpoint(region, urls, p)
		}
	}
	if level.Template == "" || subservice == "" && WantsSubservice(level.Template) {
		return
	}
	for _, region := range r.m.regions {
		if dst[region.Name] != nil {
			continue
		}
		u, err := url.Parse(Expand(level.Template, region.Name, subservice, p.Namespace))
		if err == nil && u.Host != "" {
			dst[region.Name] = r.sharedEndpoint(region.Name, []*url.URL{u}, p)
		}
	}
}

// sharedEndpoint returns the shared endpoint of these addresses in this region for a
// provider.
func (r *resolver) sharedEndpoint(region string, urls []*url.URL, p *Provider) *Endpoint {
	e := &Endpoint{Region: region, URLs: slices.Clone(urls), Identity: p.identity(urls), Providers: []string{p.Namespace}}
	key := region + " " + e.String() + " " + e.Identity
	if known := r.shared[key]; known != nil {
		if !slices.Contains(known.Providers, p.Namespace) {
			known.Providers = append(known.Providers, p.Namespace)
		}
		return known
	}
	r.shared[key] = e
	return e
}

// identity returns the namespace whose TLS settings and credential calls of
// the provider use at these addresses.
func (p *Provider) identity(urls []*url.URL) string {
	if p.credential != (Credential{}) {
		return p.Namespace
	}
	if p.tls == (TLS{}) || !slices.ContainsFunc(urls, func(u *url.URL) bool { return u.Scheme == "https" }) {
		return ""
	}
	return p.Namespace
}

// parentsFirst orders types so that each comes after its parent, in any order
// of declaration.
func parentsFirst(types []*ResourceType) []*ResourceType {
	ordered := slices.Clone(types)
	slices.SortStableFunc(ordered, func(a, b *ResourceType) int {
		return cmp.Compare(strings.Count(a.Name, "/"), strings.Count(b.Name, "/"))
	})
	return ordered
}
