package inventory

import (
	"strings"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
)

// The kinds of rows in lock sets. Every transaction locks them in this order; where
// writes share one, a resource and its parent come before those of the next write.
const (
	subscriptionRow uint8 = iota // the subscription's own
	everyGroup                   // all groups of the subscription, so that no intent is just being recorded
	groupRow                     // one group, which is read with the state of its subscription
	lockRow                      // a lock on a scope, with how many there are; see lockNamed
	registrationRow              // of a namespace; read alone
	fenceRow                     // of a resource; read alone
	parentRow                    // the resource above, which is not changed
	resourceRow                  // a resource and its open intents; see lockResource
)

// rowsOf makes a lock set of a subscription; names of rows are folded.
func rowsOf(sub string, rows ...engine.Row) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), Rows: rows}
}

// groupLocks are those of a write that locks a group.
func groupLocks(sub, group string) engine.LockSet {
	locks := rowsOf(sub, engine.Row{Kind: groupRow, Name: arm.Fold(group)})
	locks.Place[0] = locks.Rows[0].Name
	return locks
}

// groupRecordLocks are those of a write that locks a group, and changes only its own
// records.
func groupRecordLocks(sub, group string) engine.LockSet {
	locks := groupLocks(sub, group)
	locks.ChangesOwnOnly = true
	return locks
}

// newGroupLocks are those of a write that may create a group: a new one must not slip
// in behind a transaction that has locked all groups.
func newGroupLocks(sub, group string) engine.LockSet {
	locks := groupLocks(sub, group)
	locks.Rows = append([]engine.Row{{Kind: subscriptionRow}}, locks.Rows...)
	return locks
}

// resourceLocks are those of a write that locks a resource alone.
func resourceLocks(sub, key string) engine.LockSet {
	locks := jobrow.Locks(sub, key)
	locks.Rows = []engine.Row{{Kind: resourceRow, Name: locks.Place[1]}}
	return locks
}

// settleLocks are those of a write that locks a resource alone, and takes it to be as
// the intent of a ticket has left it.
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
	locks.Rows = append(make([]engine.Row, 0, 4), engine.Row{Kind: groupRow, Name: locks.Place[0]})
	if namespace != "" {
		locks.Rows = append(locks.Rows, engine.Row{Kind: registrationRow, Name: namespace})
	}
	if above != "" {
		locks.Rows = append(locks.Rows, engine.Row{Kind: parentRow, Name: above})
	}
	locks.Rows = append(locks.Rows, engine.Row{Kind: resourceRow, Name: locks.Place[1]})
	return locks
}

// subscriptionLocks are those of a write that locks the subscription's own row.
func subscriptionLocks(sub string) engine.LockSet {
	return rowsOf(sub, engine.Row{Kind: subscriptionRow})
}

// subscriptionAndGroupsLocks are those of a write that locks the subscription's own
// row and all its groups.
func subscriptionAndGroupsLocks(sub string) engine.LockSet {
	return rowsOf(sub, engine.Row{Kind: subscriptionRow}, engine.Row{Kind: everyGroup})
}

// everyGroupLocks are those of a write that locks all groups of a subscription, and
// not its own row.
func everyGroupLocks(sub string) engine.LockSet {
	return rowsOf(sub, engine.Row{Kind: everyGroup})
}

// scopeLocks are those of a write about a lock: of the row of the group, or without
// one of the subscription, and of the lock itself.
func scopeLocks(sub, group string, of lockOf) engine.LockSet {
	locks := subscriptionLocks(sub)
	if group != "" {
		locks = groupLocks(sub, group)
	}
	locks.Rows = append(locks.Rows, engine.Row{Kind: lockRow, Name: of.scope + "\n" + of.name})
	return locks
}

// lockNamed is the lock that a row of a lock set names.
func lockNamed(sub, row string) lockOf {
	scope, name, _ := strings.Cut(row, "\n")
	return lockOf{sub, scope, name}
}

// admissionLocks are those of a write that waits for all who were admitted to a group,
// or without one to any group of the subscription, and looks at none.
func admissionLocks(sub, group string) engine.LockSet {
	if group == "" {
		return everyGroupLocks(sub)
	}
	locks := groupLocks(sub, group)
	locks.Rows[0].Assumed = unread
	return locks
}

// severalScopesLocks are those of a write that locks the groups of several
// subscriptions itself, and is stored with one of them.
func severalScopesLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), Alone: true}
}

// recordLocks are those of a write that locks neither the subscription nor a group,
// and changes only its own records.
func recordLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), ChangesOwnOnly: true}
}
