package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The drivers. Only one process may use an SQLite file; any number may share a PostgreSQL
// database.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Options are the options of [Open]. Only Driver, Connections and Now have a default.
type Options struct {
	// Driver is SQLite or Postgres; empty means SQLite.
	Driver string
	// DSN is the path of SQLite's database file, which Open creates if it is absent, or
	// a libpq URL or key=value list for PostgreSQL. If it names several hosts, the one
	// that accepts writes is used.
	DSN string
	// Connections bounds the connections to a PostgreSQL server. It is at least 2,
	// which counts as 3; 0 means 16.
	Connections int
	// Now is the clock; nil means time.Now with SQLite, and the server's time with
	// PostgreSQL.
	Now func() time.Time
	// Migrations are the migration files, which lead to the current layout.
	Migrations fs.FS
	// Metrics registers the engine's metrics; it may be nil.
	Metrics prometheus.Registerer
	// NewUnit returns the state that the owner of the tables keeps for a transaction.
	NewUnit func(*Tx) Unit
}

const (
	defaultConnections = 16
	openTimeout        = 60 * time.Second
)

// Engine is an open database. It is safe for concurrent use. Every call ends when its
// context does.
type Engine struct {
	options  Options
	dialect  dialect
	reads    *sql.DB
	reserved *sql.DB   // the one connection of [Engine.QueryReserved]
	sessions []Session // the writer's
	clock    *clock    // nil for SQLite
	prepared *statements
	pipeline *pipeline // of the reading pool; nil if a query is a call, not a round trip
	writer   *writer
	metrics  *metrics
	ran      atomic.Uint64 // statements
	// countAfter is the number of writes after which [Engine.CountRows] looks for
	// uncounted tables again.
	countAfter atomic.Uint64

	closing sync.Once
	closed  error
}

// Open opens the database, creates or migrates it, and refuses one that does not
// compare text bytewise.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	e := &Engine{options: o, metrics: newMetrics(o.Metrics)}
	if err := e.connect(ctx); err != nil {
		return nil, errors.Join(err, e.closeReaders())
	}
	e.prepared = newStatements(e.dialect, &e.ran, e.reads.PrepareContext)
	e.prepared.driver = o.Driver
	e.prepared.uninterrupted = o.Driver != Postgres
	if o.Driver == Postgres {
		_, readers := o.connectionCounts()
		e.prepared.closeIdle, e.prepared.limit = idleCloser(e.reads, readers), readLimit
	}
	e.writer = newWriter(e)
	if o.Metrics != nil {
		e.registerCounters(o.Metrics)
	}
	return e, nil
}

func (o Options) check() error {
	switch {
	case o.Driver == Postgres && o.DSN != "":
	case o.Driver != "" && o.Driver != SQLite:
		return fmt.Errorf("inventory: there is no engine %q, only %q and %q, the latter with a DSN", o.Driver, SQLite, Postgres)
	case o.DSN == "" || strings.HasPrefix(o.DSN, ":") || strings.HasPrefix(o.DSN, "file:"):
		return fmt.Errorf("inventory: the DSN must be the path of a file, not %q", o.DSN)
	}
	if o.Connections < 0 || o.Connections == 1 {
		return errors.New("inventory: Connections must be at least 2, or 0")
	}
	return nil
}

func (e *Engine) connect(ctx context.Context) error {
	if e.options.Driver == Postgres {
		return e.connectPostgres(ctx)
	}
	return e.connectSQLite(ctx)
}

// Close refuses further calls, answers the waiting writes, and closes the database. It
// may be called more than once.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		e.writer.close()
		e.prepared.close()
		// The writer's connection is closed last, because the last connection moves the log
		// into the database, which a reader must not do.
		e.closed = e.closeReaders()
		e.writer.discard()
	})
	return e.closed
}

// closeReaders closes the reading connections. A failed connect has opened no others.
func (e *Engine) closeReaders() (err error) {
	for _, pool := range []*sql.DB{e.reads, e.reserved} {
		if pool != nil {
			err = errors.Join(err, pool.Close())
		}
	}
	return err
}

// Read returns a Source that reads from the pool within ctx.
func (e *Engine) Read(ctx context.Context) Source {
	return query{ctx: ctx, statements: e.prepared}
}

// Now returns the database's time, which all its processes share.
func (e *Engine) Now() time.Time { return e.dialect.now() }

// ClockSlack returns the largest difference between the clocks of two processes that share
// the database.
func (e *Engine) ClockSlack() time.Duration { return e.clock.slack() }

// Intercept wraps the writing connections, for tests. No write may be in progress.
func (e *Engine) Intercept(wrap func(Session) Session) {
	for _, q := range e.writer.queues {
		q.session = wrap(q.session)
	}
}

// Stats holds counts since Open.
type Stats struct {
	Writes  uint64 // committed writes
	Commits uint64 // transactions with at least one of them
	Flushes uint64 // of these, transactions that waited for the disk
	Waiting int    // writes waiting now
	// Statements counts all statements, including BEGIN and COMMIT.
	Statements uint64
}

// Stats returns the engine's counts.
func (e *Engine) Stats() Stats {
	s := e.writer.stats()
	s.Statements = e.ran.Load()
	return s
}
