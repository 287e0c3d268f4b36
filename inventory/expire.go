package inventory

import "context"

const (
	endedIntents   = `SELECT subscription, key FROM intents WHERE ends <= ? ORDER BY ends LIMIT ?`
	lapsedInGroup  = `SELECT subscription, key FROM intents WHERE subscription = ? AND grp = ? AND ends <= ?`
	oldTombstones  = `SELECT subscription, key FROM tombstones WHERE at <= ? ORDER BY at LIMIT ?`
	clearTombstone = `DELETE FROM tombstones WHERE subscription = ? AND key = ? AND at <= ?`
)

// Expire ends at most limit intents whose time is over, flagging their rows,
// and clears at most limit tombstones that are too old. It returns how many of
// both. What concerns a resource that is worked on ends without it.
func (s *Store) Expire(ctx context.Context, limit int) (int, error) {
	now := s.dialect.now()
	from := s.read(ctx)
	ended, err := collect(from, scanPair, endedIntents, micros(now), atMost(limit))
	if err != nil {
		return 0, err
	}
	horizon := micros(now.Add(-s.options.TombstoneAge))
	old, err := collect(from, scanPair, oldTombstones, horizon, atMost(limit))
	if err != nil || len(ended)+len(old) == 0 {
		return 0, err
	}
	return commit(ctx, s, unflushed, func(t *tx) (int, error) {
		if err := lapse(t, ended); err != nil {
			return 0, err
		}
		cleared, err := t.deleteAll(clearTombstone, old, horizon)
		return len(ended) + cleared, err
	})
}

// lapseGroup ends the intents into a group whose time is over.
func lapseGroup(t *tx, sub, group string) error {
	ended, err := collect(t, scanPair, lapsedInGroup, sub, group, micros(t.now))
	if err != nil {
		return err
	}
	return lapse(t, ended)
}

func lapse(t *tx, ended []pair) error {
	for _, p := range ended {
		h, err := hold(t, p.subscription, p.name)
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
