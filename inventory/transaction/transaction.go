// Package transaction provides the writing transaction that all tables share. It records
// the events of its changes, counts the usage that quotas bound, and makes all replicas
// forget the scopes that it changed. It does so at its end, after all other locks, because
// many transactions change these rows and should lock them as briefly as possible.
//
// The packages of single tables write through a [Database]. Package inventory, which owns
// the engine's unit, locks the subscription or group that their records belong to: see
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

// Database is an open database with the cipher of its contents.
type Database struct {
	*engine.Engine
	Cipher *encryption.Cipher
}

// Tx is a writing transaction, with the changes that it writes at its end.
type Tx struct {
	*engine.Tx
	// Scopes locks the subscriptions, groups and resources of changed records.
	Scopes        Scopes
	database      *Database
	tally         tally
	changedScopes []string // all replicas forget these after the commit
	outbox        outbox
}

// Scopes locks subscriptions, groups and resources in a transaction. Names are folded.
type Scopes interface {
	// OpenSubscription locks a subscription of a tenant, "" for any. It returns an error
	// unless the subscription admits a write, or a deletion if deletes is set.
	OpenSubscription(sub, tenant string, deletes bool) error
	// OpenGroup locks a group before a record is added that is removed with the group.
	OpenGroup(sub, group string, deletes bool) error
	// LockResource locks a resource before a record is added that is removed with it.
	// It returns engine.ErrNotFound if the resource does not exist.
	LockResource(sub, key string) error
}

// Begin returns a Tx for a transaction that the engine has begun.
func (d *Database) Begin(t *engine.Tx, scopes Scopes) Tx {
	return Tx{Tx: t, Scopes: scopes, database: d}
}

func (t *Tx) records() *Tx { return t }

// recordsOf returns the Tx that the engine's unit embeds.
func recordsOf(u engine.Unit) *Tx { return u.(interface{ records() *Tx }).records() }

// Write runs a write and waits for its commit; see [engine.Engine.Do].
func (d *Database) Write(ctx context.Context, durability engine.Durability, locks engine.LockSet, run func(*Tx) error) error {
	return d.Do(ctx, &engine.Write{
		Locks: locks, Durability: durability,
		Run: func(u engine.Unit) error { return run(recordsOf(u)) },
	})
}

// Commit runs a write, like [Database.Write], and returns its result.
func Commit[T any](ctx context.Context, d *Database, durability engine.Durability, locks engine.LockSet, run func(*Tx) (T, error)) (T, error) {
	return engine.Commit(ctx, d.Engine, durability, locks, func(u engine.Unit) (T, error) { return run(recordsOf(u)) })
}

// Put calls [engine.Put] with a Tx.
func Put[T any](ctx context.Context, d *Database, locks engine.LockSet, run func(*Tx) (stored T, created bool, err error)) (stored T, created bool, err error) {
	return engine.Put(ctx, d.Engine, locks, func(u engine.Unit) (T, bool, error) { return run(recordsOf(u)) })
}

// Edit creates or changes a record. open returns the current record, nil if there is none;
// edit returns the wanted record; store completes and stores it.
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

// Remove removes the record that open returns, if check accepts it. It returns
// engine.ErrNotFound if open returns nil.
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

// InPieces calls [engine.InPieces] with a Tx.
func InPieces[T any](ctx context.Context, d *Database, all []T, run func(t *Tx, piece []T) (int, error)) (ended int, err error) {
	return engine.InPieces(ctx, d.Engine, all, func(u engine.Unit, piece []T) (int, error) { return run(recordsOf(u), piece) })
}

// The kinds of rows in lock sets. Every transaction locks them in this order. If writes
// share a transaction, one write locks its parent and its resource before the next does.
const (
	SubscriptionRow uint8 = iota // the subscription's own
	EveryGroup                   // all groups of the subscription, so that no write records an intent meanwhile
	GroupRow                     // one group, which is read with the state of its subscription
	LockRow                      // a lock on a scope, with how many there are
	RegistrationRow              // the registration of a namespace, which is only read
	FenceRow                     // the fences of the subscription, which are only read
	ParentRow                    // the resource above, which is not changed
	ResourceRow                  // a resource and its open intents
)

// RowsOf returns a lock set for rows of a subscription, whose names are folded.
func RowsOf(sub string, rows ...engine.Row) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), Rows: rows}
}

// GroupLocks returns the lock set of a write that locks a group.
func GroupLocks(sub, group string) engine.LockSet {
	locks := RowsOf(sub, engine.Row{Kind: GroupRow, Name: arm.Fold(group)})
	locks.Place[0] = locks.Rows[0].Name
	return locks
}

// NewGroupLocks returns the lock set of a write that may create a group. It also locks the
// subscription's row, because a transaction that has locked all groups must miss none.
func NewGroupLocks(sub, group string) engine.LockSet {
	locks := GroupLocks(sub, group)
	locks.Rows = append([]engine.Row{{Kind: SubscriptionRow}}, locks.Rows...)
	return locks
}

// SubscriptionLocks returns the lock set of a write that locks the subscription's own row.
func SubscriptionLocks(sub string) engine.LockSet {
	return RowsOf(sub, engine.Row{Kind: SubscriptionRow})
}

// RecordLocks returns the lock set of a write that locks neither the subscription nor a
// group, and changes only its own records.
func RecordLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), ChangesOwnOnly: true}
}

const (
	putScopeChange = `INSERT INTO scope_changes (subscription, generation, changed) VALUES (?, ?, ?)
		ON CONFLICT (subscription) DO UPDATE SET generation = excluded.generation, changed = excluded.changed`
	recentScopeChanges = `SELECT subscription, generation FROM scope_changes WHERE changed >= ?`
)

// ChangesScope makes all replicas forget what they remember of a subscription, such as its
// groups and registrations, once the transaction commits. sub is folded.
func (t *Tx) ChangesScope(sub string) {
	if !slices.Contains(t.changedScopes, sub) {
		t.changedScopes = append(t.changedScopes, sub)
	}
}

// ChangedScopes returns the scopes passed to ChangesScope.
func (t *Tx) ChangedScopes() []string { return t.changedScopes }

// RecordScopeChanges records the changed scopes for other replicas. It runs at the end
// of the transaction, in the order of the subscriptions: a transaction that has locked one
// of these rows then waits for no other row, except rows of roles.
func (t *Tx) RecordScopeChanges() error {
	slices.Sort(t.changedScopes)
	for _, sub := range t.changedScopes {
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

// LockScopeChange calls [Tx.ChangesScope] and locks the scope's row in the change sequence
// at once, so that one transaction at a time makes such changes.
func (t *Tx) LockScopeChange(sub string) error {
	t.ChangesScope(sub)
	return t.putScopeChange(sub)
}

// ScopeChanges returns the changes of scopes whose age is at most ago. Other reads and
// writes do not delay it.
func (d *Database) ScopeChanges(ctx context.Context, ago time.Duration) (changes []memory.Change, err error) {
	since := engine.Micros(d.Now().Add(-ago))
	err = d.QueryReserved(ctx, func(scan engine.Scanner) error {
		var c memory.Change
		var generation []byte
		err := scan(&c.Subscription, &generation)
		copy(c.Generation[:], generation)
		changes = append(changes, c)
		return err
	}, recentScopeChanges, since)
	return changes, err
}
