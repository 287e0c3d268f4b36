package engine

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"portico/tracing/spans"
)

// Scanner copies one row's columns into dest.
type Scanner func(dest ...any) error

// Source reads rows, from the reading pool or in the current transaction.
type Source interface {
	// One runs a query for at most one row. If there is none, the error is sql.ErrNoRows.
	One(statement string, args ...any) Scanner
	// Each runs a query and calls row for each of its rows.
	Each(row func(Scanner) error, statement string, args ...any) error
}

// Collect reads all rows of a query.
func Collect[T any](from Source, scan func(Scanner) (T, error), statement string, args ...any) ([]T, error) {
	var all []T
	err := from.Each(func(row Scanner) error {
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

// ScanOne reads a row of one column.
func ScanOne[T any](scan Scanner) (value T, err error) {
	err = scan(&value)
	return value, err
}

// AmongAtOnce bounds the values in one statement of [Among].
const AmongAtOnce = 1024

// Among returns a condition that a column holds one of the values, in the form given by
// key, and its arguments. It begins with AND. Values beyond [AmongAtOnce] are ignored.
// There is one text for each power of two, so that few statements are prepared.
func Among(column string, values []string, key func(string) string) (condition string, args []any) {
	values = values[:min(len(values), AmongAtOnce)]
	n := 1
	for n < len(values) {
		n *= 2
	}
	for i := range n {
		args = append(args, key(values[min(i, len(values)-1)]))
	}
	return " AND " + column + " IN (?" + strings.Repeat(", ?", n-1) + ")", args
}

// KeysBelow returns the half-open range of the keys below a key.
func KeysBelow(key string) (from, to string) { return key + "/", key + "0" }

// statements prepares each text once.
type statements struct {
	dialect dialect
	driver  string
	prepare func(ctx context.Context, text string) (*sql.Stmt, error)
	// closeIdle closes idle connections, which may be as broken as one that was just used;
	// nil if there is no server.
	closeIdle func()
	// limit bounds the duration of one read; 0: only the caller's context does.
	limit time.Duration
	// uninterrupted: statements do not end with their context, because preparing for an
	// interrupt costs SQLite's driver more than most of them take.
	uninterrupted bool
	// ran counts statements.
	ran *atomic.Uint64

	mu     sync.RWMutex
	byText map[string]*sql.Stmt
	closed bool
}

func newStatements(d dialect, ran *atomic.Uint64, prepare func(context.Context, string) (*sql.Stmt, error)) *statements {
	return &statements{dialect: d, prepare: prepare, ran: ran, byText: make(map[string]*sql.Stmt)}
}

// get returns a prepared statement and counts it as run.
func (s *statements) get(ctx context.Context, statement string) (*sql.Stmt, error) {
	s.ran.Add(1)
	s.mu.RLock()
	prepared := s.byText[statement]
	s.mu.RUnlock()
	if prepared != nil {
		return prepared, nil
	}
	// Without the lock, so that a slow database delays only this caller.
	prepared, err := s.prepare(ctx, s.dialect.translate(statement))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		prepared.Close()
		return nil, ErrClosed
	}
	if first := s.byText[statement]; first != nil {
		prepared.Close()
		return first, nil
	}
	s.byText[statement] = prepared
	return prepared, nil
}

// statementContext returns the context of a statement, given its caller's.
func (s *statements) statementContext(ctx context.Context) context.Context {
	if s.uninterrupted {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, prepared := range s.byText {
		prepared.Close() // an error cannot be handled
	}
	clear(s.byText)
}

func (s *statements) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// query is the Source of the reading pool, for one context.
type query struct {
	ctx        context.Context
	statements *statements
}

// fault classifies an error. Once the store is closed it returns ErrClosed instead.
func (q query) fault(err error) error {
	if err != nil && q.statements.isClosed() {
		return Unavailable(ErrClosed)
	}
	return Classify(q.ctx, err)
}

// One implements [Source].
func (q query) One(statement string, args ...any) Scanner {
	return func(dest ...any) error {
		return q.readWithRetry(statement, func(ctx context.Context) (bool, error) {
			prepared, err := q.statements.get(ctx, statement)
			if err != nil {
				return false, err
			}
			return false, prepared.QueryRowContext(q.statements.statementContext(ctx), arguments(args)...).Scan(dest...)
		})
	}
}

// Each implements [Source].
func (q query) Each(row func(Scanner) error, statement string, args ...any) error {
	return q.readWithRetry(statement, func(ctx context.Context) (started bool, err error) {
		prepared, err := q.statements.get(ctx, statement)
		if err != nil {
			return false, err
		}
		rows, err := prepared.QueryContext(q.statements.statementContext(ctx), arguments(args)...)
		if err != nil {
			return false, err
		}
		return eachRow(rows, row)
	})
}

// eachRow calls row for each of rows, and closes them. started reports whether there was
// any.
func eachRow(rows *sql.Rows, row func(Scanner) error) (started bool, err error) {
	defer rows.Close()
	for ; rows.Next(); started = true {
		if err := row(rows.Scan); err != nil {
			return true, err
		}
	}
	return started, rows.Err()
}

// readWithRetry calls read within the limit, and once more on another connection if the
// first one turns out to be broken before the first row. statement, the first of several,
// is for the error.
func (q query) readWithRetry(statement string, read func(context.Context) (started bool, err error)) error {
	span := beginSpan(q.ctx, q.statements.driver, spans.StoreRead, "store read")
	err := withStatement(statement, q.tryTwice(read))
	endSpan(span, err)
	return err
}

func (q query) tryTwice(read func(context.Context) (started bool, err error)) error {
	ctx := q.ctx
	if q.statements.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.statements.limit)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return q.fault(err)
	}
	started, err := read(ctx)
	if err != nil && q.statements.closeIdle != nil && !started && ctx.Err() == nil && connectionLost(err) {
		q.statements.closeIdle()
		_, err = read(ctx)
	}
	return q.fault(err)
}
