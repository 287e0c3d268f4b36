package inventory

import (
	"context"
	"slices"
	"strings"
	"time"

	"portico/inventory/engine"
)

// Replicas show that they are alive by leases on their own names, which they renew. These
// belong to no subscription.
const (
	noSubscription = ""
	presencePrefix = "replica "
	presenceEnd    = "replica!" // the first text after all that begin with the prefix

	showPresence = `INSERT INTO turns (subscription, key, token, until) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, key) DO UPDATE SET until = excluded.until`
	countPresent = `SELECT COUNT(*) FROM turns WHERE subscription = ? AND key > ? AND key < ? AND until > ?`
	listDead     = `SELECT key, until FROM turns WHERE subscription = ? AND key > ? AND key < ? AND until <= ? ORDER BY key LIMIT ?`
	forgetDead   = `DELETE FROM turns WHERE subscription = ? AND key > ? AND key < ? AND until <= ?`
	endPresence  = `DELETE FROM turns WHERE subscription = ? AND key = ?`
)

// Present shows other replicas for a time that the one of this name is alive, and returns
// how many are, itself included. SQLite has one alone, and is not asked.
func (s *Store) Present(ctx context.Context, name string, hold time.Duration) (replicas int, err error) {
	if s.options.Driver != engine.Postgres {
		return 1, nil
	}
	return commit(ctx, s, engine.Unflushed, recordLocks(noSubscription), func(t *tx) (n int, err error) {
		token := engine.NewID()
		if err := t.Later(showPresence, noSubscription, presencePrefix+name, token[:], engine.Micros(t.Now.Add(hold))); err != nil {
			return 0, err
		}
		err = t.One(countPresent, noSubscription, presencePrefix, presenceEnd, engine.Micros(t.Now))(&n)
		return n, err
	})
}

// DeadReplica is a replica that ended without leaving.
type DeadReplica struct {
	Name string
	Died time.Time // it showed nothing since then, or shortly before
}

// Those that ended without leaving are remembered for a while, and so many are listed.
const (
	deadFor  = time.Hour
	mostDead = 100
)

// DeadReplicas lists the replicas that ended within the last hour without leaving.
func (s *Store) DeadReplicas(ctx context.Context) ([]DeadReplica, error) {
	now := s.engine.Now()
	dead, err := engine.Collect(s.read(ctx), func(scan engine.Scanner) (d DeadReplica, err error) {
		var until int64
		err = scan(&d.Name, &until)
		d.Name, d.Died = strings.TrimPrefix(d.Name, presencePrefix), engine.Moment(until)
		return d, err
	}, listDead, noSubscription, presencePrefix, presenceEnd, engine.Micros(now), mostDead)
	return slices.DeleteFunc(dead, func(d DeadReplica) bool { return now.Sub(d.Died) > deadFor }), err
}

// forgetDeadReplicas forgets those that ended longer ago, and returns how many.
func (s *Store) forgetDeadReplicas(ctx context.Context) (int, error) {
	if s.options.Driver != engine.Postgres {
		return 0, nil
	}
	return commit(ctx, s, engine.Unflushed, recordLocks(noSubscription), func(t *tx) (int, error) {
		n, err := t.Exec(forgetDead, noSubscription, presencePrefix, presenceEnd, engine.Micros(t.Now.Add(-deadFor)))
		return int(n), err
	})
}

// Leave ends what Present showed.
func (s *Store) Leave(ctx context.Context, name string) error {
	if s.options.Driver != engine.Postgres {
		return nil
	}
	return s.write(ctx, engine.Unflushed, recordLocks(noSubscription), func(t *tx) error {
		return t.Later(endPresence, noSubscription, presencePrefix+name)
	})
}
