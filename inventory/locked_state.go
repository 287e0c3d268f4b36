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

// lockedState holds the rows that a transaction has locked and read for its members: their
// groups, registrations, resources and parents. It is valid until a member changes one of
// them. Members read all other rows themselves.
//
// A group without a row cannot be locked, and the resources read for it may be older
// than a transaction that created both. So the group stays absent for all members, and
// none reads the resources. The member that creates the group clears everything.
//
// A member takes the resource that it locks out of the state, so that no other member
// sees a stale copy. A member that changes more than its resource clears everything.
type lockedState struct {
	subscriptions map[string]subscriptionState
	locks         map[lockOf]lockState
	scopes        map[scopeOf]scopeState
	registrations map[registrationOf]RegistrationState
	rows          map[resourceOf]*Resource // nil if there is no row
	intents       map[resourceOf][]index.Intent
	unfenced      map[string]bool // whether a subscription has no fences
	// generations has the generations of resources that are not read because a member
	// expects them: proved or, on an engine without proofs, read; zero if there is no row.
	generations map[resourceOf][16]byte
	// written has the regions that the transaction has recorded for its groups.
	written map[writtenRegion]bool
}

// resourceState is a resource as a transaction has left it. It is immutable.
type resourceState struct {
	row  *Resource // nil if there is none
	open []index.Intent
}

// These identify one record each. All fields are folded.
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
		unfenced: map[string]bool{}, generations: map[resourceOf][16]byte{}, written: map[writtenRegion]bool{},
	}
}

func (l *lockedState) forget() { *l = *newLockedState() }

// Lock implements [engine.Unit]. It locks the rows that members need: the subscription's
// own row, its groups, and their resources, in the order of every transaction; in between
// it reads registrations. If members only lock or expect rows, and read none, it does not
// wait for the answers.
func (t *tx) Lock(members []*engine.Write) error {
	queries := make([]engine.Lookup, 0, 4*len(members))
	if t.LocksRows() {
		queries = appendLocks(queries, members)
	}
	locks := len(queries)
	for kind := transaction.SubscriptionRow; kind < transaction.ParentRow; kind++ {
		for m, row := range rowsIn(members, kind, kind) {
			queries = append(queries, t.lookUpOther(m.Partition, row)...)
		}
	}
	read := len(queries) > locks
	queries, readResources := t.appendResources(queries, members)
	if read || readResources {
		return t.LookUp(queries...)
	}
	return t.LookUpLater(queries...)
}

// lookUpOther returns the lookups of a row that is not a resource, unless it has been read
// for another member.
func (t *tx) lookUpOther(sub string, row *engine.Row) []engine.Lookup {
	l := t.locked
	switch row.Kind {
	case transaction.SubscriptionRow:
		if t.LocksRows() { // without row locks it is read when it is needed
			return lookUpOnce(l.subscriptions, sub, l.lookUpSubscription)
		}
	case transaction.GroupRow:
		if !row.Unread {
			return lookUpOnce(l.scopes, scopeOf{sub, row.Name}, l.lookUpScope)
		}
	case transaction.LockRow:
		return lookUpOnce(l.locks, lockNamed(sub, row.Name), t.lookUpLock)
	case transaction.RegistrationRow:
		return lookUpOnce(l.registrations, registrationOf{sub, row.Name}, l.lookUpRegistration)
	case transaction.FenceRow:
		if t.LocksRows() { // without row locks only creates read it
			return lookUpOnce(l.unfenced, sub, l.lookUpAnyFence)
		}
	}
	return nil
}

// appendResources appends the lookups that lock and read resources. Of a resource that a
// member expects they read only the generation. read reports whether a member waits for an
// answer.
func (t *tx) appendResources(queries []engine.Lookup, members []*engine.Write) (_ []engine.Lookup, read bool) {
	l := t.locked
	together := resourceReads{}
	for m, row := range rowsIn(members, transaction.ParentRow, transaction.ResourceRow) {
		of := resourceOf{m.Partition, row.Name}
		_, loaded := l.rows[of]
		if _, known := l.generations[of]; loaded || known {
			continue
		}
		expected := m.Expects.Key == row.Name
		if expected && t.Proves() {
			l.generations[of] = m.Expects.Generation
			queries = append(queries, lockExpected(of, m.Expects.Generation)...)
			continue
		}
		read = true
		switch {
		case !t.LocksRows():
			together.add(l, of, row.Kind, expected)
		case row.Kind == transaction.ParentRow:
			queries = append(queries, l.lookUpRow(of))
		default:
			queries = append(queries, l.lookUpIntents(of), l.lookUpRow(of)) // in the order of lockResource
		}
	}
	return together.appendTo(queries, l), read
}

