package inventory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgresSession is a connection that writes. The driver prepares each text
// once per connection.
type postgresSession struct {
	config  *pgx.ConnConfig
	dialect dialect
	clock   *clock
	texts   map[string]string // as the engine wants them

	conn    *pgx.Conn
	planned time.Time // when the server was last told to plan anew
}

const (
	postgresBegin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	// The commit is visible as soon as it returns, and on disk soon after; a
	// crash may lose the last of them, never their order.
	postgresUnflushed = "SET LOCAL synchronous_commit = off"
	// The server plans a prepared statement by the size that its tables have
	// then, and keeps the plan. One from when they were empty takes any index for
	// as good as the primary key; by it each look-up reads a whole subscription,
	// until the server has counted rows, minutes later.
	postgresReplan = "DISCARD PLANS"
	postgresTime   = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
)

func (s *postgresSession) begin(ctx context.Context, d durability) (link, error) {
	if s.conn == nil {
		conn, err := pgx.ConnectConfig(ctx, s.config)
		if err != nil {
			return nil, classify(ctx, err)
		}
		s.conn, s.planned = conn, time.Now()
	}
	l := &postgresLink{session: s, ctx: ctx}
	l.waiting = append(l.waiting, request{statement: postgresBegin})
	if now := time.Now(); now.Sub(s.planned) >= planAge {
		l.waiting = append(l.waiting, request{statement: postgresReplan})
		s.planned = now
	}
	if d == unflushed {
		l.waiting = append(l.waiting, request{statement: postgresUnflushed})
	}
	if !s.clock.stale(clockFresh) {
		return l, nil // sent with the first statement
	}
	return l, s.clock.ask(func(now *int64) error { return l.one(postgresTime)(now) })
}

func (s *postgresSession) discard() {
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

// postgresLink sends what can wait together with what cannot, in one round
// trip.
type postgresLink struct {
	session *postgresSession
	ctx     context.Context

	waiting []request // statements that nobody asked the outcome of
}

// reply is what a query returned.
type reply struct {
	rows     [][]any
	affected int64
}

func (l *postgresLink) later(r request) error {
	l.waiting = append(l.waiting, r)
	return nil
}

func (l *postgresLink) lookUp(queries []lookup) error {
	if len(queries) == 0 {
		return nil
	}
	asked := make([]request, len(queries))
	for i, q := range queries {
		asked[i] = q.request
	}
	replies, err := l.send(asked...)
	if err != nil {
		return err
	}
	for i, q := range queries {
		if err := replies[i].each(q.row); err != nil {
			return classify(l.ctx, err)
		}
	}
	return nil
}

func (l *postgresLink) one(statement string, args ...any) scanner {
	return func(dest ...any) error {
		a, err := l.ask(statement, args)
		if err != nil {
			return err
		}
		if len(a.rows) == 0 {
			return sql.ErrNoRows
		}
		return assignAll(dest, a.rows[0])
	}
}

func (l *postgresLink) each(row func(scanner) error, statement string, args ...any) error {
	a, err := l.ask(statement, args)
	if err != nil {
		return err
	}
	return classify(l.ctx, a.each(row))
}

func (a reply) each(row func(scanner) error) error {
	for _, values := range a.rows {
		if err := row(func(dest ...any) error { return assignAll(dest, values) }); err != nil {
			return err
		}
	}
	return nil
}

func (l *postgresLink) exec(statement string, args ...any) (int64, error) {
	a, err := l.ask(statement, args)
	if err != nil {
		return 0, err
	}
	return a.affected, nil
}

var (
	// errRolledBack says that a COMMIT found the transaction broken: the server
	// tells that by the reply's tag alone.
	errRolledBack = errors.New("inventory: the transaction was rolled back")
	// errNotReplicated says that a COMMIT was made but that the standby may not
	// have it: should that take over, it was not.
	errNotReplicated = errors.New("inventory: the commit no longer waited for the standby")
)

func (l *postgresLink) commit() error {
	if err := l.flush(); err != nil {
		return err
	}
	return l.end("COMMIT")
}

func (l *postgresLink) rollback() error {
	l.waiting = nil
	return l.end("ROLLBACK")
}

func (l *postgresLink) end(statement string) error {
	notes := l.session.conn.PgConn().CustomData()
	delete(notes, warned)
	tag, err := l.session.conn.Exec(l.ctx, statement)
	switch {
	case err != nil:
	case tag.String() != statement:
		err = errRolledBack
	case notes[warned] != nil:
		err = errNotReplicated
	}
	return classify(l.ctx, err)
}

// flush sends what waits.
func (l *postgresLink) flush() error {
	if len(l.waiting) == 0 {
		return nil
	}
	_, err := l.send()
	return err
}

// ask runs a statement after all that waits.
func (l *postgresLink) ask(statement string, args []any) (reply, error) {
	replies, err := l.send(request{statement: statement, args: args})
	if err != nil {
		return reply{}, err
	}
	return replies[0], nil
}

// send runs what waits, and then what is asked, in one round trip. It returns
// the answers to what is asked.
func (l *postgresLink) send(asked ...request) (replies []reply, err error) {
	var batch pgx.Batch
	for _, r := range slices.Concat(l.waiting, asked) {
		batch.Queue(l.session.text(r.statement), arguments(r.args)...)
	}
	results := l.session.conn.SendBatch(l.ctx, &batch)
	replies, err = l.receive(results, len(asked))
	if closed := results.Close(); err == nil {
		err = closed
	}
	l.waiting = l.waiting[:0]
	return replies, classify(l.ctx, err)
}

func (l *postgresLink) receive(results pgx.BatchResults, asked int) (replies []reply, err error) {
	for _, r := range l.waiting {
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

// assign copies a value of one of the types in use to what dest points to, as
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

// brokenOff tells that a connection ended under a call.
func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
