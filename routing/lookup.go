package routing

import (
	"context"
	"errors"
	"net/http"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/regions"
)

// Finder looks for tracked resources that the index does not know, where their
// absence was not seen either: a front door may stand before an estate that
// already exists, and must neither call it absent nor make a second one of it.
type Finder interface {
	// Find asks the endpoints of sought and has the index adopt the resource
	// where it is. An error means that nothing can be said, and is what the
	// client gets; without one the index knows.
	Find(ctx context.Context, sought Sought) error
}

// Sought is a tracked resource that has no row.
type Sought struct {
	Subscription inventory.Subscription
	Group        inventory.Group
	Type         *regions.ResourceType
	ID           string // names as the request wrote them, the rest as declared
	Key          string // the folded ID
	APIVersion   string // one that the type has
	// Endpoints are where it may be, one per region, in the map's order.
	Endpoints []*regions.Endpoint
}

// StoredLocation returns where the tracked resource lies that r names, or the
// nearest one above it, by the index alone; "" where principal may not know of
// it, and where there is none. It serves the wording of faults.
func (rt *Router) StoredLocation(ctx context.Context, r *Request, p access.Principal) string {
	var d Decision
	if r.Type == nil || rt.scope(ctx, r, p, &d) != nil || d.Group.Key == "" {
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

// row returns the row of the tracked resource that the first n segments of hop
// name. Without one, and where its absence was not seen, the resource is looked
// for. ErrNotFound means that it, or one above it, is not there.
func (s *resolution) row(hop arm.Hop, n int) (inventory.Resource, error) {
	key := s.keyOf(hop, n)
	row, err := s.Index.Resource(s.ctx, s.d.Subscription.ID, key)
	if errors.Is(err, inventory.ErrNotFound) {
		return s.adopted(hop, n, key)
	}
	return row, err
}

func (s *resolution) keyOf(hop arm.Hop, n int) string {
	return arm.Fold(s.r.Path.Prefix(hop.Start() + 2 + n))
}

// adopted returns the row of a resource that had none, after looking for it,
// once in the course of a request, where its absence was not seen.
func (s *resolution) adopted(hop arm.Hop, n int, key string) (inventory.Resource, error) {
	if s.Finder == nil || s.d.Subscription.Covered || s.d.Group.Key == "" || s.absences[key] {
		return inventory.Resource{}, inventory.ErrNotFound
	}
	row, err := s.find(hop, n, key)
	if errors.Is(err, inventory.ErrNotFound) {
		if s.absences == nil {
			s.absences = map[string]bool{}
		}
		s.absences[key] = true
	}
	return row, err
}

func (s *resolution) find(hop arm.Hop, n int, key string) (inventory.Resource, error) {
	sought, err := s.sought(hop, n, key)
	if err != nil {
		return inventory.Resource{}, err
	}
	if len(sought.Endpoints) > 0 {
		if err := s.Finder.Find(s.ctx, sought); err != nil {
			return inventory.Resource{}, err
		}
	}
	// Also where nobody had to be asked: a sweep may have made row and coverage
	// since there was no row.
	return s.Index.Resource(s.ctx, s.d.Subscription.ID, key)
}

// sought tells what to look for and where: wherever the type may lie and
// absence was not seen, below a tracked parent in the parent's region alone.
// ErrNotFound where that parent is not there.
func (s *resolution) sought(hop arm.Hop, n int, key string) (Sought, error) {
	provider := s.Map.Provider(hop.Namespace())
	t := typeOf(provider, hop, n/2)
	sought := Sought{
		Subscription: s.d.Subscription, Group: s.d.Group, Type: t,
		ID: s.r.idOf(t, hop, n), Key: key, APIVersion: t.APIVersions[0],
	}
	if t.Supports(s.r.Query.APIVersion) {
		sought.APIVersion = s.r.Query.APIVersion
	}
	candidates := t.EffectiveRegions()
	if above := trackedAbove(t, n); above > 0 {
		parent, err := s.row(hop, above)
		if err != nil {
			return sought, err
		}
		candidates = []string{parent.Region}
	}
	unseen, err := s.Index.Uncovered(s.ctx, s.d.Subscription.ID, t.Key, candidates)
	if err != nil {
		return sought, err
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

// unseen returns the regions of a type where absence was not seen. Ask before
// the rows are read: a sweep makes the rows first.
func (s *resolution) unseen(t *regions.ResourceType) ([]string, error) {
	if s.d.Subscription.Covered {
		return nil, nil
	}
	return s.Index.Uncovered(s.ctx, s.d.Subscription.ID, t.Key, t.EffectiveRegions())
}

// emptyUnasked holds where the list of a namespace that the subscription never
// registered is empty without asking anyone: no region of the type may hold any.
func (s *resolution) emptyUnasked() (bool, error) {
	t := s.r.Type
	if t.Kind != regions.Tracked {
		return s.d.Subscription.Covered, nil
	}
	unseen, err := s.unseen(t)
	if err != nil || len(unseen) > 0 {
		return false, err
	}
	held, err := s.Index.Regions(s.ctx, s.d.Subscription.ID, s.d.Group.Key, t.Key)
	return len(held) == 0, err
}

// noEndpoint tells that a region in which a resource lies, or may lie, has left
// the map: an outage, not an absence.
func noEndpoint(t *regions.ResourceType, region string) *arm.Error {
	return arm.NewError(arm.NoRegisteredProviderFound, "", "", "", "", "").WithStatus(http.StatusServiceUnavailable).
		Saying("No endpoint is configured that serves the type '%s' in the location '%s', where the resource lies.", t.FullName, region).About(region)
}
