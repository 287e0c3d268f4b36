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
	return engine.Collect(s.engine.Read(ctx), scanWrittenRegion, selectWrittenRegions, g.Subscription, g.Key, g.Incarnation[:])
}
