package transaction

import (
	"context"
	"slices"
	"time"

	"portico/inventory/engine"
	"portico/inventory/scopes"
)

const (
	putScopeChange = `INSERT INTO scope_changes (subscription, generation, changed) VALUES (?, ?, ?)
		ON CONFLICT (subscription) DO UPDATE SET generation = excluded.generation, changed = excluded.changed`
	recentScopeChanges = `SELECT subscription, generation FROM scope_changes WHERE changed >= ?`
)

// ChangesScope says that the transaction changes the subscription, one of its groups
// or registrations, or whatever else is remembered of it: all replicas forget that once
// this commits. sub is folded.
func (t *Tx) ChangesScope(sub string) {
	if !slices.Contains(t.changed, sub) {
		t.changed = append(t.changed, sub)
	}
}

// ChangedScopes are those of which the transaction has said so.
func (t *Tx) ChangedScopes() []string { return t.changed }

// RecordScopeChanges tells other replicas. It runs at the end of the transaction, in
// the order of the subscriptions: whoever holds one of these rows waits for no other
// row, but for those of roles.
func (t *Tx) RecordScopeChanges() error {
	slices.Sort(t.changed)
	for _, sub := range t.changed {
		if err := t.putScopeChange(sub); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) putScopeChange(sub string) error {
	generation := engine.NewID()
	return t.Later(putScopeChange, sub, generation[:], engine.Micros(t.Now))
}

// LockScopeChange is [Tx.ChangesScope] that locks the scope's row in the change sequence
// at once: one transaction at a time changes what this locks.
func (t *Tx) LockScopeChange(sub string) error {
	t.ChangesScope(sub)
	return t.putScopeChange(sub)
}

// ScopeChanges returns the changes of scopes that are no older than that.
func (d *Database) ScopeChanges(ctx context.Context, ago time.Duration) (changes []scopes.Change, err error) {
	since := engine.Micros(d.Now().Add(-ago))
	err = d.Ask(ctx, func(scan engine.Scanner) error {
		var c scopes.Change
		var generation []byte
		err := scan(&c.Subscription, &generation)
		copy(c.Generation[:], generation)
		changes = append(changes, c)
		return err
	}, recentScopeChanges, since)
	return changes, err
}
