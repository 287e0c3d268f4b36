package jobrow

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
func (r *Rows) AcquireAdvisoryLease(ctx context.Context, sub, key string, hold time.Duration) (lease AdvisoryLease, taken bool, err error) {
	lease = AdvisoryLease{arm.Fold(sub), arm.Fold(key), engine.NewID()}
	holds, err := engine.Commit(ctx, r.engine, engine.Unflushed, records(lease.subscription), func(u engine.Unit) (*bool, error) {
		t, holds := u.Base(), new(bool) // known when the transaction is over
		err := t.Later(takeLease, lease.subscription, lease.key, lease.token[:], engine.Micros(t.Now.Add(hold)), engine.Micros(t.Now))
		if err == nil {
			err = t.LookUpLater(engine.LookupOf(holdsLease, func(is bool) { *holds = is }, engine.ScanOne, lease.subscription, lease.key, lease.token[:]))
		}
		return holds, err
	})
	return lease, err == nil && *holds, err
}

// ReleaseAdvisoryLease gives a lease back.
func (r *Rows) ReleaseAdvisoryLease(ctx context.Context, lease AdvisoryLease) error {
	return r.write(ctx, engine.Unflushed, records(lease.subscription), func(t *engine.Tx) error {
		return t.Later(endLease, lease.subscription, lease.key, lease.token[:])
	})
}

// ForgetAdvisoryLeases deletes at most limit expired leases whose holders died, and
// returns how many it deleted. It also forgets the replicas that died long ago.
func (r *Rows) ForgetAdvisoryLeases(ctx context.Context, limit int) (int, error) {
	dead, err := r.forgetDeadReplicas(ctx)
	if err != nil {
		return 0, err
	}
	left, err := engine.DeletePassed(ctx, r.engine, leftLeases, forgetLease, r.engine.Now(), limit)
	return dead + left, err
}
