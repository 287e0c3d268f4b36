package engine

import "cmp"

// LockSet says which rows a write locks, and where it stands among the writes of
// a transaction.
type LockSet struct {
	// Partition is what the rows belong to. The writes of one partition share a
	// queue. Where rows are locked one by one, no others share their transaction.
	Partition string
	// Place orders the writes of a transaction, and with them the locks of their
	// rows. Every transaction locks in this order.
	Place [2]string
	// Rows are locked, or read behind these locks, before the write runs; in the
	// order of their kinds.
	Rows []Row
	// Alone: the write shares its transaction with no other, as it locks what has
	// no place in their order.
	Alone bool
	// ChangesOwnOnly: what the write changes is read by no other write of its
	// transaction, unless it takes the same row.
	ChangesOwnOnly bool
}

// Row is a row, or several, that a write locks.
type Row struct {
	Kind uint8 // the owner of the tables numbers them
	Name string
	// Assumed is what the write takes the row to be; see [Tx.Assumes]. Nil: it is read.
	Assumed any
}

func (l LockSet) compare(other LockSet) int {
	return cmp.Or(cmp.Compare(l.Place[0], other.Place[0]), cmp.Compare(l.Place[1], other.Place[1]))
}
