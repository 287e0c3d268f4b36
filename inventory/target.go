package inventory

import (
	"context"

	"portico/arm"
	"portico/inventory/engine"
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
// registration of its namespace, in one round trip. Each is what the store held when it
// was read: what depends on several of them is for a transaction to decide.
func (s *Store) Target(ctx context.Context, sub, group, namespace, key string) (Target, error) {
	sub, group, namespace, key = arm.Fold(sub), arm.Fold(group), arm.Fold(namespace), arm.Fold(key)
	t := Target{Registration: Registration{Subscription: sub, Namespace: namespace}}
	err := s.engine.LookUp(ctx,
		rowOf(selectSubscription, func(found Subscription) { t.Subscription = &found }, scanSubscription, sub),
		rowOf(selectGroup, func(found Group) { t.Group = &found }, scanGroup, sub, group),
		rowOf(selectRegistration, func(found Registration) { t.Registration = found }, scanRegistration, sub, namespace),
		rowOf(selectResource, func(found Resource) { t.Row = &found }, scanResource, sub, key),
	)
	return t, err
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
