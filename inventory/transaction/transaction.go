// Package transaction holds what writes to all tables share: a writing transaction records
// the events of its changes, counts the usage that quotas bound, and makes all replicas
// forget the scopes that it changed. It does all that at its end, behind every other lock:
// many transactions change the same rows there, and should hold them as briefly as
// possible.
//
// The packages of single tables write by a [Database]. The inventory itself, which owns
// the unit of the engine, locks the subscription or group that holds their records: see
// [Scopes].
package transaction

import (
	"context"
	"slices"
	"time"

	"portico/arm"
	"portico/inventory/encryption"
	"portico/inventory/engine"
	"portico/inventory/memory"
)

// Database is an open database with the cipher for its contents.
type Database struct {
	*engine.Engine
	Cipher *encryption.Cipher
}

// Tx is a writing transaction, with the records that it writes at its end.
type Tx struct {
	*engine.Tx
	// Scopes lock the holders of the records that the transaction changes.
	Scopes   Scopes
	database *Database
	tally    tally
	changed  []string // scopes that are out of date in all memories once this commits
	outbox   outbox
}

// Scopes lock subscriptions, groups and resources for a transaction. Names are folded.
type Scopes interface {
	// OpenSubscription locks a subscription of a tenant, "" for any, that admits a write.
	OpenSubscription(sub, tenant string, deletes bool) error
	// OpenGroup locks a group before a record is added that is removed with the group.
	OpenGroup(sub, group string, deletes bool) error
	// HoldResource locks a resource before a record is added that is removed with it.
	// It returns engine.ErrNotFound if there is no such resource.
	HoldResource(sub, key string) error
}

// Begin returns the records of a transaction that the engine has begun.
func (d *Database) Begin(t *engine.Tx, scopes Scopes) Tx {
	return Tx{Tx: t, Scopes: scopes, database: d}
}

func (t *Tx) records() *Tx { return t }

// of returns the records of the engine's unit, which embeds them.
func of(u engine.Unit) *Tx { return u.(interface{ records() *Tx }).records() }

// Write runs a write and waits for its commit; see [engine.Engine.Do].
func (d *Database) Write(ctx context.Context, durability engine.Durability, locks engine.LockSet, run func(*Tx) error) error {
	return d.Do(ctx, &engine.Write{
		Locks: locks, Durability: durability,
		Run: func(u engine.Unit) error { return run(of(u)) },
	})
}

// Commit is [Database.Write] of a write that has a result.
func Commit[T any](ctx context.Context, d *Database, durability engine.Durability, locks engine.LockSet, run func(*Tx) (T, error)) (T, error) {
	return engine.Commit(ctx, d.Engine, durability, locks, func(u engine.Unit) (T, error) { return run(of(u)) })
}

// Put is [engine.Put] of a write of a database.
func Put[T any](ctx context.Context, d *Database, locks engine.LockSet, run func(*Tx) (stored T, created bool, err error)) (stored T, created bool, err error) {
	return engine.Put(ctx, d.Engine, locks, func(u engine.Unit) (T, bool, error) { return run(of(u)) })
}

// Edit creates or changes the record that open finds, nil for none. edit gets it and
// returns the wanted one; store completes and stores that.
func Edit[T any](
	ctx context.Context, d *Database, locks engine.LockSet, open func(*Tx) (*T, error),
	edit func(current *T) (*T, error), store func(t *Tx, current *T, wanted T) (T, error),
) (stored T, created bool, err error) {
	return Put(ctx, d, locks, func(t *Tx) (stored T, created bool, err error) {
		current, err := open(t)
		if err != nil {
			return stored, false, err
		}
		wanted, err := edit(current)
		if err != nil {
			return stored, false, err
		}
		stored, err = store(t, current, *wanted)
		return stored, current == nil, err
	})
}

// Remove removes the record that open finds and check accepts. It returns
// engine.ErrNotFound if there is none.
func Remove[T any](
	ctx context.Context, d *Database, locks engine.LockSet,
	open func(*Tx) (*T, error), check func(T) error, remove func(t *Tx, current T) error,
) error {
	return d.Write(ctx, engine.Flushed, locks, func(t *Tx) error {
		current, err := open(t)
		if err == nil && current == nil {
			err = engine.ErrNotFound
		}
		if err == nil {
			err = check(*current)
		}
		if err != nil {
			return err
		}
		return remove(t, *current)
	})
}

