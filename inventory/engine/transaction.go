package engine

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
)

// Tx is a writing transaction, as its members see it.
type Tx struct {
	// Now is the store's time when the member began.
	Now time.Time
	// Context is that of the member's caller, for its values alone: it may have ended.
	Context context.Context

	conn Conn
	// savepoints: each member has one, so its statements must run before it ends.
	savepoints bool
	// isolated: a member's refusal undoes nothing of another member.
	isolated bool
	// changed: the current member has changed something.
	changed bool
	// proves: see Proves.
	proves bool
	// failed is the first failure of a statement; the engine may have given up
	// the transaction then.
	failed error
}

// NewTx returns a transaction on a connection that has begun one.
func NewTx(conn Conn) *Tx { return &Tx{conn: conn} }

// Base implements [Unit] for types that embed a Tx.
func (t *Tx) Base() *Tx { return t }

// LocksRows reports whether rows are locked one by one.
func (t *Tx) LocksRows() bool { return t.conn.LocksRows() }

// Isolated reports whether a refusal of the current member undoes nothing of another
// member. If not, the counts of all members can be checked at once: see [Unit].
func (t *Tx) Isolated() bool { return t.isolated }

// Proves reports whether members may leave it to a [Proof] to check what they expect of
// rows, and what their statements come to. If one fails, the transaction is repeated and
// proves nothing. That saves round trips, so it is for engines that have some.
func (t *Tx) Proves() bool { return t.proves }

// MarkChanged notes that the current member has changed something, though it has run no
// statement for that yet.
func (t *Tx) MarkChanged() { t.changed = true }

// One implements [Source].
func (t *Tx) One(statement string, args ...any) Scanner {
	scan := t.conn.One(statement, args...)
	return func(dest ...any) error { return t.check(scan(dest...)) }
}

// Each implements [Source].
func (t *Tx) Each(row func(Scanner) error, statement string, args ...any) error {
	return t.check(t.conn.Each(row, statement, args...))
}

// Returning is the Source for the rows of a statement that changes them.
func (t *Tx) Returning() Source {
	t.changed = true
	return t
}

// Exec runs a statement that changes rows, and returns their number.
func (t *Tx) Exec(statement string, args ...any) (int64, error) {
	t.changed = true
	n, err := t.conn.Exec(statement, args...)
	return n, t.check(err)
}

// Later runs a statement that changes rows, at the engine's convenience. Another call
// may return its failure.
func (t *Tx) Later(statement string, args ...any) error {
	return t.postpone(Request{Statement: statement, Args: args})
}

// ChangeOne is Later for a statement that creates, changes or removes one row: one that
// the transaction has locked, or that no other transaction can create.
func (t *Tx) ChangeOne(statement string, args ...any) error {
	return t.postpone(Request{Statement: statement, Args: args, rows: 1})
}

// rowsAtOnce is how many rows a statement of CreateRows has at most.
const rowsAtOnce = 64

// CreateRows runs an INSERT of one row, as ChangeOne does, for each of rows. A statement
// creates as many of them as a power of two says, so that few texts are prepared.
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

// insertOf returns the text that inserts n rows, made of the one that inserts one.
func insertOf(insert string, n int) string {
	before, values, _ := strings.Cut(insert, " VALUES ")
	row, after, _ := strings.Cut(values, ") ")
	return before + " VALUES " + strings.Repeat(row+"), ", n-1) + row + ") " + after
}

// CreateOne is ChangeOne for a row that the transaction has read as absent and that
// another transaction may create meanwhile. The proof is that the row is this
// transaction's.
func (t *Tx) CreateOne(create Request, proof Lookup) error {
	if err := t.ChangeOne(create.Statement, create.Args...); err != nil || t.savepoints || !t.conn.LocksRows() {
		return err // which has been judged by now
	}
	return t.LookUpLater(proof)
}

// LookUp asks queries, in their order and in one round trip.
func (t *Tx) LookUp(queries ...Lookup) error { return t.check(t.conn.LookUp(queries)) }

// LookUpLater runs queries at the engine's convenience. Another call may return their
// failure.
func (t *Tx) LookUpLater(queries ...Lookup) error {
	if t.savepoints {
		return t.LookUp(queries...)
	}
	return t.check(t.conn.LookUpLater(queries))
}

func (t *Tx) postpone(r Request) error {
	if !t.savepoints {
		t.changed = true
		return t.check(t.conn.Later(r))
	}
	n, err := t.Exec(r.Statement, r.Args...)
	if err == nil {
		err = t.check(r.judge(n))
	}
	return err
}

func (t *Tx) check(err error) error {
	if err != nil && t.failed == nil && !errors.Is(err, sql.ErrNoRows) {
		t.failed = err
	}
	return err
}
