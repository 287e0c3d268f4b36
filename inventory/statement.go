package inventory

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// scanner copies one row's columns out.
type scanner func(dest ...any) error

// source is where rows are read from: the reading pool, or the transaction
// under way.
type source interface {
	// one runs a query for at most one row; no row is sql.ErrNoRows.
	one(statement string, args ...any) scanner
	// each runs a query and hands over its rows.
	each(row func(scanner) error, statement string, args ...any) error
}

// collect reads all rows of a query.
func collect[T any](from source, scan func(scanner) (T, error), statement string, args ...any) ([]T, error) {
	var all []T
	err := from.each(func(row scanner) error {
		one, err := scan(row)
		if err == nil {
			all = append(all, one)
		}
		return err
	}, statement, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// statements prepares each text once.
type statements struct {
	dialect dialect
	prepare func(ctx context.Context, text string) (*sql.Stmt, error)

	mu     sync.RWMutex
	ready  map[string]*sql.Stmt
	closed bool
}

func newStatements(d dialect, prepare func(context.Context, string) (*sql.Stmt, error)) *statements {
	return &statements{dialect: d, prepare: prepare, ready: make(map[string]*sql.Stmt)}
}

func (s *statements) get(ctx context.Context, statement string) (*sql.Stmt, error) {
	s.mu.RLock()
	prepared := s.ready[statement]
	s.mu.RUnlock()
	if prepared != nil {
		return prepared, nil
	}
	// Not under the lock: the engine may keep one caller waiting, not all.
	prepared, err := s.prepare(ctx, s.dialect.text(statement))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		prepared.Close()
		return nil, errClosed
	}
	if first := s.ready[statement]; first != nil {
		prepared.Close()
		return first, nil
	}
	s.ready[statement] = prepared
	return prepared, nil
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, prepared := range s.ready {
		prepared.Close() // nothing is left to do about a failure
	}
	clear(s.ready)
}

func (s *statements) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// query runs statements in a context: the reading half of a transaction, and
// all that the reading pool does.
type query struct {
	ctx        context.Context
	statements *statements
}

// fault classifies an error; any that comes of a closed store says so.
func (q query) fault(err error) error {
	if err != nil && q.statements.isClosed() {
		return unavailable(errClosed)
	}
	return classify(q.ctx, err)
}

func (q query) one(statement string, args ...any) scanner {
	return func(dest ...any) error {
		prepared, err := q.statements.get(q.ctx, statement)
		if err == nil {
			err = prepared.QueryRowContext(q.ctx, args...).Scan(dest...)
		}
		return q.fault(err)
	}
}

func (q query) each(row func(scanner) error, statement string, args ...any) error {
	prepared, err := q.statements.get(q.ctx, statement)
	if err != nil {
		return q.fault(err)
	}
	rows, err := prepared.QueryContext(q.ctx, args...)
	if err != nil {
		return q.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return q.fault(err)
		}
	}
	return q.fault(rows.Err())
}

// tx is the writing transaction as one of its members sees it.
type tx struct {
	query
	now     time.Time // the store's, read when the member began
	places  *places
	changed []place // what the location cache must forget once this commits
}

// exec runs a statement and returns how many rows it affected.
func (t *tx) exec(statement string, args ...any) (int64, error) {
	prepared, err := t.statements.get(t.ctx, statement)
	if err != nil {
		return 0, t.fault(err)
	}
	result, err := prepared.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, t.fault(err)
	}
	n, err := result.RowsAffected()
	return n, t.fault(err)
}
