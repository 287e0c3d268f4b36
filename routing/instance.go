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

// instance serves a resource itself.
func (s *resolution) instance() error {
	t := s.r.Type
	switch {
	case t.Kind == regions.Extension:
		return s.unlessAbsent(s.extension(t))
	case t.Kind == regions.ProxyOnly:
		return s.unlessAbsent(s.untracked(t))
	case s.d.Group.Key == "":
		return s.r.Unroutable() // tracked resources need a group
	}
	hop := s.r.Path.LastHop()
	if n := trackedAbove(t, hop.Len()); n > 0 {
		s.d.Parent = s.keyOf(hop, n)
	}
	if s.r.Method == http.MethodGet {
		return s.read(t)
	}
	return s.stored(t)
}

// unlessAbsent returns err, or nil if missing decided that a DELETE has nothing to
// delete: it is answered without a call.
func (s *resolution) unlessAbsent(err error) error {
	if s.d.Answer == Absent {
		return nil
	}
	return err
}

// trackedAbove returns how many segments of a hop name the nearest tracked resource
// above the one of type t that the first n segments name; 0 if there is none.
func trackedAbove(t *regions.ResourceType, n int) int {
	for t := t.Parent; t != nil; t = t.Parent {
		if n -= 2; t.Kind == regions.Tracked {
			return n
		}
	}
	return 0
}

// read routes a GET by the index's row, possibly a cached one.
func (s *resolution) read(t *regions.ResourceType) error {
	located, err := s.Index.Locate(s.ctx, s.d.Subscription.ID, arm.AppendFold(s.r.buffer[:0], s.r.Path.String()), s.r.Received)
	if err != nil {
		return fmt.Errorf("read where a resource lies: %w", err)
	}
	if located.Found {
		s.d.inGroup = true
		s.d.Memory.Location, s.d.Generation, s.d.NeedsVerify = located.Cached, located.Generation, located.NeedsVerify()
		return s.serve(t, located.Region)
	}
	hop := s.r.Path.LastHop()
	row, err := s.unindexed(hop, hop.Len(), s.r.Key())
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return s.absent()
	case err != nil:
		return err
	}
	s.d.inGroup = true
	s.d.Generation, s.d.NeedsVerify = row.Generation, row.NeedsVerify()
	return s.serve(t, row.Region)
}

// stored routes writes and HEAD by the store itself, not the cache.
func (s *resolution) stored(t *regions.ResourceType) error {
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
			s.d.Answer = Present
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
	return s.serve(t, row.Region)
}

// currentRow returns the row of the instance that the request names. removalOpen is for
// HEAD alone: for all other methods the provider is asked.
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
		row, err = s.unindexed(hop, hop.Len(), key)
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
		s.d.Answer = Absent
		return nil
	}
	return s.absent()
}

// placeExisting checks the location of a PUT against the row. A location that differs
// is refused when the intent is recorded, if the row still exists.
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
		return arm.NewError(arm.LocationRequired).About("location")
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
		return arm.NewError(arm.LocationRequired).About("location")
	}
	s.d.Location = arm.Location(s.body.Location)
	if !t.OffersLocation(s.d.Location) {
		return s.locationUnavailable(t, t.Locations)
	}
	return s.placeByType(t, s.d.Location)
}

// placeByType serves a new resource in a location, or at the global endpoint if its type has
// that alone.
func (s *resolution) placeByType(t *regions.ResourceType, location string) error {
	if t.Routing == regions.Global {
		location = arm.GlobalLocation
	}
	return s.serve(t, location)
}

// placeNested puts a new nested resource into the region of its nearest tracked
// ancestor. If none is tracked, the types above have one region only.
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
		parent, err := s.row(hop, trackedAbove(t, hop.Len()))
		if err != nil {
			return s.parentMissing(err)
		}
		region, s.d.Location = parent.Region, parent.Location
	}
	if s.body.HasLocation && s.d.Location != "" && arm.Location(s.body.Location) != s.d.Location {
		return s.locationUnavailable(t, []string{s.d.Location})
	}
	return s.serve(t, region)
}

func (s *resolution) locationUnavailable(t *regions.ResourceType, offered []string) error {
	return arm.NewError(arm.LocationNotAvailableForResourceType, s.body.Location, t.FullName, strings.Join(offered, ",")).About("location")
}

