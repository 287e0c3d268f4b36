package inventory

import (
	"errors"
	"maps"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
)

// ErrSubscriptionNotFound is returned if the subscription does not exist, or is Deleted.
var ErrSubscriptionNotFound = errors.New("inventory: the subscription does not exist")

// SubscriptionStateError refuses a write because of the subscription's state: a Warned or
// Disabled one admits only a DELETE (resource reference, subscription states).
type SubscriptionStateError struct {
	State SubscriptionState
}

func (e *SubscriptionStateError) Error() string {
	return "inventory: the subscription is " + e.State.String()
}

// admits returns an error if the state forbids a write.
func (s SubscriptionState) admits(deletes bool) error {
	switch s {
	case Deleted:
		return ErrSubscriptionNotFound
	case Warned, Disabled:
		if !deletes {
			return &SubscriptionStateError{State: s}
		}
	case Enabled, PastDue:
	}
	return nil
}

// lockGroupScope locks a group's row. It reads the subscription's state without a lock,
// because every write in the subscription would contend for that row. It also reads whether
// the subscription has any management locks, since most have none.
const lockGroupScope = `SELECT ` + groupColumns + `, COALESCE((SELECT state FROM subscriptions WHERE subscription = ?), ?),
		COALESCE((SELECT version FROM subscriptions WHERE subscription = ?), 0), EXISTS (SELECT 1 FROM locks WHERE subscription = ?)
	FROM resource_groups WHERE subscription = ? AND key = ?` + engine.ForUpdate

// lockScopeOf returns the request that locks a group. A subscription that does not
// exist counts as Deleted, which refuses all writes.
func lockScopeOf(of scopeOf) engine.Request {
	return engine.Request{Statement: lockGroupScope, Args: []any{of.subscription, Deleted, of.subscription, of.subscription, of.subscription, of.group}}
}

func scanScope(scan engine.Scanner) (s scopeState, err error) {
	locked := false
	s.group, err = scanGroup(func(dest ...any) error { return scan(append(dest, &s.state, &s.version, &locked)...) })
	s.found, s.group.locked = err == nil, locked
	return s, err
}

// openScope checks that a subscription admits a write, and locks and returns the group. It
// returns ErrNotFound if there is no such group. sub and name are folded.
func openScope(t *tx, sub, name string, deletes bool) (Group, error) {
	s, err := openScopeState(t, sub, name, deletes)
	return s.group, err
}

func openScopeState(t *tx, sub, name string, deletes bool) (scopeState, error) {
	s, err := t.lockScope(scopeOf{sub, name})
	if err == nil && !s.found {
		s.state, err = stateOf(t, sub)
	}
	if err != nil {
		return scopeState{}, err
	}
	if refusal := s.state.admits(deletes); refusal != nil {
		return scopeState{}, refusal
	}
	if !s.found {
		return scopeState{}, ErrNotFound
	}
	return s, nil
}

func stateOf(t *tx, sub string) (SubscriptionState, error) {
	if known, loaded := t.locked.subscriptions[sub]; loaded {
		if known.found == nil {
			return Deleted, nil
		}
		return known.found.State, nil
	}
	known, err := loadSubscription(t, selectSubscription, sub)
	if errors.Is(err, ErrNotFound) {
		return Deleted, nil
	}
	return known.State, err
}

// lockAnySubscription locks and returns a subscription, whatever its state. It returns
// ErrNotFound if there is none.
func (t *tx) lockAnySubscription(sub string) (Subscription, error) {
	known, loaded := t.locked.subscriptions[sub]
	switch {
	case !loaded:
		return loadSubscription(t, lockSubscription, sub)
	case known.found == nil:
		return Subscription{}, ErrNotFound
	}
	s := *known.found
	s.Tags, s.Features = maps.Clone(s.Tags), slices.Clone(s.Features)
	return s, nil
}

// OpenSubscription implements [transaction.Scopes].
func (t *tx) OpenSubscription(sub, tenant string, deletes bool) error {
	s, err := t.openSubscription(sub, deletes)
	if err == nil && tenant != "" && s.TenantID != tenant {
		err = ErrSubscriptionNotFound
	}
	return err
}

// LockResource implements [transaction.Scopes].
func (t *tx) LockResource(sub, key string) error {
	_, err := loadResource(t, lockResourceRow, sub, key)
	return err
}

// openSubscription locks and returns a subscription, if it admits a write.
func (t *tx) openSubscription(sub string, deletes bool) (Subscription, error) {
	s, err := t.lockAnySubscription(arm.Fold(sub))
	if errors.Is(err, ErrNotFound) {
		return s, ErrSubscriptionNotFound
	}
	if err == nil {
		err = s.State.admits(deletes)
	}
	return s, err
}
