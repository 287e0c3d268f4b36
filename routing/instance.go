package routing

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"portico/arm"
	"portico/inventory"
	"portico/regions"
)

// routeInstance routes a request for a resource itself.
func (s *resolution) routeInstance() error {
	t := s.r.Type
	switch {
	case t.Kind == regions.Extension:
		return s.ignoreAbsence(s.routeExtension(t))
	case t.Kind == regions.ProxyOnly:
		return s.ignoreAbsence(s.routeUntracked(t))
	case s.d.Group.Key == "":
		return s.r.Unroutable() // tracked resources need a group
	}
	hop := s.r.Path.LastHop()
	if n := trackedAbove(t, hop.Len()); n > 0 {
		s.d.Parent = s.keyOf(hop, n)
	}
	if s.r.Method == http.MethodGet {
		return s.routeRead(t)
	}
	return s.routeWrite(t)
}

// ignoreAbsence returns err, or nil if missingFault has decided that a DELETE
// has nothing to delete: it is answered without a call.
func (s *resolution) ignoreAbsence(err error) error {
	if s.d.Mode == Absent {
		return nil
	}
	return err
}

// trackedAbove returns the number of segments, in a hop, of the nearest tracked resource
// above the resource of type t in the first n segments; 0 if there is none.
func trackedAbove(t *regions.ResourceType, n int) int {
	for t := t.Parent; t != nil; t = t.Parent {
		if n -= 2; t.Kind == regions.Tracked {
			return n
		}
	}
	return 0
}

// routeRead routes a GET by the index's row, possibly a cached one.
func (s *resolution) routeRead(t *regions.ResourceType) error {
	located, err := s.Index.Locate(s.ctx, s.d.Subscription.ID, arm.AppendFold(s.r.buffer[:0], s.r.Path.String()), s.r.Received)
	if err != nil {
		return fmt.Errorf("read where a resource lies: %w", err)
	}
	if located.Found {
		s.d.inGroup = true
		s.d.Memory.Location, s.d.Generation, s.d.NeedsVerify = located.Cached, located.Generation, located.NeedsVerify()
		return s.routeTo(t, located.Region)
	}
	hop := s.r.Path.LastHop()
	row, err := s.resolveUnindexed(hop, hop.Len(), s.r.Key())
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return s.absenceFault()
	case err != nil:
		return err
	}
	s.d.inGroup = true
	s.d.Generation, s.d.NeedsVerify = row.Generation, row.NeedsVerify()
	return s.routeTo(t, row.Region)
}

// routeWrite routes writes and HEAD by the store itself, not the cache.
func (s *resolution) routeWrite(t *regions.ResourceType) error {
	row, removalOpen, err := s.currentRow()
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return s.withoutRow(t)
	case err != nil:
		return err
	}
	s.d.Row, s.d.Generation, s.d.inGroup = &row, row.Generation, true
	switch s.r.Method {
	case http.MethodHead:
		if !row.NeedsVerify() && !removalOpen {
			s.d.Mode = Present
			return nil
		}
	case http.MethodPut:
		if err := s.placeExisting(t, row); err != nil {
			return err
		}
		if t.Parent == nil && s.d.Location != row.Location && t.Endpoint(row.Region) != nil {
			// If the row disappears before the intent is recorded, the write must not create the
			// resource in the row's region.
			return s.placeNew(t)
		}
	}
	return s.routeTo(t, row.Region)
}

// currentRow returns the row of the instance in the request. removalOpen is
// only for HEAD: for all other methods the provider is called.
func (s *resolution) currentRow() (row inventory.Resource, removalOpen bool, err error) {
	key, hop := s.r.Key(), s.r.Path.LastHop()
	switch {
	case s.r.Method == http.MethodHead:
		row, removalOpen, err = s.Index.ResourceAndRemoval(s.ctx, s.d.Subscription.ID, key)
	default:
		row, err = s.from.row(s.ctx, s.d.Subscription.ID, key)
	}
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		row, err = s.resolveUnindexed(hop, hop.Len(), key)
	case err != nil:
		err = fmt.Errorf("read a row: %w", err)
	}
	return row, removalOpen, err
}

func (s *resolution) withoutRow(t *regions.ResourceType) error {
	switch s.r.Method {
	case http.MethodPut:
		return s.placeNew(t)
	case http.MethodDelete:
		s.d.Mode = Absent
		return nil
	}
	return s.absenceFault()
}

