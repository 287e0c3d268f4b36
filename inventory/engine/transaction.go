package engine

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
)

// Tx is a writing transaction. Its members are the writes that share it.
type Tx struct {
	// Now is the store's time when the member began.
	Now time.Time
	// Context is the context of the member's caller. Only its values may be used, because
	// it may have ended.
	Context context.Context

	conn Conn
	// savepoints: each member has a savepoint, so its statements must run before it ends.
	savepoints bool
	// isolated: see Isolated.
	isolated bool
	// changed: the current member has changed something.
	changed bool
	// proves: see Proves.
	proves bool
	// failed is the first error of a statement; the database may have ended the
	// transaction by it.
	failed error
}

// NewTx returns the transaction that a connection has begun.
func NewTx(conn Conn) *Tx { return &Tx{conn: conn} }

// Base implements [Unit] for types that embed a Tx.
func (t *Tx) Base() *Tx { return t }

// LocksRows reports whether rows are locked one by one.
func (t *Tx) LocksRows() bool { return t.conn.LocksRows() }

// Isolated reports whether a refusal of the current member undoes nothing of another
// member. If not, the counts of all members can be checked at once: see [Unit].
func (t *Tx) Isolated() bool { return t.isolated }

// Proves reports whether members may check their expectations, and the effects of their
// statements, by a [Proof]. If a proof fails, the transaction is repeated without proofs.
// Proofs save round trips, so only engines that have some use them.
func (t *Tx) Proves() bool { return t.proves }

// MarkChanged records that the current member has changed something, although no
// statement for it has run yet.
func (t *Tx) MarkChanged() { t.changed = true }

// One implements [Source].
func (t *Tx) One(statement string, args ...any) Scanner {
	scan := t.conn.One(statement, args...)
	return func(dest ...any) error { return t.recordFailure(scan(dest...)) }
}

// Each implements [Source].
func (t *Tx) Each(row func(Scanner) error, statement string, args ...any) error {
	return t.recordFailure(t.conn.Each(row, statement, args...))
}

// Returning returns the Source for statements with RETURNING, which change rows.
func (t *Tx) Returning() Source {
	t.changed = true
	return t
}

// Exec runs a statement that changes rows, and returns their number.
func (t *Tx) Exec(statement string, args ...any) (int64, error) {
	t.changed = true
	n, err := t.conn.Exec(statement, args...)
	return n, t.recordFailure(err)
}

// Later runs a statement that changes rows, at the latest before the commit. Another call
// may return its error.
func (t *Tx) Later(statement string, args ...any) error {
	return t.postpone(Request{Statement: statement, Args: args})
}

// ChangeOne works like Later, for a statement that creates, changes or removes exactly one
// row. The transaction must have locked the row, or no other may be able to create it.
func (t *Tx) ChangeOne(statement string, args ...any) error {
	return t.postpone(Request{Statement: statement, Args: args, rows: 1})
}

// rowsAtOnce bounds the rows in one statement of CreateRows.
const rowsAtOnce = 64

// CreateRows runs an INSERT of one row, as ChangeOne does, for each of rows. One statement
// inserts a power of two of them, so that few statements are prepared.
func (t *Tx) CreateRows(insert string, rows [][]any) error {
	for n := rowsAtOnce; len(rows) > 0; {
		if n > len(rows) {
			n /= 2
			continue
		}
		r := Request{Statement: insertOf(insert, n), Args: slices.Concat(rows[:n]...), rows: int64(n)}
		if err := t.postpone(r); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// insertOf turns the statement that inserts one row into one that inserts n.
func insertOf(insert string, n int) string {
	before, values, _ := strings.Cut(insert, " VALUES ")
	row, after, _ := strings.Cut(values, ") ")
	return before + " VALUES " + strings.Repeat(row+"), ", n-1) + row + ") " + after
}

// CreateOne works like ChangeOne, for a row that the transaction has read as absent and that
// another transaction may create meanwhile. proof must fail if the row is not this
// transaction's.
func (t *Tx) CreateOne(create Request, proof Lookup) error {
	if err := t.ChangeOne(create.Statement, create.Args...); err != nil || t.savepoints || !t.conn.LocksRows() {
		return err // the statement has run, and its row count was checked
	}
	return t.LookUpLater(proof)
}

// LookUp runs queries in order, in one round trip.
func (t *Tx) LookUp(queries ...Lookup) error { return t.recordFailure(t.conn.LookUp(queries)) }

// LookUpLater runs queries at the latest before the commit. Another call may return their
// error.
func (t *Tx) LookUpLater(queries ...Lookup) error {
	if t.savepoints {
		return t.LookUp(queries...)
	}
	return t.recordFailure(t.conn.LookUpLater(queries))
}

func (t *Tx) postpone(r Request) error {
	if !t.savepoints {
		t.changed = true
		return t.recordFailure(t.conn.Later(r))
	}
	n, err := t.Exec(r.Statement, r.Args...)
	if err == nil {
		err = t.recordFailure(r.checkAffected(n))
	}
	return err
}

func (t *Tx) recordFailure(err error) error {
	if err != nil && t.failed == nil && !errors.Is(err, sql.ErrNoRows) {
		t.failed = err
	}
	return err
}
