package inventory

import (
	"context"
	"errors"
	"math"
	"time"
)

// ErrUnderway says that writes which a lock forbids began before it and may
// still be on their way.
var ErrUnderway = errors.New("inventory: writes that the lock forbids are still on their way")

const (
	// The deletion of a group was accepted as a whole, and goes on.
	countForbidden = `SELECT COUNT(*) FROM intents
		WHERE subscription = ? AND (key = ? OR key >= ? AND key < ?) AND kind >= ? AND kind <= ? AND ends > ?
			AND NOT EXISTS (SELECT 1 FROM resource_groups
				WHERE resource_groups.subscription = intents.subscription AND resource_groups.key = intents.grp AND state = ?)`
)

// outlastPause is how often a lock looks whether it has outlasted what was
// before it.
const outlastPause = 20 * time.Millisecond

// Outlast waits until no write that a stored lock forbids is on its way any
// more, and no move that has calls to make yet: once it has returned nil, nothing
// that the lock stands on, or that lies below, changes against it. group is the
// lock's, "" for one on a subscription. It waits no longer than ctx allows, and
// then returns ErrUnderway; the lock stands all the same. What takes no intent, and
// the deletion of a group that was accepted before, it does not wait for.
func (s *Store) Outlast(ctx context.Context, group string, l Lock) error {
	err := s.outlastAdmission(ctx, group, l)
	for err == nil {
		var n int
		if n, err = s.forbiddenBy(ctx, l); err != nil || n == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ErrUnderway
		case <-time.After(outlastPause):
		}
	}
	if err != nil && ctx.Err() != nil {
		return ErrUnderway
	}
	return err
}

// outlastAdmission waits for whoever holds a row of the groups that a lock
// concerns: a write that was admitted without seeing the lock does so until its
// intent can be seen, and whoever gets the row after that reads the locks anew.
func (s *Store) outlastAdmission(ctx context.Context, group string, l Lock) error {
	if group == "" {
		return s.writer.do(ctx, unflushed, aboutFence(l.Subscription), func(t *tx) error {
			_, err := collect(t, scanText, lockGroups, l.Subscription)
			return err
		})
	}
	return s.writer.do(ctx, unflushed, aboutGroup(l.Subscription, group), func(t *tx) error {
		_, err := t.group(l.Subscription, group)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
}

func (s *Store) forbiddenBy(ctx context.Context, l Lock) (n int, err error) {
	first, last := Delete, Delete
	if l.Level == LockReadOnly {
		first, last = 0, math.MaxUint8
		// No lock can be set in a group that is Moving, but above it.
		if l.Scope == subscriptionScope(l.Subscription) {
			if err := s.read(ctx).one(countMoving, l.Subscription, GroupMoving)(&n); err != nil || n > 0 {
				return n, err
			}
		}
	}
	from, to := below(l.Scope)
	err = s.read(ctx).one(countForbidden, l.Subscription, l.Scope, from, to, first, last, micros(s.dialect.now()), GroupDeleting)(&n)
	return n, err
}
