package inventory

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

// changesScope says that the transaction changes the subscription, one of its groups
// or registrations, or whatever else [Scopes] hold of it: they forget it, here and in
// all replicas, once this commits. sub is folded.
func (t *tx) changesScope(sub string) {
	if !slices.Contains(t.scopes, sub) {
		t.scopes = append(t.scopes, sub)
	}
}

// recordScopeChanges tells other replicas. It runs at the end of the transaction, in
// the order of the subscriptions: whoever holds one of these rows waits for no other
// row, but for those of roles.
func (t *tx) recordScopeChanges() error {
	slices.Sort(t.scopes)
	for _, sub := range t.scopes {
		if err := t.putScopeChange(sub); err != nil {
			return err
		}
	}
	return t.recordDrops()
}

func (t *tx) putScopeChange(sub string) error {
	generation := engine.NewID()
	return t.Later(putScopeChange, sub, generation[:], engine.Micros(t.Now))
}

// scopeChanges returns the changes of scopes that are no older than that.
func (s *Store) scopeChanges(ctx context.Context, ago time.Duration) (changes []scopes.Change, err error) {
	since := engine.Micros(s.engine.Now().Add(-ago))
	err = s.engine.Ask(ctx, func(scan engine.Scanner) error {
		var c scopes.Change
		var generation []byte
		err := scan(&c.Subscription, &generation)
		copy(c.Generation[:], generation)
		changes = append(changes, c)
		return err
	}, recentScopeChanges, since)
	return changes, err
}
