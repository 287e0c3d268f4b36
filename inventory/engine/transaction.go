package engine

import (
	"database/sql"
	"errors"
	"time"
)

// Tx is a writing transaction, as its members see it.
type Tx struct {
	// Now is the store's time when the member began.
	Now time.Time

	conn Conn
	// savepoints: each member has one, so its statements must run before it ends.
	savepoints bool
	// isolated: a member's refusal undoes nothing of another member.
	isolated bool
	// changed: the current member has changed something.
	changed bool
	// failed is the first failure of a statement; the engine may have ended the
	// transaction then.
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

// MarkChanged records that the current member has changed something, although it has
// run no statement for that yet.
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

// ChangeOne is Later for a statement that creates, changes or removes one row. The
// transaction is repeated if the row is no longer as it was read.
func (t *Tx) ChangeOne(statement string, args ...any) error {
	return t.postpone(Request{Statement: statement, Args: args, one: true})
}

// LookUp runs queries, in order, in one round trip.
func (t *Tx) LookUp(queries ...Lookup) error { return t.check(t.conn.LookUp(queries)) }

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
