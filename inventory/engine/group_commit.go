package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"portico/internal/failpoint"
)

// maxGroup is how many waiting writes share one transaction and its flush.
const maxGroup = 64

// groupCommit runs the writes that share a transaction.
//
// At first they run without savepoints, and their usage counts are added up and checked
// once, at the end. If one is refused after it has changed something, or fails, or exceeds
// a quota, everything is rolled back and they run once more separately, each in a
// savepoint. If an expectation of one of them is wrong, all run once more without
// expectations.
type groupCommit struct {
	queue      *commitQueue
	ctx        context.Context
	cancel     context.CancelFunc
	members    []*Write
	separately bool
	overtaken  bool // a proof has failed, so the next try uses none

	results []result
	// unreachable: no connection could be made.
	unreachable bool
	started     time.Time // when the transaction began
	tries       int
}

func (q *commitQueue) newGroup(members []*Write) *groupCommit {
	g := &groupCommit{queue: q, members: members, results: make([]result, len(members))}
	g.ctx, g.cancel = q.context()
	g.separately = g.isRehearsal()
	return g
}

// How often a transaction is tried if it conflicts with others or loses its connection,
// and the longest pause before the second try; later pauses grow.
const (
	transactionTries = 6
	transactionPause = 30 * time.Millisecond
)

// run runs the group. After an error the outcome of every member is unknown.
func (g *groupCommit) run() error {
	for try := 1; ; {
		err := g.transact()
		if err != nil {
			g.queue.engine.metrics.failed(g, err)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrRunSeparately) && !g.separately:
			g.separately = true
			continue
		case errors.Is(err, ErrOvertaken) && !g.overtaken:
			g.overtaken = true
			continue
		case try == transactionTries || g.unreachable || g.ctx.Err() != nil:
			return err
		case retryable(err):
			// The winning transaction may lock the same rows again.
			time.Sleep(rand.N(transactionPause * time.Duration(try)))
		case isUnsure(err) || !connectionLost(err):
			return err
		default:
			// The connection broke before the commit was sent, so nothing was changed.
			g.queue.session.Discard()
		}
		try++
	}
}

// transact runs the group once, in one transaction. After any error except
// ErrRunSeparately and the retryable ones, the session is unusable.
func (g *groupCommit) transact() error {
	d := Unflushed
	for _, m := range g.members {
		d = d || m.Durability
	}
	g.started = time.Now()
	g.tries++
	g.recordWait()
	conn, err := g.queue.session.Begin(g.ctx, d)
	if err != nil {
		g.unreachable = neverConnected(err) || g.ctx.Err() != nil
		return err
	}
	t := NewTx(conn)
	t.savepoints, t.isolated = g.separately, g.separately || len(g.members) == 1
	t.proves = conn.LocksRows() && !g.separately && !g.overtaken
	unit := g.queue.engine.options.NewUnit(t)
	if g.isRehearsal() {
		return g.rehearse(t, unit, conn)
	}
	// Also after an error: the commit may have taken effect.
	defer unit.Ended()
	written, err := g.runMembers(t, unit)
	if err == nil && len(g.members) == 1 && written == 0 && (t.changed || t.failed != nil) {
		return conn.Rollback() // the only member was refused
	}
	var started time.Time
	if err == nil {
		started, err = g.complete(unit, conn)
	}
	if err != nil {
		if errors.Is(err, ErrRunSeparately) || retryable(err) && !isUnsure(err) {
			if rolledBack := conn.Rollback(); rolledBack != nil {
				return rolledBack
			}
		}
		return err
	}
	if written > 0 {
		g.queue.engine.metrics.committed(d, time.Since(started))
	}
	g.queue.countCommit(written, d)
	return nil
}

// complete completes the unit and commits. started is when the commit began.
func (g *groupCommit) complete(unit Unit, conn Conn) (started time.Time, err error) {
	err = unit.Complete()
	if err == nil {
		if err := failpoint.Hit(failpoint.StoreCommitBefore); err != nil {
			return started, err
		}
		started = time.Now()
		err = conn.Commit()
	}
	switch {
	case err == nil:
		if err := failpoint.Hit(failpoint.StoreCommitAfter); err != nil {
			return started, UnsureError{err}
		}
		return started, nil
	case !isUnsure(err) && !g.separately && !retryable(err) && !databaseDown(err):
		return started, ErrRunSeparately // to find out which member is at fault
	}
	return started, err
}

func (q *commitQueue) countCommit(written int, d Durability) {
	if written == 0 {
		return
	}
	q.commits.Add(1)
	q.engine.metrics.size.Observe(float64(written))
	q.writes.Add(uint64(written))
	if d == Flushed {
		q.flushes.Add(1)
	}
}

// runMembers runs all members and returns how many were not refused. First it locks and
// reads the rows that they name, in one round trip. Each of its statements sees everything
// committed before the statement began.
func (g *groupCommit) runMembers(t *Tx, unit Unit) (written int, err error) {
	if err := unit.Lock(g.members); err != nil {
		return 0, err
	}
	if len(g.members) > 0 {
		g.queue.engine.metrics.lock.Observe(time.Since(g.started).Seconds())
	}
	for i, m := range g.members {
		t.Now, t.Context = g.queue.engine.Now().UTC().Truncate(time.Microsecond), m.context
		if err := g.runMember(t, unit, m, &g.results[i]); err != nil {
			return 0, err
		}
		if g.results[i].err == nil && g.results[i].panicked == nil {
			written++
		}
	}
	return written, nil
}

// runMember runs one write. After an error the transaction must end.
func (g *groupCommit) runMember(t *Tx, unit Unit, m *Write, r *result) error {
	saved := g.separately && len(g.members) > 1
	if saved {
		if err := t.Later("SAVEPOINT member"); err != nil {
			return err
		}
	}
	*r, t.changed = result{}, false
	r.run(m.Run, unit)
	if t.changed && !m.Locks.ChangesOwnOnly {
		unit.Forget()
	}
	if r.err == nil && t.failed != nil {
		r.err = t.failed // Run may have dropped the error, but the engine refuses to continue
	}
	refused := r.err != nil || r.panicked != nil
	switch {
	case t.failed != nil && (retryable(t.failed) || databaseDown(t.failed)):
		return t.failed
	case errors.Is(r.err, ErrRunSeparately), errors.Is(r.err, ErrOvertaken):
		return r.err
	case refused && !g.separately && len(g.members) > 1 && (t.changed || t.failed != nil):
		return ErrRunSeparately
	}
	if !saved {
		return nil
	}
	if refused {
		t.failed = nil
		unit.Forget() // its own locks are released
		if _, err := t.conn.Exec("ROLLBACK TO SAVEPOINT member"); err != nil {
			return err
		}
	}
	return t.Later("RELEASE SAVEPOINT member")
}

func (r *result) run(f func(Unit) error, unit Unit) {
	defer func() { r.panicked = recover() }()
	r.err = f(unit)
}
