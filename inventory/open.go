package inventory

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
)

// Options say where the inventory lives and by which times and bounds it
// keeps. Nothing but Now has a default here.
type Options struct {
	// DSN is the path of the database file, made when it is absent.
	DSN string
	// Now is the store's clock; nil means time.Now.
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

	// CacheTTL bounds the age of a cached location, CacheEntries their number.
	CacheTTL     time.Duration
	CacheEntries int
}

// Limits are the quotas; 0 means none.
type Limits struct {
	ResourcesPerTypeAndGroup int
	GroupsPerSubscription    int
}

// Bounds of waits inside the store.
const (
	lockTimeout  = 5 * time.Second // for another process to let the file go
	openTimeout  = 60 * time.Second
	readyTimeout = 2 * time.Second
	readers      = 8
)

// Store is the inventory. It is safe for concurrent use; every call takes a
// context and ends with it.
type Store struct {
	options   Options
	dialect   dialect
	writes    *sql.DB
	reads     *sql.DB
	prepared  *statements
	writer    *writer
	locations *Locations

	closing sync.Once
	closed  error
}

// Open opens the inventory, creates or migrates its database, and refuses an
// engine whose text comparison would break it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s := &Store{options: o, dialect: sqliteDialect(o.Now)}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	s.prepared = newStatements(s.dialect, s.reads.PrepareContext)
	var err error
	if s.locations, err = newLocations(s, o); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	s.writer = newWriter(&session{db: s.writes, dialect: s.dialect}, s.dialect.now, s.locations)
	return s, nil
}

func (o Options) check() error {
	if o.DSN == "" || strings.HasPrefix(o.DSN, ":") || strings.HasPrefix(o.DSN, "file:") {
		return fmt.Errorf("inventory: the DSN must be the path of a file, not %q", o.DSN)
	}
	if o.SendWithin <= 0 || o.CallLimit <= 0 || o.CallMargin < 0 || o.LateWriteWindow < 0 || o.TombstoneAge < 0 {
		return errors.New("inventory: SendWithin and CallLimit must be positive, and no time negative")
	}
	if o.CacheTTL < 0 || o.CacheEntries < 0 {
		return errors.New("inventory: CacheTTL and CacheEntries must not be negative")
	}
	return nil
}

func (s *Store) connect(ctx context.Context) error {
	path, err := filepath.Abs(s.options.DSN)
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	if err := createPrivate(path); err != nil {
		return unavailable(err)
	}
	busy := fmt.Sprintf("busy_timeout(%d)", lockTimeout.Milliseconds())
	if s.writes, err = openSQLite(path, 1, busy, "journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(67108864)"); err != nil {
		return err
	}
	if err := checkCollation(ctx, s.writes); err != nil {
		return classify(ctx, err)
	}
	if err := migrate(ctx, s.writes, goose.DialectSQLite3); err != nil {
		return classify(ctx, err)
	}
	s.reads, err = openSQLite(path, readers, busy, "query_only(1)")
	return err
}

// createPrivate makes the database's file readable by its owner alone; the
// engine gives its side files the same mode.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func openSQLite(path string, connections int, pragmas ...string) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
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
		s.writer.session.discard()
		s.closed = errors.Join(err, s.writes.Close())
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
// write transaction, and takes 2 seconds at most.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if _, err := s.Subscriptions(ctx, "", "", 1); err != nil {
		return err
	}
	return s.writer.do(ctx, flushed, func(*tx) error { return nil })
}

// Stats counts since Open.
type Stats struct {
	Writes  uint64 // writes that were committed
	Commits uint64 // transactions that held at least one of them
	Flushes uint64 // those of them that waited for the disk
	Waiting int    // writes that wait at present
}

// Stats tells how well writes share commits.
func (s *Store) Stats() Stats {
	return Stats{
		Writes: s.writer.writes.Load(), Commits: s.writer.commits.Load(), Flushes: s.writer.flushes.Load(),
		Waiting: len(s.writer.queue),
	}
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
