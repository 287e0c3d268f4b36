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
	later(statement string, args ...any) error
	// fetch asks queries, of a subscription and a key each, before they are
	// needed. Each answer is given once; forget drops those that are left.
	fetch(queries []request) error
	forget()
	// ahead says which query comes after the next one, for both to be sent at
	// once. Any other is right too.
	ahead(statement string, args ...any)
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
}
