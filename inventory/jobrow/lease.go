package jobrow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
)

const (
	takeLease = `INSERT INTO leases (subscription, key, token, until) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, key) DO UPDATE SET token = excluded.token, until = excluded.until WHERE leases.until <= ?`
	holdsLease = `SELECT EXISTS (SELECT 1 FROM leases WHERE subscription = ? AND key = ? AND token = ?)`
	endLease   = `DELETE FROM leases WHERE subscription = ? AND key = ? AND token = ?`
	// Leases last seconds, so there are never many, and they need no index by time. Leases
	// of replicas, which belong to no subscription, are kept longer.
	expiredLeases = `SELECT subscription, key FROM leases WHERE until <= ? AND subscription > '' ORDER BY subscription, key LIMIT ?`
	forgetLease   = `DELETE FROM leases WHERE subscription = ? AND key = ? AND until <= ?`
)

// AdvisoryLease is the right to change a resource at its provider while no other lease
// holder does.
type AdvisoryLease struct {
	subscription, key string
	token             [16]byte
}

// AcquireAdvisoryLease acquires the lease for a resource, for at most hold, unless another
// caller has it. It protects read-modify-write changes, because one of two concurrent ones
// would be lost.
func (r *Jobs) AcquireAdvisoryLease(ctx context.Context, sub, key string, hold time.Duration) (lease AdvisoryLease, taken bool, err error) {
	lease = AdvisoryLease{arm.Fold(sub), arm.Fold(key), engine.NewID()}
	holds, err := engine.Commit(ctx, r.engine, engine.Unflushed, ownLocks(lease.subscription), func(u engine.Unit) (*bool, error) {
		t, holds := u.Base(), new(bool) // set by the end of the transaction
		err := t.Later(takeLease, lease.subscription, lease.key, lease.token[:], engine.Micros(t.Now.Add(hold)), engine.Micros(t.Now))
		if err == nil {
			err = t.LookUpLater(engine.LookupOf(holdsLease, func(is bool) { *holds = is }, engine.ScanOne, lease.subscription, lease.key, lease.token[:]))
		}
		return holds, err
	})
	return lease, err == nil && *holds, err
}

// ReleaseAdvisoryLease releases a lease.
func (r *Jobs) ReleaseAdvisoryLease(ctx context.Context, lease AdvisoryLease) error {
	return r.write(ctx, engine.Unflushed, ownLocks(lease.subscription), func(t *engine.Tx) error {
		return t.Later(endLease, lease.subscription, lease.key, lease.token[:])
	})
}

// ForgetAdvisoryLeases deletes at most limit expired leases whose holders died, and all
// replicas that died long ago. It returns how many records it deleted.
func (r *Jobs) ForgetAdvisoryLeases(ctx context.Context, limit int) (int, error) {
	dead, err := r.forgetDeadReplicas(ctx)
	if err != nil {
		return 0, err
	}
	left, err := engine.DeletePassed(ctx, r.engine, expiredLeases, forgetLease, r.engine.Now(), limit)
	return dead + left, err
}

// A live replica keeps renewing a lease on its own name. These leases belong to no
// subscription.
const (
	noSubscription = ""
	presencePrefix = "replica "
	presenceEnd    = "replica!" // the first text after all that begin with the prefix

	renewPresence = `INSERT INTO leases (subscription, key, token, until) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, key) DO UPDATE SET until = excluded.until`
	countPresent   = `SELECT COUNT(*) FROM leases WHERE subscription = ? AND key > ? AND key < ? AND until > ?`
	listDead       = `SELECT key, until FROM leases WHERE subscription = ? AND key > ? AND key < ? AND until <= ? ORDER BY key LIMIT ?`
	deleteDead     = `DELETE FROM leases WHERE subscription = ? AND key > ? AND key < ? AND until <= ?`
	deletePresence = `DELETE FROM leases WHERE subscription = ? AND key = ?`
)

// Present records for the time hold that the named replica is alive, and returns how many
// are, including this one. With SQLite there is only one, and nothing is stored.
func (r *Jobs) Present(ctx context.Context, name string, hold time.Duration) (replicas int, err error) {
	if !r.shared {
		return 1, nil
	}
	return engine.Commit(ctx, r.engine, engine.Unflushed, ownLocks(noSubscription), func(u engine.Unit) (n int, err error) {
		t := u.Base()
		token := engine.NewID()
		if err := t.Later(renewPresence, noSubscription, presencePrefix+name, token[:], engine.Micros(t.Now.Add(hold))); err != nil {
			return 0, fmt.Errorf("show the presence of a replica: %w", err)
		}
		return Replicas(t)
	})
}

// Replicas returns the number of live replicas.
func Replicas(t *engine.Tx) (n int, err error) {
	err = t.One(countPresent, noSubscription, presencePrefix, presenceEnd, engine.Micros(t.Now))(&n)
	return n, err
}

// DeadReplica is a replica that ended without leaving.
type DeadReplica struct {
	Name string
	Died time.Time // the end of its last lease
}

// How long dead replicas are remembered, and how many are listed.
const (
	deadRetention = time.Hour
	maxDead       = 100
)

// DeadReplicas lists the replicas that ended within the last hour without leaving.
func (r *Jobs) DeadReplicas(ctx context.Context) ([]DeadReplica, error) {
	now := r.engine.Now()
	dead, err := engine.Collect(r.engine.Read(ctx), func(scan engine.Scanner) (d DeadReplica, err error) {
		var until int64
		err = scan(&d.Name, &until)
		d.Name, d.Died = strings.TrimPrefix(d.Name, presencePrefix), engine.TimeOf(until)
		return d, err
	}, listDead, noSubscription, presencePrefix, presenceEnd, engine.Micros(now), maxDead)
	return slices.DeleteFunc(dead, func(d DeadReplica) bool { return now.Sub(d.Died) > deadRetention }), err
}

// forgetDeadReplicas forgets replicas that died longer ago, and returns how many.
func (r *Jobs) forgetDeadReplicas(ctx context.Context) (int, error) {
	if !r.shared {
		return 0, nil
	}
	return engine.Commit(ctx, r.engine, engine.Unflushed, ownLocks(noSubscription), func(u engine.Unit) (int, error) {
		t := u.Base()
		n, err := t.Exec(deleteDead, noSubscription, presencePrefix, presenceEnd, engine.Micros(t.Now.Add(-deadRetention)))
		return int(n), err
	})
}

// Leave ends the lease of Present.
func (r *Jobs) Leave(ctx context.Context, name string) error {
	if !r.shared {
		return nil
	}
	return r.write(ctx, engine.Unflushed, ownLocks(noSubscription), func(t *engine.Tx) error {
		return t.Later(deletePresence, noSubscription, presencePrefix+name)
	})
}
