package inventory

import (
	"strings"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// groupRecordLocks are those of a write that locks a group, and changes only its own
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
	locks := transaction.GroupLocks(sub, group)
	locks.Rows[0].Assumed = unread
	return locks
}

// severalScopesLocks are those of a write that locks the groups of several
// subscriptions itself, and is stored with one of them.
func severalScopesLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), Alone: true}
}
