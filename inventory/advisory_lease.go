package inventory

import (
	"context"
	"time"

	"portico/arm"
	"portico/inventory/engine"
)

const (
	takeLease = `INSERT INTO turns (subscription, key, token, until) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, key) DO NOTHING`
	takeOverLease = `UPDATE turns SET token = ?, until = ? WHERE subscription = ? AND key = ? AND until <= ?`
	endLease      = `DELETE FROM turns WHERE subscription = ? AND key = ? AND token = ?`
	// Leases last seconds, so there are never many: they need no index by time.
	leftLeases  = `SELECT subscription, key FROM turns WHERE until <= ? ORDER BY subscription, key LIMIT ?`
	forgetLease = `DELETE FROM turns WHERE subscription = ? AND key = ? AND until <= ?`
)

// AdvisoryLease is the right to change something of a resource at its provider while
// no other holder of a lease does.
type AdvisoryLease struct {
	subscription, key string
	token             [16]byte
}

// AcquireAdvisoryLease acquires the lease for a resource, for hold at most, unless
// somebody holds it. It protects read-modify-write changes: two at once would lose
// one.
func (s *Store) AcquireAdvisoryLease(ctx context.Context, sub, key string, hold time.Duration) (lease AdvisoryLease, taken bool, err error) {
	lease = AdvisoryLease{arm.Fold(sub), arm.Fold(key), engine.NewID()}
	taken, err = commit(ctx, s, engine.Unflushed, recordLocks(sub), func(t *tx) (bool, error) {
		until := engine.Micros(t.Now.Add(hold))
		n, err := t.Exec(takeLease, lease.subscription, lease.key, lease.token[:], until)
		if err == nil && n == 0 {
			n, err = t.Exec(takeOverLease, lease.token[:], until, lease.subscription, lease.key, engine.Micros(t.Now))
		}
		return n == 1, err
	})
	return lease, taken, err
}

// ReleaseAdvisoryLease gives a lease back.
func (s *Store) ReleaseAdvisoryLease(ctx context.Context, lease AdvisoryLease) error {
	return s.write(ctx, engine.Unflushed, recordLocks(lease.subscription), func(t *tx) error {
		return t.Later(endLease, lease.subscription, lease.key, lease.token[:])
	})
}

// ForgetAdvisoryLeases deletes at most limit expired leases whose holders died, and
// returns how many it deleted.
func (s *Store) ForgetAdvisoryLeases(ctx context.Context, limit int) (int, error) {
	return s.deletePassed(ctx, leftLeases, forgetLease, s.engine.Now(), limit)
}
