package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/assignments"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// LocksPerScope is the number of locks that one scope may have.
const LocksPerScope = 20

// LockLevel is what a lock forbids. The numbers are stored.
type LockLevel uint8

// The levels of locks.
const (
	// LockCanNotDelete forbids deleting its scope and everything below.
	LockCanNotDelete LockLevel = iota + 1
	// LockReadOnly forbids changing them too.
	LockReadOnly
)

// LockLevels returns all levels.
func LockLevels() []LockLevel { return []LockLevel{LockCanNotDelete, LockReadOnly} }

func (l LockLevel) String() string {
	return index.NameOf([]string{"NotSpecified", "CanNotDelete", "ReadOnly"}, int(l))
}

// forbids reports whether the level forbids a write of the kind.
func (l LockLevel) forbids(kind index.WriteKind) bool {
	return kind == index.Delete || l == LockReadOnly
}

// Lock is a management lock on a subscription, a group or a resource, and on everything
// below. Its JSON holds the fields that no statement reads.
type Lock struct {
	Subscription string          `json:"-"`     // folded
	Scope        string          `json:"-"`     // folded id of the subscription, group or resource
	Key          string          `json:"-"`     // folded name
	ScopeID      string          `json:"scope"` // as the latest PUT wrote it
	Name         string          `json:"name"`  // as the latest PUT wrote it
	Level        LockLevel       `json:"-"`
	Notes        string          `json:"notes,omitempty"`
	Owners       json.RawMessage `json:"owners,omitempty"` // as the client sent them
	Generation   [16]byte        `json:"-"`
	ETag         string          `json:"-"`
	Created      time.Time       `json:"-"`
	Changed      time.Time       `json:"-"`
	// Host is the key of a tracked resource, the scope or its ancestor; the lock is removed
	// with it. Only the caller of Locks.Edit sets it. It may be empty.
	Host string `json:"-"`
}

// LockedError has the locks, at least one, that forbid a write.
type LockedError struct{ Locks []Lock }

func (e *LockedError) Error() string {
	return fmt.Sprintf("inventory: %d locks forbid it, the first on %s", len(e.Locks), e.Locks[0].ScopeID)
}

// Scopes returns the scopes of the locks, each once.
func (e *LockedError) Scopes() []string {
	var scopes []string
	seen := map[string]bool{}
	for _, l := range e.Locks {
		if !seen[l.Scope] {
			seen[l.Scope] = true
			scopes = append(scopes, l.ScopeID)
		}
	}
	return scopes
}

