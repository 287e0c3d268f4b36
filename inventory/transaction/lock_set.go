package transaction

import (
	"portico/arm"
	"portico/inventory/engine"
)

// The kinds of rows in lock sets. Every transaction locks them in this order; where
// writes share one, a resource and its parent come before those of the next write.
const (
	SubscriptionRow uint8 = iota // the subscription's own
	EveryGroup                   // all groups of the subscription, so that no intent is just being recorded
	GroupRow                     // one group, which is read with the state of its subscription
	LockRow                      // a lock on a scope, with how many there are
	RegistrationRow              // of a namespace; read alone
	FenceRow                     // of a resource; read alone
	ParentRow                    // the resource above, which is not changed
	ResourceRow                  // a resource and its open intents
)

// RowsOf makes a lock set of a subscription; names of rows are folded.
func RowsOf(sub string, rows ...engine.Row) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), Rows: rows}
}

// GroupLocks are those of a write that locks a group.
func GroupLocks(sub, group string) engine.LockSet {
	locks := RowsOf(sub, engine.Row{Kind: GroupRow, Name: arm.Fold(group)})
	locks.Place[0] = locks.Rows[0].Name
	return locks
}

// NewGroupLocks are those of a write that may create a group: a new one must not slip
// in behind a transaction that has locked all groups.
func NewGroupLocks(sub, group string) engine.LockSet {
	locks := GroupLocks(sub, group)
	locks.Rows = append([]engine.Row{{Kind: SubscriptionRow}}, locks.Rows...)
	return locks
}

// SubscriptionLocks are those of a write that locks the subscription's own row.
func SubscriptionLocks(sub string) engine.LockSet {
	return RowsOf(sub, engine.Row{Kind: SubscriptionRow})
}

// RecordLocks are those of a write that locks neither the subscription nor a group,
// and changes only its own records.
func RecordLocks(sub string) engine.LockSet {
	return engine.LockSet{Partition: arm.Fold(sub), ChangesOwnOnly: true}
}