// placeExisting checks the location of a PUT against the row. A different
// location is refused when the intent is recorded, if the row still exists.
func (s *resolution) placeExisting(t *regions.ResourceType, row inventory.Resource) error {
	if s.body.LocationPending {
		s.d.Location = row.Location
		return nil
	}
	if t.Parent != nil {
		if s.body.HasLocation && arm.Location(s.body.Location) != row.Location {
			return s.locationUnavailable(t, []string{row.Location})
		}
		s.d.Location = row.Location
		return nil
	}
	if !s.body.HasLocation {
		return arm.NewError(arm.LocationRequired).WithTarget("location")
	}
	s.d.Location = arm.Location(s.body.Location)
	if s.d.Location != row.Location && !t.OffersLocation(s.d.Location) {
		return s.locationUnavailable(t, t.Locations)
	}
	return nil
}

// placeNew finds the region of a new resource from the location in its body.
func (s *resolution) placeNew(t *regions.ResourceType) error {
	if t.Parent != nil {
		return s.placeNested(t)
	}
	if s.body.LocationPending {
		return s.placeByType(t, "")
	}
	if !s.body.HasLocation || strings.TrimSpace(s.body.Location) == "" {
		return arm.NewError(arm.LocationRequired).WithTarget("location")
	}
	s.d.Location = arm.Location(s.body.Location)
	if !t.OffersLocation(s.d.Location) {
		return s.locationUnavailable(t, t.Locations)
	}
	return s.placeByType(t, s.d.Location)
}

// placeByType routes a new resource to a location, or to the global endpoint
// if its type has only that.
func (s *resolution) placeByType(t *regions.ResourceType, location string) error {
	if t.Routing == regions.Global {
		location = arm.GlobalLocation
	}
	return s.routeTo(t, location)
}

// placeNested routes a new nested resource to the region of its nearest
// tracked ancestor. If none is tracked, the types above have only one region.
func (s *resolution) placeNested(t *regions.ResourceType) error {
	var region string
	hop := s.r.Path.LastHop()
	if s.d.Parent == "" {
		var err error
		if region, err = s.ancestorRegion(s.r.Path.Hops()-1, hop.Len()-2); err != nil {
			return err
		}
		s.d.Location = region
	} else {
		parent, err := s.rowOrAbsence(hop, trackedAbove(t, hop.Len()))
		if err != nil {
			return s.parentFault(err)
		}
		region, s.d.Location = parent.Region, parent.Location
	}
	if s.body.HasLocation && s.d.Location != "" && arm.Location(s.body.Location) != s.d.Location {
		return s.locationUnavailable(t, []string{s.d.Location})
	}
	return s.routeTo(t, region)
}

func (s *resolution) locationUnavailable(t *regions.ResourceType, offered []string) error {
	return arm.NewError(arm.LocationNotAvailableForResourceType, s.body.Location, t.FullName, strings.Join(offered, ",")).WithTarget("location")
}

// absenceFault returns the answer for a tracked resource that the index does not know.
func (s *resolution) absenceFault() error {
	if s.d.Parent != "" {
		hop := s.r.Path.LastHop()
		if _, err := s.rowOrAbsence(hop, trackedAbove(s.r.Type, hop.Len())); err != nil {
			return s.parentFault(err)
		}
	}
	return s.r.NotFound()
}

// NotFound returns ARM's answer if the instance in r does not exist.
func (r *Request) NotFound() *arm.Error {
	hop := r.Path.LastHop()
	return r.notFound(hop, hop.Len())
}

// notFound is like NotFound, for the resource in the first n segments of hop.
func (r *Request) notFound(hop arm.Hop, n int) *arm.Error {
	group := r.Path.Group()
	if group == "" {
		group = "<null>"
	}
	name := hop.Namespace()
	for i := range n {
		name += "/" + hop.Segment(i)
	}
	return arm.NewError(arm.ResourceNotFound, name, group).WithTarget(r.Path.Prefix(hop.Start() + 2 + n))
}

// parentFault returns ARM's answer if the tracked parent does not exist.
func (s *resolution) parentFault(err error) error {
	if !errors.Is(err, inventory.ErrNotFound) {
		return err
	}
	hop := s.r.Path.LastHop()
	return s.r.parentNotFound(hop, trackedAbove(s.r.Type, hop.Len()))
}

