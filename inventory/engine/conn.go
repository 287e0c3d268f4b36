package engine

import "context"

// Session is a connection that writes. Only its queue uses it.
type Session interface {
	// Begin starts a transaction, on a new connection if the last was discarded.
	Begin(ctx context.Context, d Durability) (Conn, error)
	// Discard closes the connection for good, with any open transaction, so that no fault
	// of one transaction reaches the next.
	Discard()
}

// Conn is an open transaction.
type Conn interface {
	Source
	// LocksRows reports whether rows are locked one by one. If not, the engine has one
	// writer.
	LocksRows() bool
	// Exec runs a statement and returns how many rows it affected.
	Exec(statement string, args ...any) (int64, error)
	// Later runs a statement whose result is not needed. It may run it as late as the next
	// query or the commit, which then returns its error.
	Later(r Request) error
	// LookUp runs queries, in order, in one round trip.
	LookUp(queries []Lookup) error
	// LookUpLater runs queries as late as Later runs statements.
	LookUpLater(queries []Lookup) error
	// Commit runs the postponed statements and commits. After an [UnsureError] the
	// transaction may have been committed, after any other error it was not.
	Commit() error
	Rollback() error
}

// Request is a statement with its arguments.
type Request struct {
	Statement string
	Args      []any
	// rows is the number of rows that it must change, because the transaction has locked
	// them or proved their absence; 0 for any number.
	rows int64
}

// checkAffected returns ErrOvertaken if the statement affected another number of rows
// than it must.
func (r Request) checkAffected(affected int64) error {
	if r.rows > 0 && affected != r.rows {
		return ErrOvertaken
	}
	return nil
}

// Lookup is a query and the function for its rows. A query that only locks rows has no
// Row.
type Lookup struct {
	Request
	Row func(Scanner) error
}

// LookupOf returns a query that passes each row, as read by scan, to keep.
func LookupOf[T any](statement string, keep func(T), scan func(Scanner) (T, error), args ...any) Lookup {
	return Lookup{Request: Request{Statement: statement, Args: args}, Row: func(row Scanner) error {
		found, err := scan(row)
		if err == nil {
			keep(found)
		}
		return err
	}}
}

// Proof returns a query that divides by zero if the transaction expects something that is
// not true. Only engines that lock rows need it; they turn that failure into ErrOvertaken.
func Proof(statement string, args ...any) Lookup {
	return Lookup{Request: Request{Statement: statement, Args: args}}
}

func (l Lookup) scanRow(row Scanner) error {
	if l.Row == nil {
		return nil
	}
	return l.Row(row)
}
