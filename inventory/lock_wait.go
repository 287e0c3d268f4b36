package inventory

import (
	"context"
	"errors"
	"math"
	"time"

	"portico/inventory/engine"
	"portico/inventory/index"
)

// callUnderWay finds a call that may still be running: its sender has not recorded
// its end, and its time has not passed. The deletion of a group was accepted as a
// whole, and goes on.
const callUnderWay = `SELECT EXISTS (SELECT 1 FROM intents
	WHERE subscription = ? AND (key = ? OR key >= ? AND key < ?) AND kind >= ? AND kind <= ? AND ended = 0 AND not_after > ?
		AND NOT EXISTS (SELECT 1 FROM resource_groups
			WHERE resource_groups.subscription = intents.subscription AND resource_groups.key = intents.grp AND state = ?))`

// waitPause is the time between two looks for conflicting calls.
const waitPause = 20 * time.Millisecond

// WaitForConflictingWrites waits for the calls under way that a stored lock forbids,
// and for moves where it forbids them, but no longer than ctx allows; it reports
// whether all have ended. group is the lock's, "" for one on a subscription. It does
// not wait for writes whose call has ended without a definite answer, which may be
// applied until their intents end, nor for what takes no intent, nor for the deletion
// of a group that was accepted before.
func (s *Store) WaitForConflictingWrites(ctx context.Context, group string, l Lock) (ended bool, err error) {
	for err = s.waitForAdmissions(ctx, group, l); err == nil; {
		var underWay bool
		if underWay, err = s.conflictUnderWay(ctx, l); err == nil && !underWay {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(waitPause):
		}
	}
	if ctx.Err() != nil {
		err = nil // it failed because the time is over
	}
	return false, err
}

// waitForAdmissions waits for the row locks of the groups that a lock concerns: a
// write that was admitted without seeing the lock holds one until its intent is
// visible, and later writes read the locks anew.
func (s *Store) waitForAdmissions(ctx context.Context, group string, l Lock) error {
	if group == "" {
		return s.write(ctx, engine.Unflushed, everyGroupLocks(l.Subscription), func(t *tx) error {
			_, err := engine.Collect(t, scanText, lockGroups, l.Subscription)
			return err
		})
	}
	return s.write(ctx, engine.Unflushed, groupLocks(l.Subscription, group), func(t *tx) error {
		_, err := t.group(l.Subscription, group)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
}

// conflictUnderWay reports whether a call, or a move, that a lock forbids is under way.
func (s *Store) conflictUnderWay(ctx context.Context, l Lock) (underWay bool, err error) {
	first, last := index.Delete, index.Delete
	if l.Level == LockReadOnly {
		first, last = 0, math.MaxUint8
		// No lock can be set in a group that is Moving, but above it.
		if l.Scope == subscriptionScope(l.Subscription) {
			var moving int
			if err := s.read(ctx).One(countMoving, l.Subscription, index.GroupMoving)(&moving); err != nil || moving > 0 {
				return moving > 0, err
			}
		}
	}
	from, to := below(l.Scope)
	err = s.read(ctx).One(callUnderWay, l.Subscription, l.Scope, from, to, first, last, engine.Micros(s.engine.Now()), index.GroupDeleting)(&underWay)
	return underWay, err
}