// parentNotFound returns ARM's answer to a request about a resource below the
// one in the first n segments of hop, which does not exist.
func (r *Request) parentNotFound(hop arm.Hop, n int) *arm.Error {
	return arm.NewError(arm.ParentResourceNotFound, hop.Segment(n-1)).WithTarget(r.Path.Prefix(hop.Start() + 2 + n))
}

// routeUntracked routes proxy-only resources: top-level ones have one region,
// nested ones the region of their nearest tracked ancestor.
func (s *resolution) routeUntracked(t *regions.ResourceType) error {
	if t.Parent == nil {
		region := arm.GlobalLocation
		if t.Routing == regions.Regional {
			region = t.EffectiveRegions()[0]
		}
		return s.routeTo(t, region)
	}
	region, err := s.ancestorRegion(s.r.Path.Hops()-1, s.r.Path.LastHop().Len())
	if err != nil {
		return err
	}
	return s.routeTo(t, region)
}

// routeBelow routes actions on a resource and reads directly below it.
func (s *resolution) routeBelow() error {
	hop := s.r.Path.LastHop()
	region, err := s.ancestorRegion(s.r.Path.Hops()-1, hop.Len()-1)
	if err != nil {
		return err
	}
	return s.routeTo(s.r.Type, region)
}

// ancestorRegion returns the region of the resource in the first segments segments of a
// hop, which is the region of the nearest tracked resource at or above it.
func (s *resolution) ancestorRegion(hopIndex, segments int) (string, error) {
	hop := s.r.Path.Hop(hopIndex)
	provider := s.Map.Provider(hop.Namespace())
	if provider == nil {
		return arm.GlobalLocation, nil // the front door's own resources have no region
	}
	for n := segments; n >= 2; n -= 2 {
		t := typeOf(provider, hop, n/2)
		switch {
		case t == nil:
			return "", s.r.unknownType(provider)
		case t.Routing == regions.Global:
			return arm.GlobalLocation, nil
		case t.Kind == regions.Tracked:
			return s.trackedRegion(hop, n, segments)
		case t.Kind == regions.Extension:
			return s.hostRegion(t, hopIndex)
		case t.Parent == nil:
			return t.EffectiveRegions()[0], nil
		}
	}
	return arm.GlobalLocation, nil
}

// hostRegion returns the region of extensions of type t at a hop: their host's, or
// "global" if they have no host or t has no endpoint in its region.
func (s *resolution) hostRegion(t *regions.ResourceType, hopIndex int) (string, error) {
	if t.Routing == regions.Global || hopIndex == 0 {
		return arm.GlobalLocation, nil
	}
	region, err := s.ancestorRegion(hopIndex-1, s.r.Path.Hop(hopIndex-1).Len())
	if err == nil && region != "" && t.Endpoint(region) == nil {
		region = arm.GlobalLocation
	}
	return region, err
}

// trackedRegion returns the region of the tracked resource in the first n
// segments of hop, for a request about the resource in the first segments.
// Reads use the cache, everything else the store.
func (s *resolution) trackedRegion(hop arm.Hop, n, segments int) (string, error) {
	end := hop.Start() + 2 + n
	key := arm.AppendFold(s.r.buffer[:0], s.r.Path.Prefix(end))
	if s.r.Reads() {
		located, err := s.Index.Locate(s.ctx, s.d.Subscription.ID, key, s.r.Received)
		if err != nil {
			return "", fmt.Errorf("read where a resource lies: %w", err)
		}
		if located.Found {
			s.d.inGroup = true
			if located.Cached {
				s.d.Memory.Location, s.d.Memory.Key = true, string(key)
			}
			return located.Region, nil
		}
	}
	row, err := s.rowOrAbsence(hop, n)
	if errors.Is(err, inventory.ErrNotFound) {
		return "", s.missingFault(hop, n, segments)
	}
	s.d.inGroup = err == nil
	return row.Region, err
}

// missingFault returns the error for a resource that does not exist: the
// requested one, an ancestor, or the host of the requested extension.
func (s *resolution) missingFault(hop arm.Hop, n, segments int) error {
	if s.r.Method == http.MethodDelete && s.r.Class == Instance {
		s.d.Mode = Absent
	}
	ofRequest := hop.Start() == s.r.Path.LastHop().Start()
	if ofRequest && (n < segments || s.r.Class == Collection || s.r.Class == Instance) {
		return s.r.parentNotFound(hop, n)
	}
	return s.r.notFound(hop, n)
}
