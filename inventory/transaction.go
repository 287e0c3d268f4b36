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
	scopes map[scopeOf]Group
	// registered are the states of namespaces that members asked for.
	registered map[registrationOf]RegistrationState
}

// scopeOf names a group, and the kind of write that its subscription admitted.
type scopeOf struct {
	subscription, group string
	deletes             bool
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
	if t.singly {
		_, err := t.exec(statement, args...)
		return err
	}
	t.note(statement)
	return t.check(t.link.later(statement, args...))
}

// ahead announces the query that comes after the next one; see link.
func (t *tx) ahead(statement string, args ...any) { t.link.ahead(statement, args...) }

func (t *tx) note(statement string) {
	if strings.HasPrefix(statement, "SELECT") {
		return
	}
	t.wrote = true
	scope := strings.Contains(statement, "resource_groups") || strings.Contains(statement, "subscriptions")
	if scope {
		t.scopes = nil
	}
	if strings.Contains(statement, "registrations") {
		t.registered = nil
	}
	if scope || !ofOneKey(statement) {
		t.link.forget()
	}
}

// ofOneKey tells that a statement changes no row of a resource, or intent, but
// those of the key that its member holds.
func ofOneKey(statement string) bool {
	switch statement {
	case insertResource, updateResource, deleteResource, insertIntent, spoilIntent, endCall, deleteIntent:
		return true
	}
	return !strings.Contains(statement, "resources") && !strings.Contains(statement, "intents")
}

func (t *tx) check(err error) error {
	if err != nil && t.failed == nil && !errors.Is(err, sql.ErrNoRows) {
		t.failed = err
	}
	return err
}

// scope is openScope, once for all members of the transaction that want the
// same.
func (t *tx) scope(sub, group string, deletes bool) (Group, error) {
	of := scopeOf{sub, group, deletes}
	if g, known := t.scopes[of]; known {
		return g, nil
	}
	g, err := openScope(t, sub, group, deletes)
	if err != nil {
		return Group{}, err
	}
	if t.scopes == nil {
		t.scopes = map[scopeOf]Group{}
	}
	t.scopes[of] = g
	return g, nil
}

// undo takes back what the member under way has done.
func (t *tx) undo() error {
	t.scopes, t.registered = nil, nil
	_, err := t.link.exec("ROLLBACK TO SAVEPOINT member")
	return err
}

func (t *tx) commit() error   { return t.link.commit() }
func (t *tx) rollback() error { return t.link.rollback() }
