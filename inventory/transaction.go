package inventory

import (
	"database/sql"
	"errors"
	"strings"
	"time"
)

// tx is the writing transaction as its members see it.
type tx struct {
	link    link
	now     time.Time // the store's, read when the member began
	places  *places
	changed []place // what the location cache must forget once this commits
	// pollFloor is how long what is to be asked of a provider waits at least.
	pollFloor time.Duration

	// singly: each member has a savepoint, so that what it does is done before it
	// ends.
	singly bool
	// apart: a member's refusal takes nothing of another with it, so that
	// quotas are checked at once and not at the end.
	apart bool
	// wrote: the member under way has changed something.
	wrote bool
	// failed is the first failure of a statement; the engine may have given up
	// the transaction then.
	failed error
	tally  tally
	locked *lockedState
}

func (t *tx) one(statement string, args ...any) scanner {
	t.note(statement)
	scan := t.link.one(statement, args...)
	return func(dest ...any) error { return t.check(scan(dest...)) }
}

func (t *tx) each(row func(scanner) error, statement string, args ...any) error {
	t.note(statement)
	return t.check(t.link.each(row, statement, args...))
}

// exec runs a statement and returns how many rows it affected.
func (t *tx) exec(statement string, args ...any) (int64, error) {
	t.note(statement)
	n, err := t.link.exec(statement, args...)
	return n, t.check(err)
}

// later runs a statement whose outcome is of no interest, when the engine
// likes; it may be another call that tells of its failure.
func (t *tx) later(statement string, args ...any) error {
	return t.postpone(request{statement: statement, args: args})
}

// changeOne is later for a statement that makes, changes or removes one row. The
// transaction is repeated where the row is not, or no longer, as it was read.
func (t *tx) changeOne(statement string, args ...any) error {
	return t.postpone(request{statement: statement, args: args, presumed: true})
}

func (t *tx) postpone(r request) error {
	if !t.singly {
		t.note(r.statement)
		return t.check(t.link.later(r))
	}
	n, err := t.exec(r.statement, r.args...)
	if err == nil {
		err = t.check(r.judge(n))
	}
	return err
}

func (t *tx) note(statement string) {
	t.wrote = t.wrote || !strings.HasPrefix(statement, "SELECT")
}

func (t *tx) check(err error) error {
	if err != nil && t.failed == nil && !errors.Is(err, sql.ErrNoRows) {
		t.failed = err
	}
	return err
}

// undo takes back what the member under way has done, and the locks that it took
// itself.
func (t *tx) undo() error {
	t.locked.forget()
	_, err := t.link.exec("ROLLBACK TO SAVEPOINT member")
	return err
}

func (t *tx) commit() error   { return t.link.commit() }
func (t *tx) rollback() error { return t.link.rollback() }
