package engine

import "cmp"

// LockSet says which rows a write locks, and its place among the writes of a
// transaction.
type LockSet struct {
	// Partition names the owner of the rows. The writes of one partition share a queue.
	// If rows are locked one by one, only writes of one partition share a transaction.
	Partition string
	// Place orders the writes of a transaction, and with them the locks of their
	// rows. Every transaction locks in this order.
	Place [2]string
	// Rows are locked, or read under these locks, before the write runs; in the order of
	// their kinds.
	Rows []Row
	// Alone: the write shares its transaction with no other, because it locks rows that
	// have no place in the order.
	Alone bool
	// ChangesOwnOnly: no other write of the transaction reads what this one changes,
	// unless it takes the same row.
	ChangesOwnOnly bool
}

// Row is one row, or several, that a write locks.
type Row struct {
	Kind uint8 // the owner of the tables numbers them
	Name string
	// Assumed is the row as the write assumes it to be; see [Tx.Assumes]. Nil: the row
	// is read.
	Assumed any
}

func (l LockSet) compare(other LockSet) int {
	return cmp.Or(cmp.Compare(l.Place[0], other.Place[0]), cmp.Compare(l.Place[1], other.Place[1]))
}
