package inventory

import (
	"context"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// Stray is a resource that was seen in another region than the index has for its ID. It is
// reported and counts as a member of its group; no request is ever routed to it.
type Stray struct {
	Subscription, Region, Key string
	ID                        string // in the provider's casing
	Group                     string // folded
	Type                      string // folded full type
	Seen                      time.Time
}

const (
	strayColumns = `subscription, region, key, id, resource_group, type, seen`

	putStray = `INSERT INTO strays (` + strayColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, region, key) DO UPDATE SET id = excluded.id, seen = excluded.seen`
	listStrays      = `SELECT ` + strayColumns + ` FROM strays WHERE subscription = ? ORDER BY region, key`
	listGroupStrays = `SELECT ` + strayColumns + ` FROM strays WHERE subscription = ? AND resource_group = ? ORDER BY region, key`
	deleteStray     = `DELETE FROM strays WHERE subscription = ? AND region = ? AND key = ?`
	forgetStray     = deleteStray + ` AND seen = ?`
	forgetStrays    = `DELETE FROM strays WHERE subscription = ? AND region = ? AND type = ? AND seen < ?`
	listAllStrays   = `SELECT ` + strayColumns + ` FROM strays WHERE (subscription, region, key) > (?, ?, ?) ORDER BY subscription, region, key LIMIT ?`
	countStrays     = `SELECT COUNT(*) FROM strays`
)

func scanStray(scan engine.Scanner) (Stray, error) {
	var (
		s    Stray
		seen int64
	)
	err := scan(&s.Subscription, &s.Region, &s.Key, &s.ID, &s.Group, &s.Type, &seen)
	s.Seen = engine.TimeOf(seen)
	return s, err
}

// Strays has the methods for strays.
type Strays struct{ store *Store }

// List lists the strays of a group or, if group is empty, of the subscription, by region
// and key.
func (s *Strays) List(ctx context.Context, sub, group string) ([]Stray, error) {
	if group == "" {
		return engine.Collect(s.store.engine.Read(ctx), scanStray, listStrays, arm.Fold(sub))
	}
	return engine.Collect(s.store.engine.Read(ctx), scanStray, listGroupStrays, arm.Fold(sub), arm.Fold(group))
}

// All lists at most limit strays of all subscriptions that follow after; the zero
// Stray precedes all.
func (s *Strays) All(ctx context.Context, after Stray, limit int) ([]Stray, error) {
	return engine.Collect(s.store.engine.Read(ctx), scanStray, listAllStrays, after.Subscription, after.Region, after.Key, engine.LimitArg(limit))
}

// ForgetUnseen deletes the strays of a type in a region that were last seen before a
// time, because a complete list that began then did not show them. It returns how many it
// deleted. It keeps a stray that was seen within the clocks' slack before that time.
func (s *Strays) ForgetUnseen(ctx context.Context, sub, typ, region string, before time.Time) (int, error) {
	before = before.Add(-s.store.engine.ClockSlack())
	return commit(ctx, s.store, engine.Flushed, transaction.RecordLocks(sub), func(t *tx) (int, error) {
		n, err := t.Exec(forgetStrays, arm.Fold(sub), region, arm.Fold(typ), engine.Micros(before))
		return int(n), err
	})
}

// Count counts the strays of all subscriptions.
func (s *Strays) Count(ctx context.Context) (n int, err error) {
	err = s.store.engine.Read(ctx).One(countStrays)(&n)
	return n, err
}

// ForgetGone deletes a stray that its region no longer holds, unless it was seen there
// again since it was read. It reports whether it deleted the stray.
func (s *Strays) ForgetGone(ctx context.Context, stray Stray) (bool, error) {
	return commit(ctx, s.store, engine.Flushed, transaction.RecordLocks(stray.Subscription), func(t *tx) (bool, error) {
		n, err := t.Exec(forgetStray, stray.Subscription, stray.Region, stray.Key, engine.Micros(stray.Seen))
		return n == 1, err
	})
}

// strayMark is the prefix of the keys of strays' intents. A stray has no row that an
// answer could change, and answers from its region must not change the row of its ID. So
// the intent of its DELETE has a key of its own, which has neither a row nor another
// write. No resource's key has that prefix, because keys begin with a slash.
const strayMark = "stray:"

// MemberKey returns the key that identifies a stray among the keys of rows.
func (s Stray) MemberKey() string { return strayMark + s.Region + s.Key }

// Row returns the fields of a row that a call to the stray needs.
func (s Stray) Row() Resource {
	return Resource{
		Subscription: s.Subscription, Key: s.Key, ID: s.ID, Group: s.Group, Type: s.Type, TypeName: s.Type, Region: s.Region,
	}
}

// IsStrayKey reports whether a key is a stray's MemberKey, and not a row's key.
func IsStrayKey(key string) bool { return strings.HasPrefix(key, strayMark) }

// BeginDelete records the intent to delete a stray in the region where it was seen, for the
// deletion of its group; it sets the write's Key and Region. It returns the errors of
// [Store.Begin], and ErrChanged if the stray is gone or was seen again since it was read.
func (s *Strays) BeginDelete(ctx context.Context, stray Stray, w Write) (Ticket, error) {
	w.Kind, w.OfGroupDelete = index.Delete, true
	w.Subscription, w.Group, w.Type, w.Region = stray.Subscription, stray.Group, stray.Type, stray.Region
	w.ID, w.Key = stray.ID, stray.MemberKey()
	if w.LateWriteWindow <= 0 {
		w.LateWriteWindow = s.store.options.LateWriteWindow
	}
	return commit(ctx, s.store, engine.Flushed, writeLocks(w.Subscription, w.Group, "", "", w.Key), func(t *tx) (Ticket, error) {
		incarnation, err := w.admitToScope(t)
		if err != nil {
			return Ticket{}, err
		}
		h, err := lockResource(t, w.Subscription, w.Key)
		if err != nil {
			return Ticket{}, err
		}
		n, err := t.Exec(lockStray, stray.Subscription, stray.Region, stray.Key, engine.Micros(stray.Seen))
		switch {
		case err != nil:
			return Ticket{}, err
		case n == 0:
			return Ticket{}, ErrChanged
		}
		if err := t.Later(insertWrittenRegion, w.Subscription, w.Group, incarnation[:], w.Type, w.Region); err != nil {
			return Ticket{}, err
		}
		return t.recordIntent(h, w, beginning{intent: engine.NewID()}) // no row has its key
	})
}

// lockStray locks a stray's row.
const lockStray = `UPDATE strays SET seen = seen WHERE subscription = ? AND region = ? AND key = ? AND seen = ?`

// SettleDelete records the outcome of a stray's DELETE. If the stray is gone, it removes
// the stray and the intent in one transaction.
func (s *Strays) SettleDelete(ctx context.Context, stray Stray, ticket Ticket, a WriteResult) error {
	return s.store.write(ctx, engine.Unflushed, resourceLocks(ticket.Subscription, ticket.Key), func(t *tx) error {
		h, err := lockResource(t, arm.Fold(ticket.Subscription), ticket.Key)
		if err != nil {
			return err
		}
		after, did := h.settle(t, index.Answered{ID: ticket.Intent, Outcome: a.Outcome, Status: a.Status})
		did.Tombstone = false // the resource of that ID may exist in its own region
		if err := h.store(t, after, did); err != nil {
			return err
		}
		if a.Outcome == index.Gone {
			_, err = t.Exec(forgetStray, stray.Subscription, stray.Region, stray.Key, engine.Micros(stray.Seen))
		}
		return err
	})
}

// ForgetSworn deletes a stray that does not exist, as an operator knows. A sweep that
// sees it reports it again. The error is ErrNotFound if there is no such stray, and
// *ObstacleError while a call for it may be running.
func (s *Strays) ForgetSworn(ctx context.Context, stray Stray) error {
	stray.Subscription, stray.Key = arm.Fold(stray.Subscription), arm.Fold(stray.Key)
	return s.store.write(ctx, engine.Flushed, resourceLocks(stray.Subscription, stray.MemberKey()), func(t *tx) error {
		h, err := lockResource(t, stray.Subscription, stray.MemberKey())
		if err != nil {
			return err
		}
		if refusal := openObstacle(h.open, engine.Micros(t.Now), func(index.Intent) bool { return false }); refusal != nil {
			return refusal
		}
		n, err := t.Exec(deleteStray, stray.Subscription, stray.Region, stray.Key)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
}
