package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
)

// sqliteSession is the one writing connection to a file, with its prepared statements.
type sqliteSession struct {
	db      *sql.DB
	dialect dialect
	ran     *atomic.Uint64

	conn       *sql.Conn
	statements *statements
	durability Durability // the connection's current setting
}

// In WAL mode NORMAL leaves the flush to the next FULL commit or checkpoint: a
// power cut may lose the last commits, never their order.
const (
	sqliteFlushed   = "PRAGMA synchronous = FULL"
	sqliteUnflushed = "PRAGMA synchronous = NORMAL"
)

// Begin implements [Session].
func (s *sqliteSession) Begin(ctx context.Context, d Durability) (Conn, error) {
	if s.conn == nil {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, Classify(ctx, err)
		}
		s.conn, s.statements, s.durability = conn, newStatements(s.dialect, s.ran, conn.PrepareContext), Flushed
	}
	if s.durability != d {
		setting := sqliteFlushed
		if d == Unflushed {
			setting = sqliteUnflushed
		}
		if _, err := s.conn.ExecContext(ctx, setting); err != nil {
			return nil, Classify(ctx, err)
		}
		s.durability = d
	}
	c := sqliteConn{query{ctx: ctx, statements: s.statements}}
	_, err := c.Exec("BEGIN IMMEDIATE")
	return c, err
}

// Discard implements [Session].
func (s *sqliteSession) Discard() {
	if s.conn == nil {
		return
	}
	s.statements.close()
	// ErrBadConn keeps database/sql from using the connection again.
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
	s.conn, s.statements = nil, nil
}

// sqliteConn runs each statement at once: it is a call, not a round trip.
type sqliteConn struct{ query }

// LocksRows implements [Conn].
func (c sqliteConn) LocksRows() bool { return false }

// Exec implements [Conn].
func (c sqliteConn) Exec(statement string, args ...any) (int64, error) {
	prepared, err := c.statements.get(c.ctx, statement)
	if err != nil {
		return 0, c.fault(err)
	}
	result, err := prepared.ExecContext(c.ctx, arguments(args)...)
	if err != nil {
		return 0, c.fault(err)
	}
	n, err := result.RowsAffected()
	return n, c.fault(err)
}

// Later implements [Conn].
func (c sqliteConn) Later(r Request) error {
	n, err := c.Exec(r.Statement, r.Args...)
	if err == nil {
		err = r.judge(n)
	}
	return err
}

// LookUp implements [Conn].
func (c sqliteConn) LookUp(queries []Lookup) error {
	for _, q := range queries {
		if err := c.Each(q.take, q.Statement, q.Args...); err != nil {
			return err
		}
	}
	return nil
}

// Flush implements [Conn].
func (c sqliteConn) Flush() error { return nil }

// Commit implements [Conn].
func (c sqliteConn) Commit() error {
	_, err := c.Exec("COMMIT")
	return err
}

// Rollback implements [Conn].
func (c sqliteConn) Rollback() error {
	_, err := c.Exec("ROLLBACK")
	return err
}
