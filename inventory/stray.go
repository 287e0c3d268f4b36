package inventory

import (
	"context"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// Stray is a resource that was seen in a region other than the one where the index
// has its ID. It is reported and counts as a member of its group; nothing is ever
// routed to it.
type Stray struct {
	Subscription, Region, Key string
	ID                        string // as the provider spells it
	Group                     string // folded
	Type                      string // folded full type
	Seen                      time.Time
}

const (
	strayColumns = `subscription, region, key, id, grp, type, seen`

	putStray = `INSERT INTO strays (` + strayColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, region, key) DO UPDATE SET id = excluded.id, seen = excluded.seen`
	listStrays      = `SELECT ` + strayColumns + ` FROM strays WHERE subscription = ? ORDER BY region, key`
	listGroupStrays = `SELECT ` + strayColumns + ` FROM strays WHERE subscription = ? AND grp = ? ORDER BY region, key`
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
	s.Seen = engine.Moment(seen)
	return s, err
}

// Strays lists the strays of a group or, when group is empty, of the whole
// subscription, by region and key.
func (s *Store) Strays(ctx context.Context, sub, group string) ([]Stray, error) {
	if group == "" {
		return engine.Collect(s.engine.Read(ctx), scanStray, listStrays, arm.Fold(sub))
	}
	return engine.Collect(s.engine.Read(ctx), scanStray, listGroupStrays, arm.Fold(sub), arm.Fold(group))
}

// AllStrays lists at most limit strays of all subscriptions that follow after; the zero
// Stray precedes all.
func (s *Store) AllStrays(ctx context.Context, after Stray, limit int) ([]Stray, error) {
	return engine.Collect(s.engine.Read(ctx), scanStray, listAllStrays, after.Subscription, after.Region, after.Key, engine.AtMost(limit))
}

// ForgetStrays deletes the strays of a type in a region that were last seen before a
// time: a complete list that began then did not show them. It returns how many.
// Within the differences of clocks, a stray counts as seen since.
func (s *Store) ForgetStrays(ctx context.Context, sub, typ, region string, before time.Time) (int, error) {
	before = before.Add(-s.engine.ClockSlack())
	return commit(ctx, s, engine.Flushed, transaction.RecordLocks(sub), func(t *tx) (int, error) {
		n, err := t.Exec(forgetStrays, arm.Fold(sub), region, arm.Fold(typ), engine.Micros(before))
		return int(n), err
	})
}

// CountStrays counts the strays of all subscriptions.
func (s *Store) CountStrays(ctx context.Context) (n int, err error) {
	err = s.engine.Read(ctx).One(countStrays)(&n)
	return n, err
}

// ForgetStray deletes a stray that its region does not hold any more, if nothing saw
// it there again since it was read, and reports whether it did.
func (s *Store) ForgetStray(ctx context.Context, stray Stray) (bool, error) {
	return commit(ctx, s, engine.Flushed, transaction.RecordLocks(stray.Subscription), func(t *tx) (bool, error) {
		n, err := t.Exec(forgetStray, stray.Subscription, stray.Region, stray.Key, engine.Micros(stray.Seen))
		return n == 1, err
	})
}