// appendLocks appends the lookups that lock the rows of the subscription and of groups. A
// statement that waits for a lock may read other rows as they were before the wait, so its
// results are dropped. All members belong to one subscription.
func appendLocks(queries []engine.Lookup, members []*engine.Write) []engine.Lookup {
	for _, lock := range [...]struct {
		kind      uint8
		statement string
	}{{transaction.SubscriptionRow, lockSubscription}, {transaction.EveryGroup, lockGroups}, {transaction.GroupRow, lockGroup}} {
		var last *engine.Row
		for m, row := range rowsIn(members, lock.kind, lock.kind) {
			if last != nil && *last == *row {
				continue
			}
			last = row
			args := []any{m.Partition}
			if row.Kind == transaction.GroupRow {
				args = append(args, row.Name)
			}
			queries = append(queries, engine.Lookup{Request: engine.Request{Statement: lock.statement, Args: args}})
		}
	}
	return queries
}

// rowsIn yields the members' rows of the kinds from first to last, member by member, each
// with its lock set.
func rowsIn(members []*engine.Write, first, last uint8) iter.Seq2[*engine.LockSet, *engine.Row] {
	return func(yield func(*engine.LockSet, *engine.Row) bool) {
		for _, m := range members {
			for i := range m.Locks.Rows {
				row := &m.Locks.Rows[i]
				if row.Kind >= first && row.Kind <= last && !yield(&m.Locks, row) {
					return
				}
			}
		}
	}
}

// lookUp returns a lookup that stores its result in read, starting from absent. If a row
// cannot be read it stores nothing: only the member that reads the row again fails.
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

// lookUpOnce returns the lookups of a record unless it has been read.
func lookUpOnce[K comparable, V any](read map[K]V, of K, lookUp func(K) []engine.Lookup) []engine.Lookup {
	if _, loaded := read[of]; loaded {
		return nil
	}
	return lookUp(of)
}

