package inventory

import (
	"context"
	"errors"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/scopes"
)

// Question names what a request is about. What is empty is not asked for.
type Question struct {
	Subscription, Group string
	Namespace           string // that the subscription may be registered for
	Key                 string // of a resource
	Locks               bool   // those that may forbid a write in LockGroup
	LockGroup           string // empty for what lies in the subscription itself
}

// Target is what the store knows of a resource that a request names, and of what it lies
// in. Nil is what does not exist, or was not asked for.
type Target struct {
	Subscription *Subscription
	Group        *Group
	Registration Registration // NotRegistered if there is none
	Row          *Resource
	Locks        []Lock
}

// Target answers a question in one round trip. Each part is what the store held when it
// was read: what depends on several of them is for a transaction to decide.
func (s *Store) Target(ctx context.Context, q Question) (Target, error) {
	sub, group, namespace, key := arm.Fold(q.Subscription), arm.Fold(q.Group), arm.Fold(q.Namespace), arm.Fold(q.Key)
	t := Target{Registration: Registration{Subscription: sub, Namespace: namespace}}
	queries := append(make([]engine.Lookup, 0, 5),
		engine.LookupOf(selectSubscription, func(found Subscription) { t.Subscription = &found }, scanSubscription, sub))
	if group != "" {
		queries = append(queries, engine.LookupOf(selectGroup, func(found Group) { t.Group = &found }, scanGroup, sub, group))
	}
	if namespace != "" {
		queries = append(queries, engine.LookupOf(selectRegistration, func(found Registration) { t.Registration = found }, scanRegistration, sub, namespace))
	}
	if key != "" {
		queries = append(queries, engine.LookupOf(selectResource, func(found Resource) { t.Row = &found }, scanResource, sub, key))
	}
	if q.Locks {
		queries = append(queries, lookUpLocks(sub, arm.Fold(q.LockGroup), func(found Lock) { t.Locks = append(t.Locks, found) }))
	}
	err := s.engine.LookUp(ctx, queries...)
	return t, err
}

// Target is [Store.Target] with the subscription, the group and the registration from
// memory, without tags, features and manager, if it knows all that is asked for of
// them; then it has no locks. asked is when the request arrived.
func (m *Scopes) Target(ctx context.Context, q Question, asked time.Time) (t Target, remembered bool, err error) {
	subscription, knowsSubscription, ofSubscription := m.subscriptions.Find(q.Subscription, "", asked)
	inGroup, knowsGroup, ofGroup := m.groups.Find(q.Subscription, q.Group, asked)
	registration, registered, ofRegistration := Registration{}, q.Namespace == "", scopes.Place[Registration]{}
	if !registered {
		registration, registered, ofRegistration = m.registrations.Find(q.Subscription, q.Namespace, asked)
	}
	if knowsSubscription && knowsGroup && registered {
		t = Target{Subscription: &subscription, Group: &inGroup, Registration: registration}
		t.Row, err = m.rowIfAny(ctx, q.Subscription, q.Key)
		return t, true, err
	}
	t, err = m.store.Target(ctx, q)
	if err != nil {
		return t, false, err
	}
	if t.Subscription != nil && !knowsSubscription {
		ofSubscription.Keep(t.Subscription.brief())
	}
	if t.Group != nil && !knowsGroup {
		ofGroup.Keep(t.Group.brief())
	}
	if !registered {
		ofRegistration.Keep(t.Registration)
	}
	return t, false, nil
}

// rowIfAny is Resource, and nil where there is none.
func (m *Scopes) rowIfAny(ctx context.Context, sub, key string) (*Resource, error) {
	row, err := m.store.Resource(ctx, sub, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &row, nil
}
