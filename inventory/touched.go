package inventory

import "context"

// Touch is a place that an incarnation of a group sent a write to.
type Touch struct {
	Type   string // folded full type
	Region string
}

const selectTouched = `SELECT type, region FROM touched WHERE subscription = ? AND grp = ? AND incarnation = ?
	ORDER BY type, region`

func scanTouch(scan scanner) (touch Touch, err error) {
	err = scan(&touch.Type, &touch.Region)
	return touch, err
}

// Touched lists, once each, where an incarnation of a group sent a write to; see
// [Closing].Last.
func (s *Store) Touched(ctx context.Context, g Group) ([]Touch, error) {
	return touchedBy(s.read(ctx), g)
}

// touchedBy lists, once each, where this incarnation of the group sent a write
// to: also the places where nothing came of it.
func touchedBy(from source, g Group) ([]Touch, error) {
	return collect(from, scanTouch, selectTouched, g.Subscription, g.Key, g.Incarnation[:])
}
