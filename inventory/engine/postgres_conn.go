package engine

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresSession is a writing connection. The driver prepares each text once per
// connection.
type postgresSession struct {
	config *pgx.ConnConfig
	texts  *texts
	clock  *clock
	ran    *atomic.Uint64

	conn *pgx.Conn
}

const (
	postgresBegin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	// The commit is visible as soon as it returns, and on disk soon after; a
	// crash may lose the last of them, never their order.
	postgresUnflushed = "SET LOCAL synchronous_commit = off"
	postgresTime      = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
)

// Begin implements [Session]. It sends nothing itself: its statements go with the first
// ones of the transaction.
func (s *postgresSession) Begin(ctx context.Context, d Durability) (Conn, error) {
	if s.conn != nil && ended(ctx, s.conn.PgConn()) {
		s.Discard()
	}
	fresh := s.conn == nil
	if fresh {
		conn, err := pgx.ConnectConfig(ctx, s.config)
		if err != nil {
			return nil, Classify(ctx, err)
		}
		s.conn = conn
	}
	c := &postgresConn{session: s, ctx: ctx}
	c.add(postgresBegin, nil)
	if d == Unflushed {
		c.add(postgresUnflushed, nil)
	}
	switch {
	case !s.clock.stale(clockFresh):
		return c, nil
	case fresh: // maybe of another server
		return c, s.clock.ask(c.serverTime)
	}
	c.add(postgresTime, c.setClock)
	return c, nil
}

// Discard implements [Session].
func (s *postgresSession) Discard() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
	s.conn = nil
}

// postgresConn sends statements that can wait together with those that cannot, in one
// round trip.
type postgresConn struct {
	session *postgresSession
	ctx     context.Context

	waiting []sending
	sent    time.Time // when the latest statements left
	slow    bool      // the server's time took too long to set the clock by
}

// sending is a statement on its way to the server.
type sending struct {
	Request
	take func(reply) error // nil: its rows are not needed
}

// reply is what a statement returned.
type reply struct {
	rows     [][]any
	tag      string
	affected int64
}

