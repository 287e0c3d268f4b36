package inventory

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"portico/failpoint"
)

// batch is the writes that share a transaction.
//
// At first they run without savepoints, and what they count is added up and
// checked once, at the end. Only when one is refused after it has changed
// something, or fails, or does not fit a quota, everything is rolled back and
// they run once more, singly: each in a savepoint of its own.
type batch struct {
	lane    *lane
	ctx     context.Context
	cancel  context.CancelFunc
	members []*write
	singly  bool

	results []result
	changed []place
	// unreachable: no connection was to be had.
	unreachable bool
	begun       time.Time // the transaction
}

func (l *lane) newBatch(members []*write) *batch {
	b := &batch{lane: l, members: members, results: make([]result, len(members))}
	b.ctx, b.cancel = l.context()
	return b
}

// errSingly ends a transaction that has to be repeated with the members apart.
var errSingly = errors.New("inventory: the batch has to run singly")

// How often a transaction is tried that lost against others or its connection,
// and how long to wait before the next time, at most.
const (
	transactionTries = 6
	transactionPause = 30 * time.Millisecond
)

// run runs the batch. An error means that nothing can be said of any member.
func (b *batch) run() error {
	for try := 1; ; {
		err := b.transact()
		if err != nil {
			b.lane.metrics.failed(b, err)
		}
		var unsure commitError
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errSingly) && !b.singly:
			b.singly = true
			continue
		case try == transactionTries || b.unreachable || b.ctx.Err() != nil:
			return err
		case retryable(err):
			// The transaction that won may take the same rows again.
			time.Sleep(rand.N(transactionPause * time.Duration(try)))
		case errors.As(err, &unsure) || !lost(err):
			return err
		default:
			// It broke before its commit was sent, so it left nothing.
			b.lane.session.discard()
		}
		try++
	}
}

// commitError is the failure of a commit: it may have been made all the same.
type commitError struct{ error }

func (e commitError) Unwrap() error { return e.error }

// transact tries the batch in one transaction. After any error but errSingly
// and those that a rollback heals, the session is of no use.
func (b *batch) transact() error {
	d := unflushed
	for _, m := range b.members {
		d = d || m.durability
	}
	b.begun = time.Now()
	link, err := b.lane.session.begin(b.ctx, d)
	if err != nil {
		b.unreachable = unreached(err) || b.ctx.Err() != nil
		return err
	}
	t := &tx{link: link, locked: newLockedState(), places: &b.lane.cache.places, pollFloor: b.lane.pollFloor, singly: b.singly, apart: b.singly || len(b.members) == 1}
	written, err := b.runMembers(t)
	b.changed = append(b.changed, t.changed...)
	if err == nil && len(b.members) == 1 && written == 0 && (t.wrote || t.failed != nil) {
		return t.rollback() // of the only member, which was refused
	}
	if err == nil {
		err = b.complete(t)
	}
	if err != nil {
		if errors.Is(err, errSingly) || retryable(err) {
			if rolledBack := t.rollback(); rolledBack != nil {
				return rolledBack
			}
		}
		return err
	}
	if err := failpoint.Hit(failpoint.StoreCommitBefore); err != nil {
		return err
	}
	begun := time.Now()
	if err := t.commit(); err != nil {
		return commitError{err}
	}
	if err := failpoint.Hit(failpoint.StoreCommitAfter); err != nil {
		return commitError{err}
	}
	if written > 0 {
		b.lane.metrics.committed(d, time.Since(begun))
	}
	b.lane.count(written, d)
	return nil
}

// complete sends what the members left for later.
func (b *batch) complete(t *tx) error {
	err := t.settleUsage()
	if err == nil {
		err = t.link.flush()
	}
	if err != nil && !b.singly && !retryable(err) && !down(err) {
		return errSingly // to find out whose it is
	}
	return err
}

