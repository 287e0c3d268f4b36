package inventory

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options say where the inventory lives and by which times and bounds it
// keeps. Only Driver, Connections and Now have a default here.
type Options struct {
	// Driver is the engine, SQLite when empty.
	Driver string
	// DSN is the path of SQLite's database file, made when it is absent, or a
	// libpq URL or key=value list for PostgreSQL, which may name several hosts:
	// the one that takes writes is used.
	DSN string
	// Connections bounds those to a PostgreSQL server, at least 2; 0 means 16.
	Connections int
	// Now is the store's clock; nil means time.Now with SQLite, and the server's
	// time with PostgreSQL.
	Now func() time.Time

	Limits Limits

	// A write may be sent until SendWithin after its intent, its call lasts no
	// longer than CallLimit, and CallMargin covers what clocks and scheduling
	// add to that.
	SendWithin, CallLimit, CallMargin time.Duration
	// LateWriteWindow is how long after a call has ended its provider may still
	// apply the write; a Write can bring another.
	LateWriteWindow time.Duration
	// TombstoneAge is how long the memory of a removed resource is kept.
	TombstoneAge time.Duration
	// PollFloor is the least time between an event that leaves something to be
	// asked of a provider and the question.
	PollFloor time.Duration
	// JobRecords is how long jobs that have ended are kept.
	JobRecords time.Duration

	// SealKeys are the keys of what is sealed: the first seals, all open. They have to
	// be the same for all who share the store. Without any, a file beside SQLite's
	// database holds a key, and PostgreSQL's database itself.
	SealKeys [][32]byte

	// Metrics takes the store's metrics; it may be nil.
	Metrics prometheus.Registerer

	// CacheTTL bounds the age of a cached location, CacheEntries their number.
	CacheTTL     time.Duration
	CacheEntries int
}

// The engines. An SQLite file is for one process, a PostgreSQL database for any
// number of them.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

const defaultConnections = 16

// now is the clock of an engine that has none of its own.
func (o Options) now() func() time.Time {
	if o.Now == nil {
		return time.Now
	}
	return o.Now
}

// Limits are the quotas; 0 means none.
type Limits struct {
	ResourcesPerTypeAndGroup int
	GroupsPerSubscription    int
	LocksPerSubscription     int
	TagNamesPerSubscription  int // their values count as well
	// LearnedOperations bounds those of one subscription that belong to nobody.
	LearnedOperations int
}

// Bounds of waits inside the store.
const (
	lockTimeout  = 5 * time.Second // for another process to let the file go
	openTimeout  = 60 * time.Second
	readyTimeout = 2 * time.Second
	answerLimit  = 12 * time.Second // for a write; two thirds for its transaction
)

// Store is the inventory. It is safe for concurrent use; every call takes a
// context and ends with it.
type Store struct {
	options   Options
	dialect   dialect
	writes    *sql.DB // nil where sessions connect by themselves
	reads     *sql.DB
	sessions  []session // the writer's
	clock     *clock    // nil where the engine has none
	prepared  *statements
	writer    *writer
	locations *Locations
	seal      seal
	metrics   *metrics

	closing sync.Once
	closed  error
}

// Open opens the inventory, creates or migrates its database, and refuses an
// engine whose text comparison would break it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s := &Store{options: o, metrics: newMetrics(o.Metrics)}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	s.prepared = newStatements(s.dialect, s.reads.PrepareContext)
	err := s.prepareSeal()
	if err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	if s.locations, err = newLocations(s, o); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	of := writing{sessions: s.sessions, dialect: s.dialect, cache: s.locations, pollFloor: o.PollFloor, limit: answerLimit, metrics: s.metrics}
	if o.Driver == Postgres {
		_, readers := o.connections()
		s.prepared.renew, s.prepared.limit = renewIdle(s.reads, readers), readLimit
		of.stale = s.clockStale
	}
	s.writer = newWriter(of)
	if o.Metrics != nil {
		s.show(o.Metrics)
	}
	return s, nil
}

func (o Options) check() error {
	switch {
	case o.Driver == Postgres && o.DSN != "":
	case o.Driver != "" && o.Driver != SQLite:
		return fmt.Errorf("inventory: there is no engine %q, only %q and %q, the latter with a DSN", o.Driver, SQLite, Postgres)
	case o.DSN == "" || strings.HasPrefix(o.DSN, ":") || strings.HasPrefix(o.DSN, "file:"):
		return fmt.Errorf("inventory: the DSN must be the path of a file, not %q", o.DSN)
	}
	if o.SendWithin <= 0 || o.CallLimit <= 0 || o.CallMargin < 0 || o.LateWriteWindow < 0 || o.TombstoneAge < 0 || o.PollFloor < 0 || o.JobRecords < 0 {
		return errors.New("inventory: SendWithin and CallLimit must be positive, and no time negative")
	}
	if o.Connections < 0 || o.Connections == 1 {
		return errors.New("inventory: Connections must be at least 2, or 0")
	}
	if o.CacheTTL < 0 || o.CacheEntries < 0 {
		return errors.New("inventory: CacheTTL and CacheEntries must not be negative")
	}
	return nil
}

func (s *Store) connect(ctx context.Context) error {
	if s.options.Driver == Postgres {
		return s.connectPostgres(ctx)
	}
	return s.connectSQLite(ctx)
}

// Close refuses further calls, answers the writes that wait, and closes the
// database. It may be called more than once.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.writer.close()
		s.locations.close()
		s.prepared.close()
		// The writer's connection goes last: the last one to leave moves the
		// log into the database, which a reader may not.
		err := s.reads.Close()
		s.writer.discard()
		if s.writes != nil {
			err = errors.Join(err, s.writes.Close())
		}
		s.closed = err
	})
	return s.closed
}

// abandon closes what connect had opened when it failed.
func (s *Store) abandon() error {
	var errs []error
	for _, db := range []*sql.DB{s.reads, s.writes} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Ready tells whether the store can serve: it makes a real read and an empty
// write transaction, and takes 2 seconds at most. That is not to say that a commit
// ends: an empty one waits neither for the disk nor for a standby. Where a standby
// is missing, reads go on, and writes are refused for all who share the store; were
// they all unready for that, nobody would be answered.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if _, err := s.AllSubscriptions(ctx, "", 1); err != nil {
		return err
	}
	return s.writer.do(ctx, flushed, subject{}, func(*tx) error { return nil })
}

// Stats counts since Open.
type Stats struct {
	Writes  uint64 // writes that were committed
	Commits uint64 // transactions that held at least one of them
	Flushes uint64 // those of them that waited for the disk
	Waiting int    // writes that wait at present

	CacheHits, CacheMisses uint64 // of questions where a resource is
}

// Stats tells how well writes share commits, and reads their memory.
func (s *Store) Stats() Stats {
	stats := s.writer.stats()
	stats.CacheHits, stats.CacheMisses = s.locations.asked()
	return stats
}

// Locations returns the cache in front of the index.
func (s *Store) Locations() *Locations { return s.locations }

// read is the reading pool for one call.
func (s *Store) read(ctx context.Context) source {
	return query{ctx: ctx, statements: s.prepared}
}

// newID makes an incarnation, a generation or an intent's id.
func newID() (id [16]byte) {
	rand.Read(id[:]) // never fails
	return id
}
