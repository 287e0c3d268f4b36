package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"

	"modernc.org/sqlite"
)

// sqliteSession is the one connection that writes to a file, with its prepared
// statements. It uses the driver directly: only one goroutine uses the connection, and
// the locking of database/sql costs more than most statements.
type sqliteSession struct {
	dsn     string
	dialect dialect
	ran     *atomic.Uint64

	conn       driver.Conn // nil: not open
	statements map[string]driver.Stmt
	durability Durability // the connection's present setting
}

// In WAL mode NORMAL leaves the flush to the next FULL commit or checkpoint. A power cut
// may lose the last commits, but none before one that survives.
const (
	sqliteFlushed   = "PRAGMA synchronous = FULL"
	sqliteUnflushed = "PRAGMA synchronous = NORMAL"
)

// Begin implements [Session].
func (s *sqliteSession) Begin(ctx context.Context, d Durability) (Conn, error) {
	if s.conn == nil {
		conn, err := new(sqlite.Driver).Open(s.dsn)
		if err != nil {
			return nil, Classify(ctx, err)
		}
		s.conn, s.statements, s.durability = conn, map[string]driver.Stmt{}, Flushed
	}
	c := &sqliteConn{session: s, ctx: ctx}
	if s.durability != d {
		setting := sqliteFlushed
		if d == Unflushed {
			setting = sqliteUnflushed
		}
		if err := s.set(setting); err != nil {
			return nil, c.fault(setting, err)
		}
		s.durability = d
	}
	_, err := c.Exec("BEGIN IMMEDIATE")
	return c, err
}

// set changes a setting. SQLite applies it when the statement is prepared.
func (s *sqliteSession) set(pragma string) error {
	stmt, err := s.conn.Prepare(pragma)
	if err != nil {
		return err
	}
	defer stmt.Close()
	_, err = execute(stmt, nil)
	return err
}

// prepared returns a prepared statement and counts it as run.
func (s *sqliteSession) prepared(statement string) (driver.Stmt, error) {
	s.ran.Add(1)
	if stmt := s.statements[statement]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.Prepare(s.dialect.translate(statement))
	if err == nil {
		s.statements[statement] = stmt
	}
	return stmt, err
}

// Discard implements [Session].
func (s *sqliteSession) Discard() {
	if s.conn == nil {
		return
	}
	for _, stmt := range s.statements {
		_ = stmt.Close() // a failure leaves nothing to do
	}
	_ = s.conn.Close()
	s.conn, s.statements = nil, nil
}

// sqliteConn runs each statement at once: it is a call, not a round trip. Statements
// cannot be interrupted, because preparing for an interrupt costs the driver more than
// most of them take.
type sqliteConn struct {
	session *sqliteSession
	ctx     context.Context
	args    []driver.NamedValue // buffer for the arguments of the current statement
}

func (c *sqliteConn) fault(statement string, err error) error {
	return withStatement(statement, Classify(c.ctx, err))
}

// LocksRows implements [Conn].
func (c *sqliteConn) LocksRows() bool { return false }

// prepare returns a prepared statement, and sets c.args to its arguments.
func (c *sqliteConn) prepare(statement string, args []any) (driver.Stmt, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	stmt, err := c.session.prepared(statement)
	if err != nil {
		return nil, err
	}
	c.args = c.args[:0]
	for i, arg := range arguments(args) {
		value, err := driverValue(arg)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	return stmt, nil
}

func driverValue(arg any) (driver.Value, error) {
	switch arg.(type) {
	case string, int64, []byte:
		return arg, nil
	}
	return driver.DefaultParameterConverter.ConvertValue(arg)
}

func execute(stmt driver.Stmt, args []driver.NamedValue) (driver.Result, error) {
	return stmt.(driver.StmtExecContext).ExecContext(context.Background(), args)
}

// Exec implements [Conn].
func (c *sqliteConn) Exec(statement string, args ...any) (int64, error) {
	stmt, err := c.prepare(statement, args)
	if err != nil {
		return 0, c.fault(statement, err)
	}
	result, err := execute(stmt, c.args)
	if err != nil {
		return 0, c.fault(statement, err)
	}
	n, err := result.RowsAffected()
	return n, c.fault(statement, err)
}

// One implements [Source].
func (c *sqliteConn) One(statement string, args ...any) Scanner {
	return func(dest ...any) error {
		err := c.each(func(scan Scanner) error {
			if err := scan(dest...); err != nil {
				return err
			}
			return errFound
		}, statement, args)
		switch {
		case err == nil:
			return sql.ErrNoRows
		case errors.Is(err, errFound):
			return nil
		}
		return c.fault(statement, err)
	}
}

// errFound ends a query once it has returned a row.
var errFound = errors.New("inventory: there is a row")

// Each implements [Source].
func (c *sqliteConn) Each(row func(Scanner) error, statement string, args ...any) error {
	return c.fault(statement, c.each(row, statement, args))
}

func (c *sqliteConn) each(row func(Scanner) error, statement string, args []any) (err error) {
	stmt, err := c.prepare(statement, args)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), c.args)
	if err != nil {
		return err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(values); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := row(func(dest ...any) error { return assignAll(dest, values) }); err != nil {
			return err
		}
	}
}

// Later implements [Conn].
func (c *sqliteConn) Later(r Request) error {
	n, err := c.Exec(r.Statement, r.Args...)
	if err == nil {
		err = r.checkAffected(n)
	}
	return err
}

// LookUp implements [Conn].
func (c *sqliteConn) LookUp(queries []Lookup) error {
	for _, q := range queries {
		if err := c.Each(q.scanRow, q.Statement, q.Args...); err != nil {
			return err
		}
	}
	return nil
}

// LookUpLater implements [Conn].
func (c *sqliteConn) LookUpLater(queries []Lookup) error { return c.LookUp(queries) }

// Commit implements [Conn].
func (c *sqliteConn) Commit() error {
	if _, err := c.Exec("COMMIT"); err != nil {
		return UnsureError{err}
	}
	return nil
}

// Rollback implements [Conn].
func (c *sqliteConn) Rollback() error {
	_, err := c.Exec("ROLLBACK")
	return err
}
