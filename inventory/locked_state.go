package inventory

import (
	"database/sql"
	"errors"
	"iter"
	"strings"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// lockedState holds what a transaction read after locking for its members: the groups,
// registrations, resources and parents that they lock. It is true until a member
// changes one of them. Anything else is read when a member needs it.
//
// A group without a row cannot be locked, and the resources read for it may be older
// than a transaction that created both. So the group stays absent for all members, and
// none reads the resources. The member that creates the group clears everything.
//
// A member takes the resource that it locks out of the state, so that no other member
// sees a stale copy. A member that changes more than that clears everything.
type lockedState struct {
	subscriptions map[string]subscriptionState
	locks         map[lockOf]lockState
	scopes        map[scopeOf]scopeState
	registrations map[registrationOf]RegistrationState
	rows          map[resourceOf]*Resource // nil: there is none
	intents       map[resourceOf][]index.Intent
	unfenced      map[string]bool // whether there are none in a subscription
	// assumed are the resources that were neither read nor proved. A statement replaces
	// or removes such a row only by the generation that it is assumed to have.
	assumed map[resourceOf]bool
	// written are the regions that the transaction has recorded for its groups.
	written map[writtenRegion]bool
}

// resourceState is a resource as a transaction has left it. It never changes.
type resourceState struct {
	row  *Resource
	open []index.Intent
}

// These name one of each. All of it is folded.
type (
	scopeOf        struct{ subscription, group string }
	registrationOf struct{ subscription, namespace string }
	resourceOf     struct{ subscription, key string }
	lockOf         struct{ subscription, scope, name string }
	writtenRegion  struct {
		subscription, group string
		incarnation         [16]byte
		typ, region         string
	}
)

func newLockedState() *lockedState {
	return &lockedState{
		subscriptions: map[string]subscriptionState{}, locks: map[lockOf]lockState{},
		scopes: map[scopeOf]scopeState{}, registrations: map[registrationOf]RegistrationState{},
		rows: map[resourceOf]*Resource{}, intents: map[resourceOf][]index.Intent{},
		unfenced: map[string]bool{}, assumed: map[resourceOf]bool{}, written: map[writtenRegion]bool{},
	}
}

func (l *lockedState) forget() { *l = *newLockedState() }

// Lock implements [engine.Unit]. It locks, as far as members need them, the
// subscription's own row, its groups, and their resources, in the order of every
// transaction; it reads registrations in between. If all that members need is assumed,
// or only locked, it does not wait for the answers.
func (t *tx) Lock(members []*engine.Write) error {
	queries := make([]engine.Lookup, 0, 4*len(members))
	l, locks := t.locked, 0
	if t.LocksRows() {
		queries = appendLocks(queries, members)
		locks = len(queries)
		for sub := range rowsIn(members, transaction.SubscriptionRow, transaction.SubscriptionRow) { // elsewhere it is read where it is needed
			if _, loaded := l.subscriptions[sub]; !loaded {
				queries = append(queries, l.lookUpSubscription(sub)...)
			}
		}
	}
	for sub, row := range rowsIn(members, transaction.GroupRow, transaction.GroupRow) {
		if row.Assumed == unread {
			continue
		}
		of := scopeOf{sub, row.Name}
		if _, loaded := l.scopes[of]; !loaded {
			queries = append(queries, l.lookUpScope(of))
		}
	}
	for sub, row := range rowsIn(members, transaction.RegistrationRow, transaction.RegistrationRow) {
		of := registrationOf{sub, row.Name}
		if _, loaded := l.registrations[of]; !loaded {
			queries = append(queries, l.lookUpRegistration(of))
		}
	}
	for sub, row := range rowsIn(members, transaction.LockRow, transaction.LockRow) {
		of := lockNamed(sub, row.Name)
		if _, loaded := l.locks[of]; !loaded {
			queries = append(queries, l.lookUpLock(of, t.store.options.Limits.LocksPerSubscription)...)
		}
	}
	if t.LocksRows() { // elsewhere it is read for creates alone
		for sub := range rowsIn(members, transaction.FenceRow, transaction.FenceRow) {
			if _, loaded := l.unfenced[sub]; !loaded {
				queries = append(queries, l.lookUpAnyFence(sub))
			}
		}
	}
	read := len(queries) > locks
	var together resourceReads
	for sub, row := range rowsIn(members, transaction.ParentRow, transaction.ResourceRow) {
		of := resourceOf{sub, row.Name}
		if _, loaded := l.rows[of]; loaded {
			continue
		}
		if left, ok := row.Assumed.(*resourceState); ok && t.Assumes() {
			l.rows[of], l.intents[of], l.assumed[of] = left.row, left.open, !t.LocksRows()
			if t.LocksRows() {
				queries = append(queries, lockAssumed(of, left)...)
			}
			continue
		}
		read = true
		if t.LocksRows() {
			if row.Kind == transaction.ResourceRow {
				queries = append(queries, l.lookUpIntents(of)) // before the row, see lockResource
			}
			queries = append(queries, l.lookUpRow(of))
			continue
		}
		if row.Kind == transaction.ResourceRow {
			together.intents.add(of)
		}
		if known, ok := row.Assumed.(*Resource); ok && t.Assumes() { // where it is to be locked, it is read with that
			l.rows[of], l.assumed[of] = known, true
			continue
		}
		l.rows[of] = nil // it is asked for
		together.rows.add(of)
	}
	queries = together.appendTo(queries, l)
	if !read {
		return t.LookUpLater(queries...)
	}
	return t.LookUp(queries...)
}

// appendLocks locks the rows of the subscription and of groups. A statement that waits
// for a lock may read rows other than the locked one as they were before the wait, so
// these results are dropped. All members are of one subscription.
func appendLocks(queries []engine.Lookup, members []*engine.Write) []engine.Lookup {
	for _, lock := range [...]struct {
		kind      uint8
		statement string
	}{{transaction.SubscriptionRow, lockSubscription}, {transaction.EveryGroup, lockGroups}, {transaction.GroupRow, lockGroup}} {
		var last *engine.Row
		for sub, row := range rowsIn(members, lock.kind, lock.kind) {
			if last != nil && *last == *row {
				continue
			}
			last = row
			args := []any{sub}
			if row.Kind == transaction.GroupRow {
				args = append(args, row.Name)
			}
			queries = append(queries, engine.Lookup{Request: engine.Request{Statement: lock.statement, Args: args}})
		}
	}
	return queries
}

// rowsIn yields the members' rows from one kind to another, member by member.
func rowsIn(members []*engine.Write, first, last uint8) iter.Seq2[string, *engine.Row] {
	return func(yield func(string, *engine.Row) bool) {
		for _, m := range members {
			for i := range m.Locks.Rows {
				row := &m.Locks.Rows[i]
				if row.Kind >= first && row.Kind <= last && !yield(m.Locks.Partition, row) {
					return
				}
			}
		}
	}
}

// lookUp returns a lookup that keeps its result in read, starting from absent. If a row
// cannot be read nothing is kept: only the member that reads it again fails.
func lookUp[K comparable, V any](read map[K]V, of K, absent V, r engine.Request, take func(V, engine.Scanner) (V, error)) engine.Lookup {
	read[of] = absent
	broken := false
	return engine.Lookup{Request: r, Row: func(scan engine.Scanner) error {
		found, err := take(read[of], scan)
		if broken = broken || err != nil; broken {
			delete(read, of)
		} else {
			read[of] = found
		}
		return nil
	}}
}

func (l *lockedState) lookUpSubscription(sub string) []engine.Lookup {
	return []engine.Lookup{
		lookUp(l.subscriptions, sub, subscriptionState{}, engine.Request{Statement: selectSubscription, Args: []any{sub}}, func(s subscriptionState, scan engine.Scanner) (subscriptionState, error) {
			found, err := scanSubscription(scan)
			s.found = &found
			return s, err
		}),
		{Request: engine.Request{Statement: anyLock, Args: []any{sub}}, Row: func(scan engine.Scanner) error {
			s, known := l.subscriptions[sub]
			err := scan(&s.locked)
			if known {
				l.subscriptions[sub] = s
			}
			return err
		}},
	}
}

func (l *lockedState) lookUpScope(of scopeOf) engine.Lookup {
	return lookUp(l.scopes, of, scopeState{}, lockScopeOf(of), func(_ scopeState, scan engine.Scanner) (scopeState, error) {
		return scanScope(scan)
	})
}

func (l *lockedState) lookUpRegistration(of registrationOf) engine.Lookup {
	request := engine.Request{Statement: selectRegistration, Args: []any{of.subscription, of.namespace}}
	return lookUp(l.registrations, of, NotRegistered, request, func(_ RegistrationState, scan engine.Scanner) (RegistrationState, error) {
		r, err := scanRegistration(scan)
		return r.State, err
	})
}

func (l *lockedState) lookUpIntents(of resourceOf) engine.Lookup {
	return lookUp(l.intents, of, nil, lockIntentsOf(of), func(open []index.Intent, scan engine.Scanner) ([]index.Intent, error) {
		_, in, err := scanIntent(scan)
		return append(open, in), err
	})
}

func (l *lockedState) lookUpRow(of resourceOf) engine.Lookup {
	return lookUp(l.rows, of, nil, lockRowOf(of), func(_ *Resource, scan engine.Scanner) (*Resource, error) {
		row, err := scanResource(scan)
		return &row, err
	})
}

// lockAssumed locks a resource that is assumed to be as this replica left it, and proves
// that it is: every change of its intents or its row gives the row another generation.
func lockAssumed(of resourceOf, left *resourceState) []engine.Lookup {
	return []engine.Lookup{{Request: lockIntentsOf(of)}, engine.Proof(lockGeneration, of.subscription, of.key, left.row.Generation[:])}
}

func (l *lockedState) lookUpAnyFence(sub string) engine.Lookup {
	return lookUp(l.unfenced, sub, false, engine.Request{Statement: anyFence, Args: []any{sub}}, func(_ bool, scan engine.Scanner) (bool, error) {
		found, err := engine.ScanOne[bool](scan)
		return !found, err
	})
}

func lockIntentsOf(of resourceOf) engine.Request {
	return engine.Request{Statement: lockIntents, Args: []any{of.subscription, of.key}}
}

func lockRowOf(of resourceOf) engine.Request {
	return engine.Request{Statement: lockResourceRow, Args: []any{of.subscription, of.key}}
}

// take removes a resource from the state and returns it.
func (l *lockedState) take(of resourceOf) (open []index.Intent, row *Resource, known bool) {
	open, known = l.intents[of]
	row, found := l.rows[of]
	delete(l.intents, of)
	delete(l.rows, of)
	return open, row, known && found
}

// row locks a resource that the member does not change. It returns ErrNotFound if there
// is none.
func (t *tx) row(sub, key string) (Resource, error) {
	row, known := t.locked.rows[resourceOf{sub, key}]
	switch {
	case !known:
		return loadResource(t, lockResourceRow, sub, key)
	case row == nil:
		return Resource{}, ErrNotFound
	}
	return *row, nil
}

// subscriptionState is a subscription whose row is locked.
type subscriptionState struct {
	found  *Subscription // nil: there is none
	locked bool          // there are locks in it
}

// unread is assumed of a row that a write locks without reading it: the write only
// waits for the holders of its lock.
const unread = "unread"

// scopeState is a group whose row is locked, with the state of its subscription.
type scopeState struct {
	found bool
	group Group
	// These belong to the subscription, and are known only with the group.
	state   SubscriptionState
	version int64
}

// scope locks a group. The result holds for all members, and so does an absence that
// was read before the members ran.
func (t *tx) scope(of scopeOf) (scopeState, error) {
	if s, known := t.locked.scopes[of]; known {
		return s, nil
	}
	q := lockScopeOf(of)
	s, err := scanScope(t.One(q.Statement, q.Args...))
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

// group locks a group, whatever the state of its subscription. It returns ErrNotFound
// if there is none.
func (t *tx) group(sub, name string) (Group, error) {
	s, err := t.scope(scopeOf{arm.Fold(sub), arm.Fold(name)})
	if err == nil && !s.found {
		err = ErrNotFound
	}
	return s.group, err
}

// groupRecordLocks are those of a write that locks a group and changes only its own
// records.
func groupRecordLocks(sub, group string) engine.LockSet {
	locks := transaction.GroupLocks(sub, group)
	locks.ChangesOwnOnly = true
	return locks
}

// resourceLocks are those of a write that locks a resource alone.
func resourceLocks(sub, key string) engine.LockSet {
	locks := jobrow.Locks(sub, key)
	locks.Rows = []engine.Row{{Kind: transaction.ResourceRow, Name: locks.Place[1]}}
	return locks
}

// settleLocks are those of a write that locks a resource alone, and assumes it to be as
// the intent of a ticket left it.
func settleLocks(ticket *Ticket) engine.LockSet {
	locks := resourceLocks(ticket.Subscription, ticket.Key)
	if ticket.left != nil {
		locks.Rows[0].Assumed = ticket.left
	}
	return locks
}

// writeLocks are those of a write that locks a group, reads the registration of a
// namespace, and locks a resource after its parent. namespace and above are folded,
// or empty.
func writeLocks(sub, group, namespace, above, key string) engine.LockSet {
	locks := engine.LockSet{Partition: arm.Fold(sub), Place: [2]string{arm.Fold(group), arm.Fold(key)}, ChangesOwnOnly: true}
	locks.Rows = append(make([]engine.Row, 0, 4), engine.Row{Kind: transaction.GroupRow, Name: locks.Place[0]})
	if namespace != "" {
		locks.Rows = append(locks.Rows, engine.Row{Kind: transaction.RegistrationRow, Name: namespace})
	}
	if above != "" {
		locks.Rows = append(locks.Rows, engine.Row{Kind: transaction.ParentRow, Name: above})
	}
	locks.Rows = append(locks.Rows, engine.Row{Kind: transaction.ResourceRow, Name: locks.Place[1]})
	return locks
}

// subscriptionAndGroupsLocks are those of a write that locks the subscription's own
// row and all its groups.
func subscriptionAndGroupsLocks(sub string) engine.LockSet {
	return transaction.RowsOf(sub, engine.Row{Kind: transaction.SubscriptionRow}, engine.Row{Kind: transaction.EveryGroup})
}

// everyGroupLocks are those of a write that locks all groups of a subscription, and
// not its own row.
func everyGroupLocks(sub string) engine.LockSet {
	return transaction.RowsOf(sub, engine.Row{Kind: transaction.EveryGroup})
}

// scopeLocks are those of a write about a lock: of the row of the group, or without
// one of the subscription, and of the lock itself.
func scopeLocks(sub, group string, of lockOf) engine.LockSet {
	locks := transaction.SubscriptionLocks(sub)
	if group != "" {
		locks = transaction.GroupLocks(sub, group)
	}
	locks.Rows = append(locks.Rows, engine.Row{Kind: transaction.LockRow, Name: of.scope + "\n" + of.name})
	return locks
}

// lockNamed returns the lock that a row of a lock set names.
func lockNamed(sub, row string) lockOf {
	scope, name, _ := strings.Cut(row, "\n")
	return lockOf{sub, scope, name}
}

// admissionLocks are those of a write that waits for all writes admitted to a group or,
// without one, to any group of the subscription. It reads none of the rows.
func admissionLocks(sub, group string) engine.LockSet {
	if group == "" {
		return everyGroupLocks(sub)
	}
	locks := transaction.GroupLocks(sub, group)
	locks.Rows[0].Assumed = unread
	return locks
}

// severalScopesLocks are those of a write that locks the groups of several
// subscriptions itself, and is stored with one of them.
func severalScopesLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), Alone: true}
}
