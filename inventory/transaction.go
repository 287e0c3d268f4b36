package inventory

import (
	"context"

	"portico/inventory/assignments"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/memory"
	"portico/inventory/transaction"
)

// tx is a writing transaction, with the work for its end.
type tx struct {
	transaction.Tx
	store  *Store
	locked *lockedState
	// written has the resources whose cached locations are out of date after the commit.
	written []memory.Key
	// unassigned has the removed scopes, whose role assignments the transaction removes at
	// its end.
	unassigned assignments.Removals
}

func (s *Store) newTx(started *engine.Tx) engine.Unit {
	t := &tx{store: s, locked: newLockedState()}
	t.Tx = s.database.Begin(started, t)
	return t
}

// Forget implements [engine.Unit].
func (t *tx) Forget() { t.locked.forget() }

// Complete implements [engine.Unit].
func (t *tx) Complete() error {
	if err := t.SettleUsage(); err != nil {
		return err
	}
	if err := t.RecordScopeChanges(); err != nil {
		return err
	}
	if err := t.unassigned.Complete(&t.Tx); err != nil {
		return err
	}
	return t.WriteOutbox() // after all locks
}

// Ended implements [engine.Unit].
func (t *tx) Ended() {
	t.store.Locations.Forget(t.written)
	for _, sub := range t.ChangedScopes() {
		t.store.Scopes.changes.Forget(sub)
	}
}

// dropLocation drops a resource's location from the cache after the commit.
func (t *tx) dropLocation(key string) {
	t.written = append(t.written, t.store.Locations.KeyOf(key))
}

// write runs a write and waits for its commit; see [engine.Engine.Do].
func (s *Store) write(ctx context.Context, d engine.Durability, locks engine.LockSet, run func(*tx) error) error {
	return s.engine.Do(ctx, &engine.Write{
		Locks: locks, Durability: d,
		Run: func(u engine.Unit) error { return run(u.(*tx)) },
	})
}

// writeForJob runs a write that saves payload in job j unless payload is empty. It gives
// run a copy of the job, because run may outlive this call; j gets the payload only after
// the commit.
func (s *Store) writeForJob(
	ctx context.Context, d engine.Durability, locks engine.LockSet, j *jobrow.Job, payload string, run func(t *tx, held jobrow.Job) error,
) error {
	held := *j
	err := s.write(ctx, d, locks, func(t *tx) error { return run(t, held) })
	if err == nil && payload != "" {
		j.Payload = payload
	}
	return err
}

// commit runs a write that returns a result.
func commit[T any](ctx context.Context, s *Store, d engine.Durability, locks engine.LockSet, run func(*tx) (T, error)) (T, error) {
	return engine.Commit(ctx, s.engine, d, locks, run)
}