func (l *lane) count(written int, d durability) {
	if written == 0 {
		return
	}
	l.commits.Add(1)
	l.metrics.size.Observe(float64(written))
	l.writes.Add(uint64(written))
	if d == flushed {
		l.flushes.Add(1)
	}
}

// runMembers runs all and returns how many were not refused.
func (b *batch) runMembers(t *tx) (written int, err error) {
	if err := b.read(t); err != nil {
		return 0, err
	}
	if len(b.members) > 0 {
		b.lane.metrics.lock.Observe(time.Since(b.begun).Seconds())
	}
	for i, m := range b.members {
		t.now = b.lane.dialect.now().UTC().Truncate(time.Microsecond)
		if err := b.member(t, m, &b.results[i]); err != nil {
			return 0, err
		}
		if b.results[i].err == nil && b.results[i].panicked == nil {
			written++
		}
	}
	return written, nil
}

// read locks what the members are about, and reads it, in one round trip of
// which each statement sees what was committed before it began. Locked are, in
// the order in which all transactions do that, the subscription's own row, its
// groups, and their resources, as far as a member needs it.
func (b *batch) read(t *tx) error {
	queries := b.locks()
	read := t.locked
	for _, m := range b.members {
		of := scopeOf{m.about.subscription, m.about.group}
		if _, asked := read.scopes[of]; m.about.opens && !asked {
			queries = append(queries, read.lookUpScope(of))
		}
	}
	for _, m := range b.members {
		of := registrationOf{m.about.subscription, m.about.namespace}
		if _, asked := read.registrations[of]; of.namespace != "" && !asked {
			queries = append(queries, read.lookUpRegistration(of))
		}
	}
	for _, m := range b.members {
		if m.about.holds {
			queries = append(queries, read.lookUpResource(m.about)...)
		}
	}
	return t.lookUp(queries...)
}

// locks locks the rows of the subscription and of groups, if any member needs
// that. What a statement that waits for a lock reads beside the locked row may
// be of before the wait, so nothing is taken from these. All members are of one
// subscription then.
func (b *batch) locks() (queries []lookup) {
	if !b.lane.dialect.locksRows {
		return nil
	}
	lock := func(statement string, args ...any) {
		queries = append(queries, lookup{request{statement: statement, args: args}, func(scanner) error { return nil }})
	}
	gates, fences := false, false
	for _, m := range b.members {
		gates, fences = gates || m.about.gates, fences || m.about.fences
	}
	if gates {
		lock(lockSubscription, b.members[0].about.subscription)
	}
	if fences {
		lock(lockGroups, b.members[0].about.subscription)
	}
	last := ""
	for _, m := range b.members {
		if m.about.opens && m.about.group != last {
			last = m.about.group
			lock(lockGroup, m.about.subscription, last)
		}
	}
	return queries
}

// member runs one write. An error means that the transaction has to end.
func (b *batch) member(t *tx, m *write, r *result) error {
	saved := b.singly && len(b.members) > 1
	if saved {
		if err := t.later("SAVEPOINT member"); err != nil {
			return err
		}
	}
	*r, t.wrote = result{}, false
	r.run(m.run, t)
	if t.wrote && !m.about.holds && !m.about.recordsOnly {
		t.locked.forget()
	}
	if r.err == nil && t.failed != nil {
		r.err = t.failed // whatever run made of it, the engine will not go on
	}
	refused := r.err != nil || r.panicked != nil
	switch {
	case t.failed != nil && (retryable(t.failed) || down(t.failed)):
		return t.failed
	case errors.Is(r.err, errSingly), errors.Is(r.err, errOvertaken):
		return r.err
	case refused && !b.singly && len(b.members) > 1 && (t.wrote || t.failed != nil):
		return errSingly
	}
	if !saved {
		return nil
	}
	if refused {
		t.failed = nil
		if err := t.undo(); err != nil {
			return err
		}
	}
	return t.later("RELEASE SAVEPOINT member")
}

func (r *result) run(f func(*tx) error, t *tx) {
	defer func() { r.panicked = recover() }()
	r.err = f(t)
}
