package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresSession is a writing connection. The driver prepares each text once per
// connection.
type postgresSession struct {
	config  *pgx.ConnConfig
	dialect dialect
	clock   *clock
	ran     *atomic.Uint64
	texts   map[string]string // in the engine's form

	conn    *pgx.Conn
	planned time.Time // when the plans were last discarded
}

const (
	postgresBegin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	// The commit is visible as soon as it returns, and on disk soon after; a
	// crash may lose the last of them, never their order.
	postgresUnflushed = "SET LOCAL synchronous_commit = off"
	// The server plans a prepared statement for the current size of its tables, and keeps
	// the plan. If they were empty then, it takes any index for as good as the primary
	// key; each look-up by it reads a whole partition, until the server has counted the
	// rows, minutes later.
	postgresReplan = "DISCARD PLANS"
	postgresTime   = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
)

// Begin implements [Session].
func (s *postgresSession) Begin(ctx context.Context, d Durability) (Conn, error) {
	if s.conn == nil {
		conn, err := pgx.ConnectConfig(ctx, s.config)
		if err != nil {
			return nil, Classify(ctx, err)
		}
		s.conn, s.planned = conn, time.Now()
	}
	c := &postgresConn{session: s, ctx: ctx}
	c.waiting = append(c.waiting, Request{Statement: postgresBegin})
	if now := time.Now(); now.Sub(s.planned) >= planAge {
		c.waiting = append(c.waiting, Request{Statement: postgresReplan})
		s.planned = now
	}
	if d == Unflushed {
		c.waiting = append(c.waiting, Request{Statement: postgresUnflushed})
	}
	if !s.clock.stale(clockFresh) {
		return c, nil // sent with the first statement
	}
	return c, s.clock.ask(func(now *int64) error { return c.One(postgresTime)(now) })
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

func (s *postgresSession) text(statement string) string {
	text, known := s.texts[statement]
	if !known {
		text = s.dialect.text(statement)
		s.texts[statement] = text
	}
	return text
}

// postgresConn sends statements that can wait together with those that cannot, in one
// round trip.
type postgresConn struct {
	session *postgresSession
	ctx     context.Context

	waiting []Request // statements of Later, not yet sent
}

// reply is what a query returned.
type reply struct {
	rows     [][]any
	affected int64
}

// LocksRows implements [Conn].
func (c *postgresConn) LocksRows() bool { return true }

// Later implements [Conn].
func (c *postgresConn) Later(r Request) error {
	c.waiting = append(c.waiting, r)
	return nil
}

// LookUp implements [Conn].
func (c *postgresConn) LookUp(queries []Lookup) error {
	if len(queries) == 0 {
		return nil
	}
	asked := make([]Request, len(queries))
	for i, q := range queries {
		asked[i] = q.Request
	}
	replies, err := c.send(asked...)
	if err != nil {
		return err
	}
	for i, q := range queries {
		if err := replies[i].each(q.take); err != nil {
			return Classify(c.ctx, err)
		}
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
	return Classify(c.ctx, a.each(row))
}

func (a reply) each(row func(Scanner) error) error {
	for _, values := range a.rows {
		if err := row(func(dest ...any) error { return assignAll(dest, values) }); err != nil {
			return err
		}
	}
	return nil
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
)

// Commit implements [Conn].
func (c *postgresConn) Commit() error {
	if err := c.Flush(); err != nil {
		return err
	}
	return c.end("COMMIT")
}

// Rollback implements [Conn].
func (c *postgresConn) Rollback() error {
	c.waiting = nil
	return c.end("ROLLBACK")
}

func (c *postgresConn) end(statement string) error {
	notes := c.session.conn.PgConn().CustomData()
	delete(notes, warned)
	c.session.ran.Add(1)
	tag, err := c.session.conn.Exec(c.ctx, statement)
	switch {
	case err != nil:
	case tag.String() != statement:
		err = errRolledBack
	case notes[warned] != nil:
		err = errNotReplicated
	}
	return Classify(c.ctx, err)
}

// Flush implements [Conn].
func (c *postgresConn) Flush() error {
	if len(c.waiting) == 0 {
		return nil
	}
	_, err := c.send()
	return err
}

// ask runs a statement after all waiting ones.
func (c *postgresConn) ask(statement string, args []any) (reply, error) {
	replies, err := c.send(Request{Statement: statement, Args: args})
	if err != nil {
		return reply{}, err
	}
	return replies[0], nil
}

// send runs the waiting statements and then the given ones, in one round trip. It
// returns the replies to the latter.
func (c *postgresConn) send(asked ...Request) (replies []reply, err error) {
	var batch pgx.Batch
	for _, requests := range [...][]Request{c.waiting, asked} {
		for _, r := range requests {
			batch.Queue(c.session.text(r.Statement), arguments(r.Args)...)
		}
	}
	c.session.ran.Add(uint64(batch.Len()))
	results := c.session.conn.SendBatch(c.ctx, &batch)
	replies, err = c.receive(results, len(asked))
	if closed := results.Close(); err == nil {
		err = closed
	}
	c.waiting = c.waiting[:0]
	return replies, Classify(c.ctx, err)
}

func (c *postgresConn) receive(results pgx.BatchResults, asked int) (replies []reply, err error) {
	for _, r := range c.waiting {
		tag, err := results.Exec()
		if err == nil {
			err = r.judge(tag.RowsAffected())
		}
		if err != nil {
			return nil, err
		}
	}
	for range asked {
		answer, err := read(results)
		if err != nil {
			return nil, err
		}
		replies = append(replies, answer)
	}
	return replies, nil
}

func read(results pgx.BatchResults) (reply, error) {
	var a reply
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
	a.affected = rows.CommandTag().RowsAffected()
	return a, rows.Err()
}

func assignAll(dest, values []any) error {
	if len(dest) != len(values) {
		return fmt.Errorf("inventory: %d columns are read into %d variables", len(values), len(dest))
	}
	for i := range dest {
		if err := assign(dest[i], values[i]); err != nil {
			return fmt.Errorf("inventory: column %d: %w", i, err)
		}
	}
	return nil
}

// assign copies a value of one of the types in use to where dest points, as
// database/sql would.
func assign(dest, value any) error {
	into := reflect.ValueOf(dest).Elem()
	switch value := value.(type) {
	case string:
		if into.Kind() == reflect.String {
			into.SetString(value)
			return nil
		}
	case []byte:
		if bytes, ok := dest.(*[]byte); ok {
			*bytes = value
			return nil
		}
	case bool:
		if into.Kind() == reflect.Bool {
			into.SetBool(value)
			return nil
		}
	case int16:
		return assignInteger(into, int64(value))
	case int32:
		return assignInteger(into, int64(value))
	case int64:
		return assignInteger(into, value)
	}
	return fmt.Errorf("a %T is no %s", value, into.Type())
}

func assignInteger(into reflect.Value, n int64) error {
	switch {
	case into.CanInt() && !into.OverflowInt(n):
		into.SetInt(n)
	case into.CanUint() && n >= 0 && !into.OverflowUint(uint64(n)):
		into.SetUint(uint64(n))
	case into.Kind() == reflect.Bool && (n == 0 || n == 1):
		into.SetBool(n == 1)
	default:
		return fmt.Errorf("%d is no %s", n, into.Type())
	}
	return nil
}
