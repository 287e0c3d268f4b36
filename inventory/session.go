package inventory

import "context"

// session is a connection that writes. Only its lane uses it.
type session interface {
	// begin starts a transaction, on a new connection when the last was
	// discarded.
	begin(ctx context.Context, d durability) (link, error)
	// discard closes the connection for good, and with it whatever transaction
	// is left on it, so that no fault of one batch reaches the next.
	discard()
}

// link is a transaction under way, as its engine runs it.
type link interface {
	source
	// exec runs a statement and returns how many rows it affected.
	exec(statement string, args ...any) (int64, error)
	// later runs a statement whose outcome nobody looks at, at the latest before
	// the next query or the commit. That then tells of its failure.
	later(r request) error
	// lookUp asks queries, one after the other, in one round trip.
	lookUp(queries []lookup) error
	// flush runs what was left for later.
	flush() error
	// commit ends the transaction. An error leaves open whether it was
	// committed, unless retryable or lost says otherwise.
	commit() error
	rollback() error
}

// request is a statement with its arguments.
type request struct {
	statement string
	args      []any
	// presumed: it changes one row, of which the transaction has read that it is
	// there, or that it is not; errOvertaken where that is no longer true.
	presumed bool
}

// judge judges a statement by the number of rows that it has affected.
func (r request) judge(affected int64) error {
	if r.presumed && affected != 1 {
		return errOvertaken
	}
	return nil
}