// InPieces is [engine.InPieces] for writes of a database.
func InPieces[T any](ctx context.Context, d *Database, all []T, run func(t *Tx, piece []T) (int, error)) (ended int, err error) {
	return engine.InPieces(ctx, d.Engine, all, func(u engine.Unit, piece []T) (int, error) { return run(of(u), piece) })
}

// The kinds of rows in lock sets. Every transaction locks them in this order; if writes
// share a transaction, the parent and resource of one come before those of the next.
const (
	SubscriptionRow uint8 = iota // the subscription's own
	EveryGroup                   // all groups of the subscription, so that no intent is just being recorded
	GroupRow                     // one group, which is read with the state of its subscription
	LockRow                      // a lock on a scope, with how many there are
	RegistrationRow              // of a namespace; read alone
	FenceRow                     // any of the subscription; read alone
	ParentRow                    // the resource above, which is not changed
	ResourceRow                  // a resource and its open intents
)

// RowsOf returns a lock set of a subscription; names of rows are folded.
func RowsOf(sub string, rows ...engine.Row) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), Rows: rows}
}

// GroupLocks are those of a write that locks a group.
func GroupLocks(sub, group string) engine.LockSet {
	locks := RowsOf(sub, engine.Row{Kind: GroupRow, Name: arm.Fold(group)})
	locks.Place[0] = locks.Rows[0].Name
	return locks
}

// NewGroupLocks are those of a write that may create a group: a new one must not slip
// in behind a transaction that has locked all groups.
func NewGroupLocks(sub, group string) engine.LockSet {
	locks := GroupLocks(sub, group)
	locks.Rows = append([]engine.Row{{Kind: SubscriptionRow}}, locks.Rows...)
	return locks
}

// SubscriptionLocks are those of a write that locks the subscription's own row.
func SubscriptionLocks(sub string) engine.LockSet {
	return RowsOf(sub, engine.Row{Kind: SubscriptionRow})
}

// RecordLocks are those of a write that locks neither the subscription nor a group,
// and changes only its own records.
func RecordLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), ChangesOwnOnly: true}
}

const (
	putScopeChange = `INSERT INTO scope_changes (subscription, generation, changed) VALUES (?, ?, ?)
		ON CONFLICT (subscription) DO UPDATE SET generation = excluded.generation, changed = excluded.changed`
	recentScopeChanges = `SELECT subscription, generation FROM scope_changes WHERE changed >= ?`
)

// ChangesScope notes that the transaction changes the subscription, one of its groups
// or registrations, or other remembered records of it: all replicas forget those once
// the transaction commits. sub is folded.
func (t *Tx) ChangesScope(sub string) {
	if !slices.Contains(t.changed, sub) {
		t.changed = append(t.changed, sub)
	}
}

// ChangedScopes returns the scopes passed to ChangesScope.
func (t *Tx) ChangedScopes() []string { return t.changed }

// RecordScopeChanges records the changed scopes for other replicas. It runs at the end
// of the transaction, in the order of the subscriptions: the holder of one of these
// rows waits for no other row, except for those of roles.
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

// LockScopeChange is [Tx.ChangesScope], but locks the scope's row in the change sequence
// at once, so that one transaction at a time makes such changes.
func (t *Tx) LockScopeChange(sub string) error {
	t.ChangesScope(sub)
	return t.putScopeChange(sub)
}

// ScopeChanges returns the changes of scopes that are no older than ago.
func (d *Database) ScopeChanges(ctx context.Context, ago time.Duration) (changes []memory.Change, err error) {
	since := engine.Micros(d.Now().Add(-ago))
	err = d.Ask(ctx, func(scan engine.Scanner) error {
		var c memory.Change
		var generation []byte
		err := scan(&c.Subscription, &generation)
		copy(c.Generation[:], generation)
		changes = append(changes, c)
		return err
	}, recentScopeChanges, since)
	return changes, err
}
