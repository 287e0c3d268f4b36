package inventory

import (
	"context"
	"errors"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/scopes"
)

// Target is what the store knows of the resource that a request names, and of what it
// lies in. Nil is what does not exist.
type Target struct {
	Subscription *Subscription
	Group        *Group
	Registration Registration // of the resource's namespace; NotRegistered if there is none
	Row          *Resource
}

// Target reads a resource's row together with its subscription, its group and the
// registration of its namespace unless that is empty, in one round trip. Each is what the store held when it
// was read: what depends on several of them is for a transaction to decide.
func (s *Store) Target(ctx context.Context, sub, group, namespace, key string) (Target, error) {
	sub, group, namespace, key = arm.Fold(sub), arm.Fold(group), arm.Fold(namespace), arm.Fold(key)
	t := Target{Registration: Registration{Subscription: sub, Namespace: namespace}}
	queries := append(make([]engine.Lookup, 0, 4),
		rowOf(selectSubscription, func(found Subscription) { t.Subscription = &found }, scanSubscription, sub),
		rowOf(selectGroup, func(found Group) { t.Group = &found }, scanGroup, sub, group),
		rowOf(selectResource, func(found Resource) { t.Row = &found }, scanResource, sub, key))
	if namespace != "" {
		queries = append(queries, rowOf(selectRegistration, func(found Registration) { t.Registration = found }, scanRegistration, sub, namespace))
	}
	err := s.engine.LookUp(ctx, queries...)
	return t, err
}

// Target is [Store.Target] with the subscription, the group and the registration from
// memory, without tags, features and manager, if it knows all of them. asked is when the
// request arrived. An empty namespace needs no registration.
func (m *Scopes) Target(ctx context.Context, sub, group, namespace, key string, asked time.Time) (t Target, remembered bool, err error) {
	subscription, knowsSubscription, ofSubscription := m.subscriptions.Find(sub, "", asked)
	inGroup, knowsGroup, ofGroup := m.groups.Find(sub, group, asked)
	registration, registered, ofRegistration := Registration{}, namespace == "", scopes.Place[Registration]{}
	if !registered {
		registration, registered, ofRegistration = m.registrations.Find(sub, namespace, asked)
	}
	if knowsSubscription && knowsGroup && registered {
		t = Target{Subscription: &subscription, Group: &inGroup, Registration: registration}
		t.Row, err = m.store.rowIfAny(ctx, sub, key)
		return t, true, err
	}
	t, err = m.store.Target(ctx, sub, group, namespace, key)
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
func (s *Store) rowIfAny(ctx context.Context, sub, key string) (*Resource, error) {
	row, err := s.Resource(ctx, sub, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &row, nil
}

func rowOf[T any](statement string, keep func(T), scan func(engine.Scanner) (T, error), args ...any) engine.Lookup {
	return engine.Lookup{Request: engine.Request{Statement: statement, Args: args}, Row: func(row engine.Scanner) error {
		found, err := scan(row)
		if err == nil {
			keep(found)
		}
		return err
	}}
}
