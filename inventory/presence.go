package inventory

import (
	"context"
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

// Leave ends what Present showed.
func (s *Store) Leave(ctx context.Context, name string) error {
	if s.options.Driver != engine.Postgres {
		return nil
	}
	return s.write(ctx, engine.Unflushed, recordLocks(noSubscription), func(t *tx) error {
		return t.Later(endPresence, noSubscription, presencePrefix+name)
	})
}