func (l *lockedState) lookUpSubscription(sub string) []engine.Lookup {
	request := engine.Request{Statement: selectSubscription, Args: []any{sub}}
	return []engine.Lookup{
		lookUp(l.subscriptions, sub, subscriptionState{}, request, func(s subscriptionState, scan engine.Scanner) (subscriptionState, error) {
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

func (l *lockedState) lookUpScope(of scopeOf) []engine.Lookup {
	return []engine.Lookup{lookUp(l.scopes, of, scopeState{}, lockScopeOf(of), func(_ scopeState, scan engine.Scanner) (scopeState, error) {
		return scanScope(scan)
	})}
}

func (l *lockedState) lookUpRegistration(of registrationOf) []engine.Lookup {
	request := engine.Request{Statement: selectRegistration, Args: []any{of.subscription, of.namespace}}
	return []engine.Lookup{lookUp(l.registrations, of, NotRegistered, request, func(_ RegistrationState, scan engine.Scanner) (RegistrationState, error) {
		r, err := scanRegistration(scan)
		return r.State, err
	})}
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

// lockExpected returns the lookups that lock a resource and prove its generation, which
// every change of its intents or its row replaces.
func lockExpected(of resourceOf, generation [16]byte) []engine.Lookup {
	return []engine.Lookup{{Request: lockIntentsOf(of)}, engine.Proof(lockGeneration, of.subscription, of.key, generation[:])}
}

func (l *lockedState) lookUpAnyFence(sub string) []engine.Lookup {
	request := engine.Request{Statement: anyFence, Args: []any{sub}}
	return []engine.Lookup{lookUp(l.unfenced, sub, false, request, func(_ bool, scan engine.Scanner) (bool, error) {
		found, err := engine.ScanOne[bool](scan)
		return !found, err
	})}
}

func lockIntentsOf(of resourceOf) engine.Request {
	return engine.Request{Statement: lockIntents, Args: []any{of.subscription, of.key}}
}

func lockRowOf(of resourceOf) engine.Request {
	return engine.Request{Statement: lockResourceRow, Args: []any{of.subscription, of.key}}
}

// takeResource removes a resource from the state and returns it.
func (l *lockedState) takeResource(of resourceOf) (open []index.Intent, row *Resource, known bool) {
	open, known = l.intents[of]
	row, found := l.rows[of]
	delete(l.intents, of)
	delete(l.rows, of)
	delete(l.generations, of)
	return open, row, known && found
}

// addExpected adds a resource that its member expects, if the expected generation was
// proved or read.
func (l *lockedState) addExpected(of resourceOf, kept resourceState) {
	if generation, known := l.generations[of]; known && kept.row != nil && kept.row.Generation == generation {
		l.rows[of], l.intents[of] = kept.row, kept.open
	}
}

// lockRow locks and returns a resource that the member does not change. It returns
// ErrNotFound if there is none.
func (t *tx) lockRow(sub, key string) (Resource, error) {
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
	found  *Subscription // nil if there is none
	locked bool          // there are management locks in it
}

// scopeState is a group whose row is locked, with the state of its subscription.
type scopeState struct {
	found bool
	group Group
	// These belong to the subscription, and are set only if there is a group.
	state   SubscriptionState
	version int64
}

// lockScope locks and returns a group with the state of its subscription. The result, also
// an absence, is the same for all members.
func (t *tx) lockScope(of scopeOf) (scopeState, error) {
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
	// Everything else was read before this lock.
	scopes := t.locked.scopes
	t.locked.forget()
	t.locked.scopes = scopes
	t.locked.scopes[of] = s
	return s, nil
}

// lockAnyGroup locks and returns a group, whatever the state of its subscription. It
// returns ErrNotFound if there is no group.
func (t *tx) lockAnyGroup(sub, name string) (Group, error) {
	s, err := t.lockScope(scopeOf{arm.Fold(sub), arm.Fold(name)})
	if err == nil && !s.found {
		err = ErrNotFound
	}
	return s.group, err
}

// groupRecordLocks returns the lock set of a write that locks a group and changes only its
// own records.
func groupRecordLocks(sub, group string) engine.LockSet {
	locks := transaction.GroupLocks(sub, group)
	locks.ChangesOwnOnly = true
	return locks
}

// resourceLocks returns the lock set of a write that locks only a resource.
func resourceLocks(sub, key string) engine.LockSet {
	locks := jobrow.Locks(sub, key)
	locks.Rows = []engine.Row{{Kind: transaction.ResourceRow, Name: locks.Place[1]}}
	return locks
}

// settleLocks returns the lock set of a write that locks only a resource, and expects it to
// be as Begin left it.
func settleLocks(ticket *Ticket) engine.LockSet {
	locks := resourceLocks(ticket.Subscription, ticket.Key)
	if ticket.left.row != nil {
		locks.Expects = engine.Expectation{Key: locks.Rows[0].Name, Generation: ticket.left.row.Generation}
	}
	return locks
}

// writeLocks returns the lock set of a write that locks a group, reads the registration of
// a namespace, and locks a resource after its parent. namespace and above are folded, or
// empty.
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

// subscriptionAndGroupsLocks returns the lock set of a write that locks the subscription's
// own row and all its groups.
func subscriptionAndGroupsLocks(sub string) engine.LockSet {
	return transaction.RowsOf(sub, engine.Row{Kind: transaction.SubscriptionRow}, engine.Row{Kind: transaction.EveryGroup})
}

// everyGroupLocks returns the lock set of a write that locks all groups of a subscription,
// but not its own row.
func everyGroupLocks(sub string) engine.LockSet {
	return transaction.RowsOf(sub, engine.Row{Kind: transaction.EveryGroup})
}

// scopeLocks returns the lock set of a change of a management lock: the row of the group
// or, without one, of the subscription, and the lock itself.
func scopeLocks(sub, group string, of lockOf) engine.LockSet {
	locks := transaction.SubscriptionLocks(sub)
	if group != "" {
		locks = transaction.GroupLocks(sub, group)
	}
	locks.Rows = append(locks.Rows, engine.Row{Kind: transaction.LockRow, Name: of.scope + "\n" + of.name})
	return locks
}

// lockNamed returns the management lock that a row of a lock set refers to.
func lockNamed(sub, row string) lockOf {
	scope, name, _ := strings.Cut(row, "\n")
	return lockOf{sub, scope, name}
}

// admissionLocks returns the lock set of a write that waits for all writes admitted to a
// group or, without one, to any group of the subscription. It reads none of the rows.
func admissionLocks(sub, group string) engine.LockSet {
	if group == "" {
		return everyGroupLocks(sub)
	}
	locks := transaction.GroupLocks(sub, group)
	locks.Rows[0].Unread = true
	return locks
}

// severalScopesLocks returns the lock set of a write that locks the groups of several
// subscriptions itself, and is stored with one of the subscriptions.
func severalScopesLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), Alone: true}
}
