package engine

// Unit is the state that the owner of the tables keeps for one transaction. One
// goroutine uses it.
type Unit interface {
	// Base is the transaction itself.
	Base() *Tx
	// Lock locks and reads the rows of all members, in one round trip, and in the order
	// in which every transaction locks rows.
	Lock(members []*Write) error
	// Forget drops the rows that were read behind the locks: they may have changed, or
	// the locks were released.
	Forget()
	// Complete runs the members' work for the end of the transaction. It returns
	// ErrRunSeparately if that means refusing one of them.
	Complete() error
	// Ended is called after the transaction and before its callers are answered, even
	// if the outcome of the commit is unknown.
	Ended()
}