const (
	lockColumns = `subscription, scope, name, level, properties, generation, etag, created, changed`

	selectLock     = `SELECT ` + lockColumns + ` FROM locks WHERE subscription = ? AND scope = ? AND name = ?`
	selectLockHeld = selectLock + engine.ForUpdate
	anyLock        = `SELECT EXISTS (SELECT 1 FROM locks WHERE subscription = ?)`
	listLocks      = `SELECT ` + lockColumns + ` FROM locks WHERE subscription = ? AND scope = ? ORDER BY scope, name`
	listLocksBelow = `SELECT ` + lockColumns + ` FROM locks WHERE subscription = ? AND (scope = ? OR scope >= ? AND scope < ?)
		ORDER BY scope, name`
	locksOfGroup = `SELECT ` + lockColumns + ` FROM locks
		WHERE subscription = ? AND (scope = ? OR scope = ? OR scope >= ? AND scope < ?) ORDER BY scope, name`
	putLock = `INSERT INTO locks (` + lockColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, scope, name) DO UPDATE SET level = excluded.level, properties = excluded.properties,
			generation = excluded.generation, etag = excluded.etag, changed = excluded.changed`
	countLocks    = `SELECT COUNT(*) FROM locks WHERE subscription = ? AND scope = ?`
	countAllLocks = `SELECT COUNT(*) FROM (SELECT name FROM locks WHERE subscription = ? LIMIT ?) AS counted`
	deleteLock    = `DELETE FROM locks WHERE subscription = ? AND scope = ? AND name = ?`
	deleteLocks   = `DELETE FROM locks WHERE subscription = ? AND (scope = ? OR scope >= ? AND scope < ?)`
)

func scanLock(scan engine.Scanner) (Lock, error) {
	var (
		l                Lock
		properties       string
		generation       []byte
		created, changed int64
	)
	err := scan(&l.Subscription, &l.Scope, &l.Key, &l.Level, &properties, &generation, &l.ETag, &created, &changed)
	if err != nil {
		return Lock{}, err
	}
	if err := json.Unmarshal([]byte(properties), &l); err != nil {
		return Lock{}, fmt.Errorf("properties of the lock %s: %w", l.Key, err)
	}
	copy(l.Generation[:], generation)
	l.Created, l.Changed = engine.TimeOf(created), engine.TimeOf(changed)
	return l, nil
}

// subscriptionScope returns the folded id of a subscription.
func subscriptionScope(sub string) string { return "/subscriptions/" + sub }

// groupScope returns the folded id of a group.
func groupScope(sub, group string) string {
	return subscriptionScope(sub) + "/resourcegroups/" + group
}

// Locks has the methods for management locks.
type Locks struct{ store *Store }

// Get returns one lock, or ErrNotFound.
func (locks *Locks) Get(ctx context.Context, sub, scope, name string) (Lock, error) {
	l, err := scanLock(locks.store.engine.Read(ctx).One(selectLock, arm.Fold(sub), arm.Fold(scope), arm.Fold(name)))
	return l, engine.OrNotFound(err)
}

// List lists the locks on a scope and, with andBelow, on everything below.
func (locks *Locks) List(ctx context.Context, sub, scope string, andBelow bool) ([]Lock, error) {
	sub, scope = arm.Fold(sub), arm.Fold(scope)
	if !andBelow {
		return engine.Collect(locks.store.engine.Read(ctx), scanLock, listLocks, sub, scope)
	}
	from, to := engine.KeysBelow(scope)
	return engine.Collect(locks.store.engine.Read(ctx), scanLock, listLocksBelow, sub, scope, from, to)
}

// CheckLocks returns *LockedError if a lock on the ID, or on something above it, forbids a
// write that has no intent. The locks come from [Store.Target], and may lack a lock that is
// set at the same time.
func CheckLocks(locks []Lock, kind index.WriteKind, id string) error {
	return forbidden(locks, kind, arm.Fold(id))
}

// CheckAllLocks returns *LockedError if there are any locks. It is for the deletion of the
// group whose locks were read, which each lock forbids, even one on a resource in it.
func CheckAllLocks(locks []Lock) error {
	if len(locks) == 0 {
		return nil
	}
	return &LockedError{Locks: locks}
}

// lookUpLocks returns the lookup of the locks that may forbid a write in a group or, if
// group is empty, to something directly in the subscription. sub and group are folded.
func lookUpLocks(sub, group string, each func(Lock)) engine.Lookup {
	scope := subscriptionScope(sub) + "/providers"
	if group != "" {
		scope = groupScope(sub, group)
	}
	first, last := engine.KeysBelow(scope)
	return engine.LookupOf(locksOfGroup, each, scanLock, sub, subscriptionScope(sub), scope, first, last)
}

// Edit creates or changes a lock on a scope, in a group unless group is empty. edit is as
// for [Store.EditGroup], but always returns a lock or an error; it sets ScopeID, Name,
// Level, Notes, Owners, ETag and Host. The error is ErrNotFound if the host does not exist,
// and *transaction.QuotaError if the scope or the subscription has too many locks. The
// subscription or the group may refuse the change by ErrSubscriptionNotFound,
// *SubscriptionStateError, index.ErrGroupNotFound or *index.GroupStateError.
func (locks *Locks) Edit(ctx context.Context, sub, group, scope, name string, edit func(current *Lock) (*Lock, error)) (Lock, bool, error) {
	of := lockOf{arm.Fold(sub), arm.Fold(scope), arm.Fold(name)}
	return engine.Put(ctx, locks.store.engine, scopeLocks(sub, group, of), func(t *tx) (l Lock, created bool, err error) {
		current, err := t.openLock(of, group, false)
		if err != nil {
			return l, false, err
		}
		wanted, err := edit(current.lock)
		if err != nil {
			return l, false, err
		}
		l = *wanted
		l.Subscription, l.Scope, l.Key = of.subscription, of.scope, of.name
		l.Generation, l.Created, l.Changed = engine.NewID(), t.Now, t.Now
		if current.lock != nil {
			l.Created = current.lock.Created
		} else if err := t.checkNewLock(l, current); err != nil {
			return l, false, err
		}
		if err := l.put(t); err != nil {
			return l, false, err
		}
		return l, current.lock == nil, t.recordLock(l, writeVerb)
	})
}

func (l *Lock) put(t *tx) error {
	properties, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return t.Later(putLock, l.Subscription, l.Scope, l.Key, l.Level, string(properties), l.Generation[:], l.ETag,
		engine.Micros(l.Created), engine.Micros(l.Changed))
}

// lockState is a lock, nil if there is none, with the numbers of other locks.
type lockState struct {
	lock           *Lock
	atScope, inAll int // on the scope; in the subscription, up to the limit
}

// lookUpLock returns the lookups that read a lock and count the others.
func (t *tx) lookUpLock(of lockOf) []engine.Lookup {
	read := func(statement string, args []any, take func(*lockState, engine.Scanner) error) engine.Lookup {
		request := engine.Request{Statement: statement, Args: args}
		return lookUp(t.locked.locks, of, lockState{}, request, func(s lockState, scan engine.Scanner) (lockState, error) {
			err := take(&s, scan)
			return s, err
		})
	}
	queries := []engine.Lookup{
		read(countLocks, []any{of.subscription, of.scope}, func(s *lockState, scan engine.Scanner) error { return scan(&s.atScope) }),
	}
	if inAll := t.store.options.Limits.LocksPerSubscription; inAll > 0 {
		queries = append(queries, read(countAllLocks, []any{of.subscription, inAll}, func(s *lockState, scan engine.Scanner) error { return scan(&s.inAll) }))
	}
	// This comes last: if the row cannot be read, none of the results are kept.
	return append(queries, read(selectLockHeld, []any{of.subscription, of.scope, of.name}, func(s *lockState, scan engine.Scanner) error {
		lock, err := scanLock(scan)
		s.lock = &lock
		return err
	}))
}

// openLock opens the scope and returns the present lock.
func (t *tx) openLock(of lockOf, group string, deletes bool) (lockState, error) {
	if group != "" {
		if err := t.OpenGroup(of.subscription, group, deletes); err != nil {
			return lockState{}, err
		}
	} else if _, err := t.openSubscription(of.subscription, deletes); err != nil {
		return lockState{}, err
	}
	if known, found := t.locked.locks[of]; found {
		return known, nil
	}
	if err := t.LookUp(t.lookUpLock(of)...); err != nil {
		return lockState{}, err
	}
	if known, found := t.locked.locks[of]; found {
		return known, nil
	}
	_, err := scanLock(t.One(selectLockHeld, of.subscription, of.scope, of.name)) // returns the error of the row that could not be read
	return lockState{}, err
}

// OpenGroup implements [transaction.Scopes]. The deletion of a group locks its row too, so
// one of the two sees the other.
func (t *tx) OpenGroup(sub, group string, deletes bool) error {
	g, err := openScope(t, arm.Fold(sub), arm.Fold(group), deletes)
	switch {
	case errors.Is(err, ErrNotFound):
		return index.ErrGroupNotFound
	case err != nil:
		return err
	case g.State != index.GroupActive:
		return &index.GroupStateError{State: g.State}
	}
	return nil
}

// checkNewLock returns ErrNotFound if the lock's host is gone, and *transaction.QuotaError
// if its scope or its subscription has reached the limit. The caller has locked the row of
// the group or the subscription; even so, locks that are set in several groups at once may
// exceed the subscription's limit.
func (t *tx) checkNewLock(l Lock, known lockState) error {
	if l.Host != "" {
		if err := t.LockResource(l.Subscription, l.Host); err != nil {
			return err
		}
	}
	inAll := t.store.options.Limits.LocksPerSubscription
	switch {
	case known.atScope >= LocksPerScope:
		return &transaction.QuotaError{Kind: transaction.QuotaLocks, Limit: LocksPerScope, Current: known.atScope}
	case inAll > 0 && known.inAll >= inAll:
		return &transaction.QuotaError{Kind: transaction.QuotaAllLocks, Limit: inAll, Current: known.inAll}
	}
	return nil
}

// Delete removes a lock that check accepts. It returns ErrNotFound if there is none, and
// otherwise the errors of Locks.Edit.
func (locks *Locks) Delete(ctx context.Context, sub, group, scope, name string, check func(Lock) error) error {
	of := lockOf{arm.Fold(sub), arm.Fold(scope), arm.Fold(name)}
	return locks.store.write(ctx, engine.Flushed, scopeLocks(sub, group, of), func(t *tx) error {
		current, err := t.openLock(of, group, true)
		if err != nil {
			return err
		}
		if current.lock == nil {
			return ErrNotFound
		}
		if err := check(*current.lock); err != nil {
			return err
		}
		if err := t.recordLock(*current.lock, deleteVerb); err != nil {
			return err
		}
		return t.Later(deleteLock, of.subscription, of.scope, of.name)
	})
}

// locks lists the locks on the group's subscription, on the group itself, and on its
// resources.
func (g Group) locks(t *tx) ([]Lock, error) {
	if !g.locked {
		return nil, nil
	}
	scope := groupScope(g.Subscription, g.Key)
	from, to := engine.KeysBelow(scope)
	return engine.Collect(t, scanLock, locksOfGroup, g.Subscription, subscriptionScope(g.Subscription), scope, from, to)
}

// admitsDelete returns *LockedError if a lock forbids deleting a group with its resources.
func (g Group) admitsDelete(t *tx) error {
	// The value that was read with the row may be older than the wait for the row's lock.
	g.locked = true
	locks, err := g.locks(t)
	if err == nil && len(locks) > 0 {
		return &LockedError{Locks: locks}
	}
	return err
}

// admitsChange returns *LockedError if a lock forbids changing the group itself.
func (g Group) admitsChange(t *tx) error {
	locks, err := g.locks(t)
	if err != nil {
		return err
	}
	return forbidden(locks, index.Put, groupScope(g.Subscription, g.Key))
}

// admittedByLocks returns *LockedError if a lock on the resource, or above it, forbids
// a client's write.
func (w *Write) admittedByLocks(t *tx) error {
	if w.OfGroupDelete || w.plan.Unlocked {
		return nil
	}
	g, err := openScope(t, w.Subscription, w.Group, w.Kind == index.Delete)
	if err != nil {
		return err
	}
	locks, err := g.locks(t)
	if err != nil {
		return err
	}
	return forbidden(locks, w.Kind, w.Key)
}

// forbidden returns *LockedError with the locks that forbid a write to a folded id.
func forbidden(locks []Lock, kind index.WriteKind, id string) error {
	var refused LockedError
	for _, l := range locks {
		if l.Level.forbids(kind) && (l.Scope == id || strings.HasPrefix(id, l.Scope+"/")) {
			refused.Locks = append(refused.Locks, l)
		}
	}
	if len(refused.Locks) == 0 {
		return nil
	}
	return &refused
}

func (g Group) dropLocks(t *tx) error {
	return dropLocksAt(t, g.Subscription, groupScope(g.Subscription, g.Key))
}

// dropLocksAt removes the locks on a removed scope and below it.
func dropLocksAt(t *tx, sub, scope string) error {
	from, to := engine.KeysBelow(scope)
	return t.Later(deleteLocks, sub, scope, from, to)
}

const (
	locksFrom      = `SELECT ` + lockColumns + ` FROM locks WHERE subscription = ?`
	listLocksAfter = locksFrom + ` AND (scope, name) > (?, ?) ORDER BY scope, name LIMIT ?`
)

// LockID returns the ID of a lock on a scope.
func LockID(scope, name string) string {
	return scope + "/providers/Microsoft.Authorization/locks/" + name
}

// OfSubscription lists at most limit locks of a subscription by scope and name, from the
// one that follows after.Scope and after.Key; the zero Lock precedes all.
func (locks *Locks) OfSubscription(ctx context.Context, sub string, after Lock, limit int) ([]Lock, error) {
	return engine.Collect(locks.store.engine.Read(ctx), scanLock, listLocksAfter, arm.Fold(sub), after.Scope, after.Key, engine.LimitArg(limit))
}

// Over lists the locks that apply to an ID in a subscription: on the ID and above it.
func (locks *Locks) Over(ctx context.Context, sub, id string) ([]Lock, error) {
	of, args := engine.Among("scope", assignments.ScopesTo(arm.Fold(sub), arm.Fold(id)), arm.Fold)
	return engine.Collect(locks.store.engine.Read(ctx), scanLock, locksFrom+of+` ORDER BY scope, name`, append([]any{arm.Fold(sub)}, args...)...)
}

// callUnderWay finds a call that may still be running: its sender has not recorded its
// end, and its time has not passed. It ignores calls of a group's deletion, which was
// accepted before the lock and goes on.
const callUnderWay = `SELECT EXISTS (SELECT 1 FROM intents
	WHERE subscription = ? AND (key = ? OR key >= ? AND key < ?) AND kind >= ? AND kind <= ? AND call_ended = 0 AND not_after > ?
		AND NOT EXISTS (SELECT 1 FROM resource_groups
			WHERE resource_groups.subscription = intents.subscription AND resource_groups.key = intents.resource_group AND state = ?))`

// waitPause is the time between two searches for conflicting calls.
const waitPause = 20 * time.Millisecond

// WaitForConflictingWrites waits for the calls under way that a stored lock forbids, and
// for moves if it forbids them, until ctx is done; it reports whether all have ended. group
// is the lock's, "" for a lock on a subscription. It does not wait for writes whose call
// ended without a definite answer, which may be applied until their intents end; nor for
// requests without an intent; nor for the deletion of a group that was accepted before.
func (locks *Locks) WaitForConflictingWrites(ctx context.Context, group string, l Lock) (ended bool, err error) {
	var underWay bool
	for underWay, err = l.conflictAmongAdmitted(ctx, locks.store, group); err == nil; underWay, err = l.conflictUnderWay(ctx, locks.store) {
		if !underWay {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(waitPause):
		}
	}
	if ctx.Err() != nil {
		err = nil // the end of the wait is not an error
	}
	return false, err
}

// conflictAmongAdmitted waits for the row locks of the groups in a lock's scope, and then
// reports whether a call is under way that the lock forbids. A write that was admitted
// without seeing the lock holds such a row until its intent is visible, and later writes
// read the locks again.
func (l Lock) conflictAmongAdmitted(ctx context.Context, s *Store, group string) (underWay bool, err error) {
	found, err := commit(ctx, s, engine.Unflushed, admissionLocks(l.Subscription, group), func(t *tx) (*bool, error) {
		found := new(bool) // set when the transaction ends
		return found, t.LookUpLater(l.conflicts(t.Now, found)...)
	})
	return err == nil && *found, err
}

// conflictUnderWay reports whether a call or a move is under way that a lock forbids.
func (l Lock) conflictUnderWay(ctx context.Context, s *Store) (underWay bool, err error) {
	err = s.engine.LookUp(ctx, l.conflicts(s.engine.Now(), &underWay)...)
	return underWay, err
}

// conflicts returns the lookups that set found if a call or a move is under way that the
// lock forbids.
func (l Lock) conflicts(now time.Time, found *bool) []engine.Lookup {
	first, last := index.Delete, index.Delete
	var queries []engine.Lookup
	if l.Level == LockReadOnly {
		first, last = 0, math.MaxUint8
		// A group that is Moving admits no lock in it, but a lock can still be set
		// above it.
		if l.Scope == subscriptionScope(l.Subscription) {
			keep := func(moving int) { *found = *found || moving > 0 }
			queries = append(queries, engine.LookupOf(countMoving, keep, engine.ScanOne, l.Subscription, index.GroupMoving))
		}
	}
	from, to := engine.KeysBelow(l.Scope)
	return append(queries, engine.LookupOf(callUnderWay, func(underWay bool) { *found = *found || underWay }, engine.ScanOne,
		l.Subscription, l.Scope, from, to, first, last, engine.Micros(now), index.GroupDeleting))
}
