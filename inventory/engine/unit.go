package engine

// Unit is the state that the owner of the tables keeps for one transaction. One
// goroutine uses it.
type Unit interface {
	// Base returns the transaction itself.
	Base() *Tx
	// Lock locks and reads the rows of all members in one round trip, in the order of
	// their kinds and places that every transaction follows.
	Lock(members []*Write) error
	// Forget drops the rows that were read under the locks: they may have changed, or
	// the locks were released.
	Forget()
	// Complete runs the work that members left for the end of the transaction. It returns
	// ErrRunSeparately if one of the members has to be refused.
	Complete() error
	// Ended is called after the transaction, before its callers return, even if the
	// outcome of the commit is unknown.
	Ended()
}
