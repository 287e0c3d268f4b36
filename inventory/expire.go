package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
)

const (
	endedIntents   = `SELECT subscription, resource_group, key, ends FROM intents WHERE ends >= ? AND ends <= ? ORDER BY ends LIMIT ?`
	endedInGroup   = `SELECT subscription, resource_group, key FROM intents WHERE subscription = ? AND resource_group = ? AND ends <= ?`
	oldTombstones  = `SELECT subscription, key FROM tombstones WHERE at <= ? ORDER BY at LIMIT ?`
	tombstones     = `SELECT COUNT(*) FROM (SELECT key FROM tombstones WHERE subscription = ? LIMIT ?) AS counted`
	clearTombstone = `DELETE FROM tombstones WHERE subscription = ? AND key = ? AND at <= ?`
)

// SkippedError reports resources whose intents could not be ended by time because their
// records cannot be read. All other intents were ended.
type SkippedError struct {
	Resources int
	Key       string // of the first one
	Err       error  // of the first one

	members map[member]bool
}

func (e *SkippedError) Error() string {
	return fmt.Sprintf("inventory: the writes of %d resources cannot be ended, the first of them %s: %v", e.Resources, e.Key, e.Err)
}

func (e *SkippedError) Unwrap() error { return e.Err }

func (e *SkippedError) add(m member, err error) {
	if e.Resources == 0 {
		e.Key, e.Err = m.key, err
	}
	e.members[m] = true
	e.Resources = len(e.members)
}

// CountTombstones counts the tombstones of a subscription, up to limit.
func (s *Store) CountTombstones(ctx context.Context, sub string, limit int) (n int, err error) {
	err = s.engine.Read(ctx).One(tombstones, arm.Fold(sub), limit)(&n)
	return n, err
}

// ForgetTombstones deletes at most limit tombstones that are too old, and returns how
// many it deleted.
func (s *Store) ForgetTombstones(ctx context.Context, limit int) (int, error) {
	return engine.DeletePassed(ctx, s.engine, oldTombstones, clearTombstone, s.engine.Now().Add(-s.options.TombstoneAge), limit)
}

// Expire ends at most limit intents whose time is over and flags their rows. It returns
// how many it ended. A request for a resource ends that resource's intents by itself. If a
// resource cannot be read, Expire skips it, and returns *SkippedError at the end.
//
// It pages past the skipped intents, because these stay the first in order.
func (s *Store) Expire(ctx context.Context, limit int) (lapsed int, err error) {
	now := engine.Micros(s.engine.Now())
	left := &SkippedError{members: map[member]bool{}}
	for from := int64(0); ; {
		page, err := engine.Collect(s.engine.Read(ctx), scanEndedIntent, endedIntents, from, now, engine.LimitArg(limit-lapsed))
		if err != nil {
			return lapsed, err
		}
		before := left.Resources
		n, err := s.expireSkipping(ctx, page, left)
		if lapsed += n; err != nil {
			return lapsed, err
		}
		switch done := left.Resources == before || lapsed >= limit || page[len(page)-1].ends == from; {
		case done && left.Resources > 0:
			return lapsed, left
		case done:
			return lapsed, nil
		}
		from = page[len(page)-1].ends
	}
}

// expireSkipping ends intents and skips those that it cannot end.
func (s *Store) expireSkipping(ctx context.Context, page []endedIntent, left *SkippedError) (lapsed int, err error) {
	run := func(t *tx, piece []member) (int, error) { return len(piece), expireMembers(t, piece) }
	var all []member
	for _, e := range page {
		if !left.members[e.member] {
			all = append(all, e.member)
		}
	}
	for piece := range slices.Chunk(all, engine.PieceSize) {
		n, err := engine.InPieces(ctx, s.engine, piece, run)
		if err == nil {
			lapsed += n
			continue
		}
		for i := range piece {
			n, err := engine.InPieces(ctx, s.engine, piece[i:i+1], run)
			lapsed += n
			switch {
			case err == nil:
			case errors.Is(err, ErrUnavailable) || ctx.Err() != nil:
				return lapsed, err
			default:
				left.add(piece[i], err)
			}
		}
	}
	return lapsed, nil
}

// expireGroup ends a group's intents whose time is over.
func expireGroup(t *tx, sub, group string) error {
	ended, err := engine.Collect(t, scanMember, endedInGroup, sub, group, engine.Micros(t.Now))
	if err != nil {
		return err
	}
	return expireMembers(t, ended)
}

// endedIntent is an intent with the end of its time.
type endedIntent struct {
	member
	ends int64
}

func scanEndedIntent(scan engine.Scanner) (e endedIntent, err error) {
	err = scan(&e.subscription, &e.group, &e.key, &e.ends)
	return e, err
}

// member identifies a resource and its group.
type member struct{ subscription, group, key string }

func (m member) compare(other member) int {
	return cmp.Or(cmp.Compare(m.subscription, other.subscription), cmp.Compare(m.group, other.group), cmp.Compare(m.key, other.key))
}

func scanMember(scan engine.Scanner) (m member, err error) {
	err = scan(&m.subscription, &m.group, &m.key)
	return m, err
}

func expireMembers(t *tx, ended []member) error {
	ended = slices.Clone(ended) // a transaction may be repeated
	// All transactions lock rows in this order.
	slices.SortFunc(ended, member.compare)
	for _, m := range slices.Compact(ended) {
		h, err := lockResource(t, m.subscription, m.key)
		if err != nil {
			return err
		}
		after, did := h.expireIntents(t)
		if err := h.store(t, after, did); err != nil {
			return err
		}
	}
	return nil
}
