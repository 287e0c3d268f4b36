package routing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/regions"
)

// SearchedResource is a tracked resource without a row whose absence is not
// established: resources may exist from before this front door. It must not
// be reported as absent, nor be created a second time.
type SearchedResource struct {
	Subscription inventory.Subscription
	Group        inventory.Group
	Type         *regions.ResourceType
	ID           string // names as in the request, the rest as declared
	Key          string // the folded ID
	APIVersion   string // one that the type supports
	// Endpoints lists the endpoints that may have it, one per region, in the
	// map's order.
	Endpoints []*regions.Endpoint
}

// SearchNeededError means that a request cannot be resolved before a search for Resource.
type SearchNeededError struct{ Resource SearchedResource }

func (e *SearchNeededError) Error() string {
	return "the index does not know whether the resource " + e.Resource.Key + " exists"
}

// StoredLocation returns the location of the tracked resource in r, or of its
// nearest tracked ancestor, only from the index. It returns "" if there is
// none, or if p may not see it. Errors show it.
func (rt *Router) StoredLocation(ctx context.Context, r *Request, p access.Principal) string {
	var d Decision
	if r.Type == nil || (&scopes{Router: rt}).check(ctx, r, p, &d) != nil || d.Group.Key == "" {
		return ""
	}
	s := resolution{Router: rt, ctx: ctx, r: r, d: &d}
	hop := r.Path.LastHop()
	for t, n := r.Type, hop.Len()&^1; t != nil && n > 0; t, n = t.Parent, n-2 {
		row, err := rt.Index.Resource(ctx, d.Subscription.ID, s.keyOf(hop, n))
		if err == nil {
			return arm.Location(row.Location)
		}
	}
	return ""
}

// rowOrAbsence returns the row of the tracked resource in the first n segments of hop.
// ErrNotFound means that the resource, or one above it, does not exist.
func (s *resolution) rowOrAbsence(hop arm.Hop, n int) (inventory.Resource, error) {
	key := s.keyOf(hop, n)
	row, err := s.from.row(s.ctx, s.d.Subscription.ID, key)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return s.resolveUnindexed(hop, n, key)
	case err != nil:
		err = fmt.Errorf("read a row: %w", err)
	}
	return row, err
}

func (s *resolution) keyOf(hop arm.Hop, n int) string {
	return arm.Fold(s.r.Path.Prefix(hop.Start() + 2 + n))
}

// resolveUnindexed handles a resource without a row. It returns ErrNotFound
// if the absence of the resource is established or it was searched for, else
// a *[SearchNeededError].
func (s *resolution) resolveUnindexed(hop arm.Hop, n int, key string) (inventory.Resource, error) {
	if s.d.Subscription.Covered || s.d.Group.Key == "" || slices.Contains(s.searched, key) {
		return inventory.Resource{}, inventory.ErrNotFound
	}
	sought, err := s.newSearchedResource(hop, n, key)
	switch {
	case err != nil:
		return inventory.Resource{}, err
	case len(sought.Endpoints) > 0:
		return inventory.Resource{}, &SearchNeededError{sought}
	}
	// A sweep may have written the row and the coverage since the row was read.
	return s.Index.Resource(s.ctx, s.d.Subscription.ID, key)
}

// newSearchedResource returns the resource to search for and its endpoints: in every region that
// may hold the type and whose coverage is missing; below a tracked parent, only in the
// parent's region. ErrNotFound means that the parent does not exist.
func (s *resolution) newSearchedResource(hop arm.Hop, n int, key string) (SearchedResource, error) {
	provider := s.Map.Provider(hop.Namespace())
	t := typeOf(provider, hop, n/2)
	sought := SearchedResource{
		Subscription: s.d.Subscription, Group: s.d.Group, Type: t,
		ID: s.r.idOf(t, hop, n), Key: key, APIVersion: t.APIVersions[0],
	}
	if t.Supports(s.r.Query.APIVersion) {
		sought.APIVersion = s.r.Query.APIVersion
	}
	candidates := t.EffectiveRegions()
	if above := trackedAbove(t, n); above > 0 {
		parent, err := s.rowOrAbsence(hop, above)
		if err != nil {
			return sought, err
		}
		candidates = []string{parent.Region}
	}
	unseen, err := s.Index.Uncovered(s.ctx, s.d.Subscription.ID, t.Key, candidates)
	if err != nil {
		return sought, fmt.Errorf("ask which regions were swept: %w", err)
	}
	for _, region := range unseen {
		endpoint := t.Endpoint(region)
		if endpoint == nil {
			return sought, noEndpoint(t, region)
		}
		sought.Endpoints = append(sought.Endpoints, endpoint)
	}
	return sought, nil
}

// mayHold returns the regions that may hold resources of the type in the
// request's scope. It queries the store once per request.
func (s *resolution) mayHold(t *regions.ResourceType) ([]string, error) {
	if s.regionsKnown {
		return s.regions, nil
	}
	names, held, err := s.Index.MayHold(s.ctx, s.d.Subscription.ID, s.d.Group.Key, t.Key, t.EffectiveRegions())
	if err != nil {
		return nil, fmt.Errorf("ask which regions may hold a type: %w", err)
	}
	s.regions, s.d.inGroup, s.regionsKnown = names, held, true
	return s.regions, nil
}

// emptyUnasked reports whether the list of a namespace that the subscription never
// registered is empty without a call: no region may hold a resource of the type.
func (s *resolution) emptyUnasked() (bool, error) {
	t := s.r.Type
	if t.Kind != regions.Tracked {
		return s.d.Subscription.Covered, nil
	}
	names, err := s.mayHold(t)
	return len(names) == 0, err
}

// noEndpoint returns the error for a region that may hold a resource but has
// left the map: an outage, not an absence.
func noEndpoint(t *regions.ResourceType, region string) *arm.Error {
	return arm.NewError(arm.NoRegisteredProviderFound, "", "", "", "", "").WithStatus(http.StatusServiceUnavailable).
		WithMessage("No endpoint is configured that serves the type '%s' in the location '%s', where the resource lies.", t.FullName, region).WithTarget(region)
}
