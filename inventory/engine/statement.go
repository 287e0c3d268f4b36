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

// Scanner copies one row's columns out.
type Scanner func(dest ...any) error

// Source is where rows are read from: the reading pool, or the current transaction.
type Source interface {
	// One runs a query for at most one row; without a row the error is sql.ErrNoRows.
	One(statement string, args ...any) Scanner
	// Each runs a query and passes each of its rows on.
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

// AmongAtOnce is how many values one statement names.
const AmongAtOnce = 1024

// Among is the end of a condition by which a column holds one of some values, at most
// [AmongAtOnce], with its arguments. There is one text for each power of two, so that few
// are prepared.
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

// Below is the range of the keys below one.
func Below(key string) (from, to string) { return key + "/", key + "0" }

// statements prepares each text once.
type statements struct {
	dialect dialect
	driver  string
	prepare func(ctx context.Context, text string) (*sql.Stmt, error)
	// renew closes idle connections, if only their use shows that their server has gone;
	// nil if there is no server.
	renew func()
	// limit bounds one reading; 0 leaves that to the caller.
	limit time.Duration
	// brief: statements are not interrupted. They end so soon that being ready for it
	// would cost SQLite's driver more than most of them do.
	brief bool
	// ran counts the statements that were run.
	ran *atomic.Uint64

	mu     sync.RWMutex
	ready  map[string]*sql.Stmt
	closed bool
}

func newStatements(d dialect, ran *atomic.Uint64, prepare func(context.Context, string) (*sql.Stmt, error)) *statements {
	return &statements{dialect: d, prepare: prepare, ran: ran, ready: make(map[string]*sql.Stmt)}
}

// get returns a statement that is about to be run.
func (s *statements) get(ctx context.Context, statement string) (*sql.Stmt, error) {
	s.ran.Add(1)
	s.mu.RLock()
	prepared := s.ready[statement]
	s.mu.RUnlock()
	if prepared != nil {
		return prepared, nil
	}
	// Without the lock: the engine may make one caller wait, but not all.
	prepared, err := s.prepare(ctx, s.dialect.text(statement))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		prepared.Close()
		return nil, ErrClosed
	}
	if first := s.ready[statement]; first != nil {
		prepared.Close()
		return first, nil
	}
	s.ready[statement] = prepared
	return prepared, nil
}

// running derives the context of a statement from that of its call.
func (s *statements) running(ctx context.Context) context.Context {
	if s.brief {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, prepared := range s.ready {
		prepared.Close() // a failure cannot be handled
	}
	clear(s.ready)
}

func (s *statements) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// query runs statements in a context: the reading half of a transaction, and everything
// that the reading pool does.
type query struct {
	ctx        context.Context
	statements *statements
}

// fault classifies an error; if the store is closed, it says so.
func (q query) fault(err error) error {
	if err != nil && q.statements.isClosed() {
		return Unavailable(ErrClosed)
	}
	return Classify(q.ctx, err)
}

// One implements [Source].
func (q query) One(statement string, args ...any) Scanner {
	return func(dest ...any) error {
		return q.again(statement, func(ctx context.Context) (bool, error) {
			prepared, err := q.statements.get(ctx, statement)
			if err != nil {
				return false, err
			}
			return false, prepared.QueryRowContext(q.statements.running(ctx), arguments(args)...).Scan(dest...)
		})
	}
}

// Each implements [Source].
func (q query) Each(row func(Scanner) error, statement string, args ...any) error {
	return q.again(statement, func(ctx context.Context) (started bool, err error) {
		prepared, err := q.statements.get(ctx, statement)
		if err != nil {
			return false, err
		}
		rows, err := prepared.QueryContext(q.statements.running(ctx), arguments(args)...)
		if err != nil {
			return false, err
		}
		return passOn(rows, row)
	})
}

// passOn passes all rows on, and closes them. started reports whether there was any.
func passOn(rows *sql.Rows, row func(Scanner) error) (started bool, err error) {
	defer rows.Close()
	for ; rows.Next(); started = true {
		if err := row(rows.Scan); err != nil {
			return true, err
		}
	}
	return started, rows.Err()
}

// again reads, within the limit, and once more on another connection if the first one
// turns out to be broken before the first row. An error names the statement, of several
// the first one.
func (q query) again(statement string, read func(context.Context) (started bool, err error)) error {
	span := beginSpan(q.ctx, q.statements.driver, spans.StoreRead, "store read")
	err := ofStatement(statement, q.tryTwice(read))
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
	if err != nil && q.statements.renew != nil && !started && ctx.Err() == nil && lost(err) {
		q.statements.renew()
		_, err = read(ctx)
	}
	return q.fault(err)
}
