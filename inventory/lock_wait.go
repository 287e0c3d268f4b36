package inventory

import (
	"context"
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
	var underWay bool
	for underWay, err = l.conflictAmongAdmitted(ctx, s, group); err == nil; underWay, err = l.conflictUnderWay(ctx, s) {
		if !underWay {
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

// conflictAmongAdmitted waits for the row locks of the groups that a lock concerns, and
// reports then whether a call is under way that the lock forbids: a write that was
// admitted without seeing the lock holds a row until its intent is visible, and later
// writes read the locks anew.
func (l Lock) conflictAmongAdmitted(ctx context.Context, s *Store, group string) (underWay bool, err error) {
	found, err := commit(ctx, s, engine.Unflushed, admissionLocks(l.Subscription, group), func(t *tx) (*bool, error) {
		found := new(bool) // known when the transaction is over
		return found, t.LookUpLater(l.conflicts(t.Now, found)...)
	})
	return err == nil && *found, err
}

// conflictUnderWay reports whether a call, or a move, that a lock forbids is under way.
func (l Lock) conflictUnderWay(ctx context.Context, s *Store) (underWay bool, err error) {
	err = s.engine.LookUp(ctx, l.conflicts(s.engine.Now(), &underWay)...)
	return underWay, err
}

// conflicts asks whether a call, or a move, that the lock forbids is under way.
func (l Lock) conflicts(now time.Time, found *bool) []engine.Lookup {
	first, last := index.Delete, index.Delete
	var queries []engine.Lookup
	if l.Level == LockReadOnly {
		first, last = 0, math.MaxUint8
		// No lock can be set in a group that is Moving, but above it.
		if l.Scope == subscriptionScope(l.Subscription) {
			queries = append(queries, engine.LookupOf(countMoving, func(moving int) { *found = *found || moving > 0 }, engine.ScanOne, l.Subscription, index.GroupMoving))
		}
	}
	from, to := engine.Below(l.Scope)
	return append(queries, engine.LookupOf(callUnderWay, func(underWay bool) { *found = *found || underWay }, engine.ScanOne,
		l.Subscription, l.Scope, from, to, first, last, engine.Micros(now), index.GroupDeleting))
}
