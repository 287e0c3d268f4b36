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
	// Such a commit is visible when it returns, and on disk soon after. A crash may
	// lose the last commits, but none before one that survives.
	postgresUnflushed = "SET LOCAL synchronous_commit = off"
	postgresTime      = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
)

// Begin implements [Session]. Its statements are sent with the first ones of the
// transaction.
func (s *postgresSession) Begin(ctx context.Context, d Durability) (Conn, error) {
	if s.conn != nil && closedByServer(ctx, s.conn.PgConn()) {
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
	case fresh: // it may be another server
		return c, s.clock.syncWith(c.serverTime)
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

// postgresConn queues statements that can wait, and sends them in one round trip with the
// next one that cannot.
type postgresConn struct {
	session *postgresSession
	ctx     context.Context

	queued []queuedStatement
	sent   time.Time // when the latest statements were sent
	slow   bool      // reading the time took too long to set the clock exactly
}

type queuedStatement struct {
	Request
	onReply func(reply) error // nil: the rows are not needed
}

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
	c.queued = append(c.queued, queuedStatement{Request{Statement: statement}, take})
}

func (c *postgresConn) serverTime(now *int64) error { return c.One(postgresTime)(now) }

// setClock sets the clock to the server's time, which was read along with other
// statements.
func (c *postgresConn) setClock(r reply) error {
	var now int64
	err := assignAll([]any{&now}, r.rows[0])
	if err == nil {
		c.session.clock.set(TimeOf(now), c.sent)
		c.slow = time.Since(c.sent) > clockError
	}
	return err
}

// LocksRows implements [Conn].
func (c *postgresConn) LocksRows() bool { return true }

// Later implements [Conn].
func (c *postgresConn) Later(r Request) error {
	c.queued = append(c.queued, queuedStatement{r, nil})
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
	if c.slow { // the queries may have waited for a lock
		c.slow = false
		return c.session.clock.syncWith(c.serverTime)
	}
	return nil
}

// LookUpLater implements [Conn].
func (c *postgresConn) LookUpLater(queries []Lookup) error {
	for _, q := range queries {
		c.queued = append(c.queued, queuedStatement{q.Request, func(r reply) error { return r.each(q.scanRow) }})
	}
	return nil
}

// One implements [Source].
func (c *postgresConn) One(statement string, args ...any) Scanner {
	return func(dest ...any) error {
		a, err := c.query(statement, args)
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
	a, err := c.query(statement, args)
	if err != nil {
		return err
	}
	return withStatement(statement, Classify(c.ctx, a.each(row)))
}

// Exec implements [Conn].
func (c *postgresConn) Exec(statement string, args ...any) (int64, error) {
	a, err := c.query(statement, args)
	if err != nil {
		return 0, err
	}
	return a.affected, nil
}

var (
	// errRolledBack means that COMMIT rolled the transaction back because it had failed.
	// The server reports that only in the reply's tag.
	errRolledBack = errors.New("inventory: the transaction was rolled back")
	// errNotReplicated means that a commit was made but the standby may lack it, so a
	// fail-over would lose it.
	errNotReplicated = errors.New("inventory: the commit no longer waited for the standby")
	// errNotLocked means that a commit was made although a row was not in the state that
	// the transaction had locked.
	errNotLocked = errors.New("inventory: a row has changed in spite of its lock")
)

// Commit implements [Conn]. It sends COMMIT together with the queued statements: if
// one of them fails, the server skips all that follow.
func (c *postgresConn) Commit() error {
	notes := c.session.conn.PgConn().CustomData()
	delete(notes, warningKey)
	var tag string
	c.add("COMMIT", func(r reply) error {
		tag = r.tag
		return nil
	})
	all := len(c.queued)
	done, err := c.send()
	switch {
	case done < all-1 && serverRefused(err):
		return err
	case done == all && errors.Is(err, ErrOvertaken):
		err = errNotLocked
	case err != nil:
	case tag != "COMMIT":
		err = errRolledBack
	case notes[warningKey] != nil:
		err = errNotReplicated
	}
	if err != nil {
		return UnsureError{Classify(c.ctx, err)}
	}
	return nil
}

// Rollback implements [Conn].
func (c *postgresConn) Rollback() error {
	c.queued = nil
	c.add("ROLLBACK", nil)
	_, err := c.send()
	return err
}

// query runs a statement after all queued ones.
func (c *postgresConn) query(statement string, args []any) (a reply, err error) {
	c.queued = append(c.queued, queuedStatement{Request{Statement: statement, Args: args}, func(r reply) error {
		a = r
		return nil
	}})
	_, err = c.send()
	return a, err
}

// send runs the queued statements in one round trip and returns how many succeeded.
func (c *postgresConn) send() (done int, err error) {
	var batch pgx.Batch
	for _, r := range c.queued {
		batch.Queue(c.session.texts.get(r.Statement), arguments(r.Args)...)
	}
	c.session.ran.Add(uint64(batch.Len()))
	c.sent = time.Now()
	results := c.session.conn.SendBatch(c.ctx, &batch)
	done, err = c.receive(results)
	if closed := results.Close(); err == nil {
		err = closed
	}
	if proofFailed(err) {
		err = ErrOvertaken
	}
	if err = Classify(c.ctx, err); done < len(c.queued) {
		err = withStatement(c.queued[done].Statement, err)
	}
	clear(c.queued)
	c.queued = c.queued[:0]
	return done, err
}

// receive reads the replies. It returns an unexpected number of affected rows as an error
// only after it has read all replies.
func (c *postgresConn) receive(results pgx.BatchResults) (done int, err error) {
	var wrong error
	for _, r := range c.queued {
		answer, err := readReply(results, r.onReply != nil)
		if err == nil && r.onReply != nil {
			err = r.onReply(answer)
		}
		if err != nil {
			return done, err
		}
		if wrong == nil {
			wrong = r.checkAffected(answer.affected)
		}
		done++
	}
	return done, wrong
}

func readReply(results pgx.BatchResults, wanted bool) (a reply, err error) {
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
