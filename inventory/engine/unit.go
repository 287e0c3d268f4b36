package engine

// Unit is the state that the tables' owner keeps beside one transaction. One goroutine
// uses it.
type Unit interface {
	// Base is the transaction itself.
	Base() *Tx
	// Lock locks and reads the rows of all members, in one round trip, and in the order
	// in which every transaction locks rows.
	Lock(members []*Write) error
	// Forget drops what was read behind the locks: it may have changed, or the locks
	// were given back.
	Forget()
	// Complete runs the members' work for the end of the transaction. It returns
	// ErrRunSeparately if that means refusing one of them.
	Complete() error
	// Ended is called after the transaction, before its callers are answered; also if
	// nobody knows whether it was committed.
	Ended()
}
