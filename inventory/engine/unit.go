package engine

// Unit is what the owner of the tables keeps beside one transaction. It is used by
// one goroutine.
type Unit interface {
	// Base is the transaction itself.
	Base() *Tx
	// Lock locks and reads the rows of all members, in one round trip, and in the order
	// in which every transaction locks rows.
	Lock(members []*Write) error
	// Forget drops what was read behind the locks: it may have changed, or the locks
	// were given back.
	Forget()
	// Complete runs what the members left for the end of the transaction. It returns
	// ErrRunSeparately if one of them has to be refused for that.
	Complete() error
	// Ended is called when the transaction is over, before its callers are answered;
	// also if nobody knows whether it was committed.
	Ended()
}
