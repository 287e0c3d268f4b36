package inventory

import (
	"cmp"
	"context"
	"slices"
)

const (
	endedIntents   = `SELECT subscription, grp, key FROM intents WHERE ends <= ? ORDER BY ends LIMIT ?`
	lapsedInGroup  = `SELECT subscription, grp, key FROM intents WHERE subscription = ? AND grp = ? AND ends <= ?`
	oldTombstones  = `SELECT subscription, key FROM tombstones WHERE at <= ? ORDER BY at LIMIT ?`
	clearTombstone = `DELETE FROM tombstones WHERE subscription = ? AND key = ? AND at <= ?`
)

// Expire ends at most limit intents whose time is over, flagging their rows,
// and clears at most limit tombstones that are too old. It returns how many of
// both. What concerns a resource that is worked on ends without it.
func (s *Store) Expire(ctx context.Context, limit int) (int, error) {
	now := s.dialect.now()
	from := s.read(ctx)
	ended, err := collect(from, scanMember, endedIntents, micros(now), atMost(limit))
	if err != nil {
		return 0, err
	}
	horizon := micros(now.Add(-s.options.TombstoneAge))
	old, err := collect(from, scanPair, oldTombstones, horizon, atMost(limit))
	if err != nil {
		return 0, err
	}
	lapsed, err := inPieces(ctx, s, ended, func(t *tx, piece []member) (int, error) { return len(piece), lapse(t, piece) })
	if err != nil {
		return lapsed, err
	}
	cleared, err := inPieces(ctx, s, old, func(t *tx, piece []pair) (int, error) { return t.deleteAll(clearTombstone, piece, horizon) })
	return lapsed + cleared, err
}

// lapseGroup ends the intents into a group whose time is over.
func lapseGroup(t *tx, sub, group string) error {
	ended, err := collect(t, scanMember, lapsedInGroup, sub, group, micros(t.now))
	if err != nil {
		return err
	}
	return lapse(t, ended)
}

// member names a resource, and the group that it lies in.
type member struct{ subscription, group, key string }

func scanMember(scan scanner) (m member, err error) {
	err = scan(&m.subscription, &m.group, &m.key)
	return m, err
}

func lapse(t *tx, ended []member) error {
	ended = slices.Clone(ended) // a transaction may be repeated
	// The order in which all transactions lock rows.
	slices.SortFunc(ended, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.subscription, b.subscription), cmp.Compare(a.group, b.group), cmp.Compare(a.key, b.key))
	})
	for _, m := range slices.Compact(ended) {
		h, err := hold(t, m.subscription, m.key)
		if err != nil {
			return err
		}
		after, did := settle(h.state(), passed{now: micros(t.now)}, newID())
		if err := h.store(t, after, did); err != nil {
			return err
		}
	}
	return nil
}