// absent is the answer for a tracked resource that the index does not know.
func (s *resolution) absent() error {
	if s.d.Parent != "" {
		hop := s.r.Path.LastHop()
		if _, err := s.row(hop, trackedAbove(s.r.Type, hop.Len())); err != nil {
			return s.parentMissing(err)
		}
	}
	return s.r.NotFound()
}

// NotFound is ARM's answer if the instance that r names does not exist.
func (r *Request) NotFound() *arm.Error {
	hop := r.Path.LastHop()
	return r.notFound(hop, hop.Len())
}

// notFound is NotFound for the resource that the first n segments of hop name.
func (r *Request) notFound(hop arm.Hop, n int) *arm.Error {
	group := r.Path.Group()
	if group == "" {
		group = "<null>"
	}
	name := hop.Namespace()
	for i := range n {
		name += "/" + hop.Segment(i)
	}
	return arm.NewError(arm.ResourceNotFound, name, group).About(r.Path.Prefix(hop.Start() + 2 + n))
}

// parentMissing returns ARM's answer if the tracked parent does not exist.
func (s *resolution) parentMissing(err error) error {
	if !errors.Is(err, inventory.ErrNotFound) {
		return err
	}
	hop := s.r.Path.LastHop()
	return s.r.parentNotFound(hop, trackedAbove(s.r.Type, hop.Len()))
}

// parentNotFound is ARM's answer if the resource that the first n segments of hop name
// does not exist, but the request is about one below it.
func (r *Request) parentNotFound(hop arm.Hop, n int) *arm.Error {
	return arm.NewError(arm.ParentResourceNotFound, hop.Segment(n-1)).About(r.Path.Prefix(hop.Start() + 2 + n))
}

// untracked serves proxy-only resources: top-level ones have one region, nested ones
// that of their nearest tracked ancestor.
func (s *resolution) untracked(t *regions.ResourceType) error {
	if t.Parent == nil {
		region := arm.GlobalLocation
		if t.Routing == regions.Regional {
			region = t.EffectiveRegions()[0]
		}
		return s.serve(t, region)
	}
	region, err := s.ancestorRegion(s.r.Path.Hops()-1, s.r.Path.LastHop().Len())
	if err != nil {
		return err
	}
	return s.serve(t, region)
}

// below serves actions on a resource and reads directly below it.
func (s *resolution) below() error {
	hop := s.r.Path.LastHop()
	region, err := s.ancestorRegion(s.r.Path.Hops()-1, hop.Len()-1)
	if err != nil {
		return err
	}
	return s.serve(s.r.Type, region)
}

// ancestorRegion returns the region of the resource that the first segments segments
// of a hop name: that of the nearest tracked resource at or above it.
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
			return s.tracked(hop, n, segments)
		case t.Kind == regions.Extension:
			return s.hostRegion(t, hopIndex)
		case t.Parent == nil:
			return t.EffectiveRegions()[0], nil
		}
	}
	return arm.GlobalLocation, nil
}

// hostRegion returns the region of extensions of type t at a hop: that of their host,
// or "global" if they have no host or t has no endpoint there.
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

// tracked returns the region of the tracked resource that the first n segments of hop
// name; the request is about the resource that the first segments name. Reads use the
// cache, everything else the store.
func (s *resolution) tracked(hop arm.Hop, n, segments int) (string, error) {
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
	row, err := s.row(hop, n)
	if errors.Is(err, inventory.ErrNotFound) {
		return "", s.missing(hop, n, segments)
	}
	s.d.inGroup = err == nil
	return row.Region, err
}

// missing returns the fault for what does not exist: the resource itself, an ancestor,
// or the host of the extension that the request names or lies below.
func (s *resolution) missing(hop arm.Hop, n, segments int) error {
	if s.r.Method == http.MethodDelete && s.r.Class == Instance {
		s.d.Answer = Absent
	}
	ofRequest := hop.Start() == s.r.Path.LastHop().Start()
	if ofRequest && (n < segments || s.r.Class == Collection || s.r.Class == Instance) {
		return s.r.parentNotFound(hop, n)
	}
	return s.r.notFound(hop, n)
}
