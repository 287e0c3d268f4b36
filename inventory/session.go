package inventory

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// session is the writer's one connection with its prepared statements. Only
// the writer's goroutine uses it.
type session struct {
	db      *sql.DB
	dialect dialect

	conn       *sql.Conn
	statements *statements
	durability durability // as the connection is set
}

// begin starts a transaction, on a new connection when the last was discarded.
func (s *session) begin(ctx context.Context, d durability) (*statements, error) {
	if s.conn == nil {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, classify(ctx, err)
		}
		s.conn, s.statements, s.durability = conn, newStatements(s.dialect, conn.PrepareContext), flushed
	}
	if s.durability != d {
		setting := s.dialect.flushed
		if d == unflushed {
			setting = s.dialect.unflushed
		}
		if _, err := s.conn.ExecContext(ctx, setting); err != nil {
			return nil, classify(ctx, err)
		}
		s.durability = d
	}
	begin := tx{query: query{ctx: ctx, statements: s.statements}}
	_, err := begin.exec(s.dialect.begin)
	return s.statements, err
}

// discard closes the connection for good, and with it whatever transaction is
// left on it, so that no fault of one batch reaches the next.
func (s *session) discard() {
	if s.conn == nil {
		return
	}
	s.statements.close()
	// ErrBadConn keeps database/sql from using the connection again.
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
	s.conn, s.statements = nil, nil
}
