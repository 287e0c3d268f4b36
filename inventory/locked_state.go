package inventory

import (
	"database/sql"
	"errors"

	"portico/arm"
)

// lockedState is what a transaction has read behind the locks of its members,
// and what is therefore true until one of them changes it: the groups that they
// lock, the registrations that admit them, the resources that they hold, and
// those above. What is not in it is read when it is asked for.
//
// Where a group has no row there is nothing to lock, and what was read of its
// resources may be of before another transaction made both. So the group stays
// absent for all members, and none comes to ask for the resources; whoever makes
// the group has everything forgotten.
//
// A member takes the resource that it holds, so that no other is given what it
// may have changed. Whatever changes more than that forgets everything.
type lockedState struct {
	scopes        map[scopeOf]scopeState
	registrations map[registrationOf]RegistrationState
	rows          map[resourceOf]*Resource // nil: there is none
	intents       map[resourceOf][]intent
}

// These name one of each. All of it is folded.
type (
	scopeOf        struct{ subscription, group string }
	registrationOf struct{ subscription, namespace string }
	resourceOf     struct{ subscription, key string }
)

func newLockedState() *lockedState {
	return &lockedState{
		scopes: map[scopeOf]scopeState{}, registrations: map[registrationOf]RegistrationState{},
		rows: map[resourceOf]*Resource{}, intents: map[resourceOf][]intent{},
	}
}

func (l *lockedState) forget() { *l = *newLockedState() }

// lookup is a query, and what takes its rows.
type lookup struct {
	request
	row func(scanner) error
}

// lookUp asks queries, in their order and in one round trip.
func (t *tx) lookUp(queries ...lookup) error { return t.check(t.link.lookUp(queries)) }

// kept makes a lookup of which forget drops the answer when a row cannot be
// read: that is not the transaction's failure, but of the member that asks for
// it again.
func kept(r request, row func(scanner) error, forget func()) lookup {
	broken := false
	return lookup{r, func(scan scanner) error {
		if broken = broken || row(scan) != nil; broken {
			forget()
		}
		return nil
	}}
}

func (l *lockedState) lookUpScope(of scopeOf) lookup {
	l.scopes[of] = scopeState{}
	return kept(lockScopeOf(of), func(scan scanner) (err error) {
		l.scopes[of], err = scanScope(scan)
		return err
	}, func() { delete(l.scopes, of) })
}

func (l *lockedState) lookUpRegistration(of registrationOf) lookup {
	l.registrations[of] = NotRegistered
	return kept(request{statement: selectRegistration, args: []any{of.subscription, of.namespace}}, func(scan scanner) error {
		r, err := scanRegistration(scan)
		l.registrations[of] = r.State
		return err
	}, func() { delete(l.registrations, of) })
}

func (l *lockedState) lookUpIntents(of resourceOf) lookup {
	l.intents[of] = nil
	return kept(lockIntentsOf(of), func(scan scanner) error {
		in, err := scanIntent(scan)
		l.intents[of] = append(l.intents[of], in)
		return err
	}, func() { delete(l.intents, of) })
}

func (l *lockedState) lookUpRow(of resourceOf) lookup {
	l.rows[of] = nil
	return kept(lockResourceOf(of), func(scan scanner) error {
		row, err := scanResource(scan)
		l.rows[of] = &row
		return err
	}, func() { delete(l.rows, of) })
}

// lookUpResource asks for what a member holds, after the row above, each thing
// once.
func (l *lockedState) lookUpResource(about subject) (queries []lookup) {
	of, above := resourceOf{about.subscription, about.key}, resourceOf{about.subscription, about.above}
	if _, asked := l.rows[above]; about.above != "" && !asked {
		queries = append(queries, l.lookUpRow(above))
	}
	if _, asked := l.rows[of]; asked {
		return queries
	}
	return append(queries, l.lookUpIntents(of), l.lookUpRow(of)) // see hold
}

func lockIntentsOf(of resourceOf) request {
	return request{statement: lockIntents, args: []any{of.subscription, of.key}}
}

func lockResourceOf(of resourceOf) request {
	return request{statement: lockResource, args: []any{of.subscription, of.key}}
}

// take hands over what is known of a resource, and forgets it.
func (l *lockedState) take(of resourceOf) (open []intent, row *Resource, known bool) {
	open, known = l.intents[of]
	row, found := l.rows[of]
	delete(l.intents, of)
	delete(l.rows, of)
	return open, row, known && found
}

// row locks a resource that the member does not change. ErrNotFound where there
// is none.
func (t *tx) row(sub, key string) (Resource, error) {
	row, known := t.locked.rows[resourceOf{sub, key}]
	switch {
	case !known:
		return loadResource(t, lockResource, sub, key)
	case row == nil:
		return Resource{}, ErrNotFound
	}
	return *row, nil
}

// scopeState is a group whose row is locked, with the state of its subscription.
type scopeState struct {
	found bool
	group Group
	state SubscriptionState // known only with the group
}

// scope locks a group. What it finds holds for all members, and so does that it
// finds nothing, where that was read before the members ran.
func (t *tx) scope(of scopeOf) (scopeState, error) {
	if s, known := t.locked.scopes[of]; known {
		return s, nil
	}
	q := lockScopeOf(of)
	s, err := scanScope(t.one(q.statement, q.args...))
	if errors.Is(err, sql.ErrNoRows) {
		return scopeState{}, nil
	}
	if err != nil {
		return scopeState{}, err
	}
	// All else was read before this lock.
	scopes := t.locked.scopes
	t.locked.forget()
	t.locked.scopes = scopes
	t.locked.scopes[of] = s
	return s, nil
}

// group locks a group, whatever the state of its subscription. ErrNotFound where
// there is none.
func (t *tx) group(sub, name string) (Group, error) {
	s, err := t.scope(scopeOf{arm.Fold(sub), arm.Fold(name)})
	if err == nil && !s.found {
		err = ErrNotFound
	}
	return s.group, err
}