func (r reply) each(row func(Scanner) error) error {
	for _, values := range r.rows {
		if err := row(func(dest ...any) error { return assignAll(dest, values) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *postgresConn) add(statement string, take func(reply) error) {
	c.waiting = append(c.waiting, sending{Request{Statement: statement}, take})
}

func (c *postgresConn) serverTime(now *int64) error { return c.One(postgresTime)(now) }

// setClock sets the clock by the server's time, which was requested along with other
// statements.
func (c *postgresConn) setClock(r reply) error {
	var now int64
	err := assignAll([]any{&now}, r.rows[0])
	if err == nil {
		c.session.clock.set(Moment(now), c.sent)
		c.slow = time.Since(c.sent) > clockError
	}
	return err
}

// LocksRows implements [Conn].
func (c *postgresConn) LocksRows() bool { return true }

// Later implements [Conn].
func (c *postgresConn) Later(r Request) error {
	c.waiting = append(c.waiting, sending{r, nil})
	return nil
}

// LookUp implements [Conn].
func (c *postgresConn) LookUp(queries []Lookup) error {
	if len(queries) == 0 {
		return nil
	}
	_ = c.LookUpLater(queries)
	if _, err := c.send(); err != nil {
		return err
	}
	if c.slow { // it may have waited for a lock
		c.slow = false
		return c.session.clock.ask(c.serverTime)
	}
	return nil
}

// LookUpLater implements [Conn].
func (c *postgresConn) LookUpLater(queries []Lookup) error {
	for _, q := range queries {
		c.waiting = append(c.waiting, sending{q.Request, func(r reply) error { return r.each(q.take) }})
	}
	return nil
}

// One implements [Source].
func (c *postgresConn) One(statement string, args ...any) Scanner {
	return func(dest ...any) error {
		a, err := c.ask(statement, args)
		if err != nil {
			return err
		}
		if len(a.rows) == 0 {
			return sql.ErrNoRows
		}
		return assignAll(dest, a.rows[0])
	}
}

// Each implements [Source].
func (c *postgresConn) Each(row func(Scanner) error, statement string, args ...any) error {
	a, err := c.ask(statement, args)
	if err != nil {
		return err
	}
	return ofStatement(statement, Classify(c.ctx, a.each(row)))
}

// Exec implements [Conn].
func (c *postgresConn) Exec(statement string, args ...any) (int64, error) {
	a, err := c.ask(statement, args)
	if err != nil {
		return 0, err
	}
	return a.affected, nil
}

var (
	// errRolledBack means that a COMMIT found the transaction broken: the server says so
	// only in the reply's tag.
	errRolledBack = errors.New("inventory: the transaction was rolled back")
	// errNotReplicated means that a COMMIT was made but the standby may lack it: after a
	// fail-over it would be lost.
	errNotReplicated = errors.New("inventory: the commit no longer waited for the standby")
	// errNotLocked says that a COMMIT was made although a row was not in the state that
	// the transaction had locked.
	errNotLocked = errors.New("inventory: a row has changed in spite of its lock")
)

// Commit implements [Conn]. It sends COMMIT together with the waiting statements: if
// one of them fails, the server skips all that follow.
func (c *postgresConn) Commit() error {
	notes := c.session.conn.PgConn().CustomData()
	delete(notes, warned)
	var tag string
	c.add("COMMIT", func(r reply) error {
		tag = r.tag
		return nil
	})
	all := len(c.waiting)
	done, err := c.send()
	switch {
	case done < all-1 && refused(err):
		return err
	case done == all && errors.Is(err, ErrOvertaken):
		err = errNotLocked
	case err != nil:
	case tag != "COMMIT":
		err = errRolledBack
	case notes[warned] != nil:
		err = errNotReplicated
	}
	if err != nil {
		return UnsureError{Classify(c.ctx, err)}
	}
	return nil
}

// Rollback implements [Conn].
func (c *postgresConn) Rollback() error {
	c.waiting = nil
	c.add("ROLLBACK", nil)
	_, err := c.send()
	return err
}

// ask runs a statement after all waiting ones.
func (c *postgresConn) ask(statement string, args []any) (a reply, err error) {
	c.waiting = append(c.waiting, sending{Request{Statement: statement, Args: args}, func(r reply) error {
		a = r
		return nil
	}})
	_, err = c.send()
	return a, err
}

// send runs the waiting statements in one round trip. It returns how many of them
// succeeded.
func (c *postgresConn) send() (done int, err error) {
	var batch pgx.Batch
	for _, r := range c.waiting {
		batch.Queue(c.session.texts.of(r.Statement), arguments(r.Args)...)
	}
	c.session.ran.Add(uint64(batch.Len()))
	c.sent = time.Now()
	results := c.session.conn.SendBatch(c.ctx, &batch)
	done, err = c.receive(results)
	if closed := results.Close(); err == nil {
		err = closed
	}
	if disproved(err) {
		err = ErrOvertaken
	}
	if err = Classify(c.ctx, err); done < len(c.waiting) {
		err = ofStatement(c.waiting[done].Statement, err)
	}
	clear(c.waiting)
	c.waiting = c.waiting[:0]
	return done, err
}

// receive reads the replies. If a row was not in its locked state, it still reads all
// replies first.
func (c *postgresConn) receive(results pgx.BatchResults) (done int, err error) {
	var wrong error
	for _, r := range c.waiting {
		answer, err := read(results, r.take != nil)
		if err == nil && r.take != nil {
			err = r.take(answer)
		}
		if err != nil {
			return done, err
		}
		if wrong == nil {
			wrong = r.judge(answer.affected)
		}
		done++
	}
	return done, wrong
}

func read(results pgx.BatchResults, wanted bool) (a reply, err error) {
	if !wanted {
		tag, err := results.Exec()
		a.affected = tag.RowsAffected()
		return a, err
	}
	rows, err := results.Query()
	if err != nil {
		return a, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return a, err
		}
		a.rows = append(a.rows, values)
	}
	rows.Close()
	a.tag, a.affected = rows.CommandTag().String(), rows.CommandTag().RowsAffected()
	return a, rows.Err()
}
