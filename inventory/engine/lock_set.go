package engine

import "cmp"

// LockSet names the rows that a write locks, and the write's place among the writes of a
// transaction.
type LockSet struct {
	// Partition names the owner of the rows. The writes of one partition share a queue.
	// If rows are locked one by one, only writes of one partition share a transaction.
	Partition string
	// Place orders the writes of a transaction, and so the locks of their rows. Every
	// transaction locks in this order.
	Place [2]string
	// Rows are locked, or read under these locks, before the write runs, in the order of
	// their kinds.
	Rows []Row
	// Alone: the write shares its transaction with no other, because it locks rows that
	// have no place in the order of locks.
	Alone bool
	// ChangesOwnOnly: no other write of the transaction reads what this one changes,
	// unless it locks the same row.
	ChangesOwnOnly bool
	// Expects is the expected generation of one of Rows; zero: none is expected.
	Expects Expectation
}

// Row names one or several rows that a write locks.
type Row struct {
	Kind uint8 // the owner of the tables numbers them
	Name string
	// Unread: the row is not read; the write only waits for the holders of its lock.
	Unread bool
}

// Expectation is the generation that a write expects a row to have. The caller knows the
// row's value at that generation, so only the generation is checked, by one [Proof] if
// [Tx.Proves]. A row with another generation is read.
type Expectation struct {
	Key        string
	Generation [16]byte
}

func (l LockSet) compare(other LockSet) int {
	return cmp.Or(cmp.Compare(l.Place[0], other.Place[0]), cmp.Compare(l.Place[1], other.Place[1]))
}
