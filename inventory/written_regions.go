package inventory

import (
	"context"

	"portico/inventory/engine"
)

// WrittenRegion is a type and region that an incarnation of a group sent a write to.
type WrittenRegion struct {
	Type   string // folded full type
	Region string
}

const selectWrittenRegions = `SELECT type, region FROM touched WHERE subscription = ? AND grp = ? AND incarnation = ?
	ORDER BY type, region`

func scanWrittenRegion(scan engine.Scanner) (touch WrittenRegion, err error) {
	err = scan(&touch.Type, &touch.Region)
	return touch, err
}

// WrittenRegions lists, once each, where an incarnation of a group sent a write, also
// where nothing came of it; see [DeleteGroupConditions].
func (s *Store) WrittenRegions(ctx context.Context, g Group) ([]WrittenRegion, error) {
	return writtenRegions(s.read(ctx), g)
}

// writtenRegions lists, once each, where this incarnation of the group sent a write
// to: also the places where nothing came of it.
func writtenRegions(from engine.Source, g Group) ([]WrittenRegion, error) {
	return engine.Collect(from, scanWrittenRegion, selectWrittenRegions, g.Subscription, g.Key, g.Incarnation[:])
}
