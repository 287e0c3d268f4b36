package inventory

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// sqliteSession is the one connection that writes to a file, with its prepared
// statements.
type sqliteSession struct {
	db      *sql.DB
	dialect dialect

	conn       *sql.Conn
	statements *statements
	durability durability // as the connection is set
}

// In WAL mode NORMAL leaves the flush to the next FULL commit or checkpoint: a
// power cut may lose the last commits, never their order.
const (
	sqliteFlushed   = "PRAGMA synchronous = FULL"
	sqliteUnflushed = "PRAGMA synchronous = NORMAL"
)

func (s *sqliteSession) begin(ctx context.Context, d durability) (link, error) {
	if s.conn == nil {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, classify(ctx, err)
		}
		s.conn, s.statements, s.durability = conn, newStatements(s.dialect, conn.PrepareContext), flushed
	}
	if s.durability != d {
		setting := sqliteFlushed
		if d == unflushed {
			setting = sqliteUnflushed
		}
		if _, err := s.conn.ExecContext(ctx, setting); err != nil {
			return nil, classify(ctx, err)
		}
		s.durability = d
	}
	l := sqliteLink{query{ctx: ctx, statements: s.statements}}
	_, err := l.exec("BEGIN IMMEDIATE")
	return l, err
}

func (s *sqliteSession) discard() {
	if s.conn == nil {
		return
	}
	s.statements.close()
	// ErrBadConn keeps database/sql from using the connection again.
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
	s.conn, s.statements = nil, nil
}

// sqliteLink runs each statement at once: it is a call, not a round trip.
type sqliteLink struct{ query }

func (l sqliteLink) exec(statement string, args ...any) (int64, error) {
	prepared, err := l.statements.get(l.ctx, statement)
	if err != nil {
		return 0, l.fault(err)
	}
	result, err := prepared.ExecContext(l.ctx, arguments(args)...)
	if err != nil {
		return 0, l.fault(err)
	}
	n, err := result.RowsAffected()
	return n, l.fault(err)
}

func (l sqliteLink) later(r request) error {
	n, err := l.exec(r.statement, r.args...)
	if err == nil {
		err = r.judge(n)
	}
	return err
}

func (l sqliteLink) lookUp(queries []lookup) error {
	for _, q := range queries {
		if err := l.each(q.row, q.statement, q.args...); err != nil {
			return err
		}
	}
	return nil
}

func (l sqliteLink) flush() error { return nil }

func (l sqliteLink) commit() error {
	_, err := l.exec("COMMIT")
	return err
}

func (l sqliteLink) rollback() error {
	_, err := l.exec("ROLLBACK")
	return err
}
