package inventory

import (
	"context"
	"time"

	"portico/arm"
	"portico/inventory/engine"
)

const (
	takeLease = `INSERT INTO turns (subscription, key, token, until) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, key) DO UPDATE SET token = excluded.token, until = excluded.until WHERE turns.until <= ?`
	holdsLease = `SELECT EXISTS (SELECT 1 FROM turns WHERE subscription = ? AND key = ? AND token = ?)`
	endLease   = `DELETE FROM turns WHERE subscription = ? AND key = ? AND token = ?`
	// Leases last seconds, so there are never many: they need no index by time. Those of
	// replicas, which belong to no subscription, are kept longer.
	leftLeases  = `SELECT subscription, key FROM turns WHERE until <= ? AND subscription > '' ORDER BY subscription, key LIMIT ?`
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
	holds, err := commit(ctx, s, engine.Unflushed, recordLocks(sub), func(t *tx) (*bool, error) {
		holds := new(bool) // known when the transaction is over
		err := t.Later(takeLease, lease.subscription, lease.key, lease.token[:], engine.Micros(t.Now.Add(hold)), engine.Micros(t.Now))
		if err == nil {
			err = t.LookUpLater(rowOf(holdsLease, func(is bool) { *holds = is }, scanFlag, lease.subscription, lease.key, lease.token[:]))
		}
		return holds, err
	})
	return lease, err == nil && *holds, err
}

// ReleaseAdvisoryLease gives a lease back.
func (s *Store) ReleaseAdvisoryLease(ctx context.Context, lease AdvisoryLease) error {
	return s.write(ctx, engine.Unflushed, recordLocks(lease.subscription), func(t *tx) error {
		return t.Later(endLease, lease.subscription, lease.key, lease.token[:])
	})
}

// ForgetAdvisoryLeases deletes at most limit expired leases whose holders died, and
// returns how many it deleted. It also forgets the replicas that died long ago.
func (s *Store) ForgetAdvisoryLeases(ctx context.Context, limit int) (int, error) {
	dead, err := s.forgetDeadReplicas(ctx)
	if err != nil {
		return 0, err
	}
	left, err := s.deletePassed(ctx, leftLeases, forgetLease, s.engine.Now(), limit)
	return dead + left, err
}
