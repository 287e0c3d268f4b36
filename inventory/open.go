package inventory

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory/assignments"
	"portico/inventory/deploymentrow"
	"portico/inventory/encryption"
	"portico/inventory/engine"
	"portico/inventory/eventlog"
	"portico/inventory/jobrow"
	"portico/inventory/memory"
	"portico/inventory/observed"
	"portico/inventory/polls"
	"portico/inventory/tagindex"
	"portico/inventory/transaction"
)

// Options say where the inventory is stored, and set its times and bounds. Only Driver,
// Connections and Now have defaults.
type Options struct {
	// Driver is engine.SQLite, also when empty, or engine.Postgres.
	Driver string
	// DSN is the path of SQLite's database file, which Open creates if it is absent, or
	// a libpq URL or key=value list for PostgreSQL, which may name several hosts: the
	// one that takes writes is used.
	DSN string
	// Connections bounds the connections to a PostgreSQL server. It is at least 2; 0
	// means 16.
	Connections int
	// Now is the store's clock; nil means time.Now with SQLite, and the server's
	// time with PostgreSQL.
	Now func() time.Time

	Limits Limits

	// A write may be sent until SendWithin after its intent, and its call lasts no
	// longer than CallLimit. CallMargin allows for differences of clocks and for
	// scheduling.
	SendWithin, CallLimit, CallMargin time.Duration
	// LateWriteWindow is how long after the end of a call its provider may still apply
	// the write; a Write can set its own.
	LateWriteWindow time.Duration
	// TombstoneAge is how long the tombstone of a removed resource is kept.
	TombstoneAge time.Duration
	// PollFloor is the least time between an event that makes Portico poll a provider
	// and the poll.
	PollFloor time.Duration
	// JobRecords is how long ended jobs are kept.
	JobRecords time.Duration

	// EventAge is how long events are kept, and MostEvents how many of all subscriptions;
	// 0 for no bound.
	EventAge   time.Duration
	MostEvents int

	// EncryptionKeys encrypt contents: the first encrypts, all decrypt. All processes
	// that share the store need the same ones. Without any, the store keeps a key of
	// its own: in a file next to SQLite's database, or in PostgreSQL's database itself.
	EncryptionKeys [][32]byte

	// Metrics takes the store's metrics; it may be nil.
	Metrics prometheus.Registerer

	// CacheTTL bounds the age of a cached location, CacheEntries their number.
	CacheTTL     time.Duration
	CacheEntries int
	// ScopeEntries bounds the subscriptions, the groups, the registrations and the
	// principals' grants that are remembered, of each; CacheTTL bounds their age too.
	ScopeEntries int
}

// Limits are the quotas; 0 means none.
type Limits struct {
	ResourcesPerTypeAndGroup int
	GroupsPerSubscription    int
	LocksPerSubscription     int
	TagNamesPerSubscription  int // their values count as well
	Roles                    assignments.Limits
	// LearnedOperations bounds the operations of one subscription whose owner is
	// unknown.
	LearnedOperations int
}

const readyTimeout = 2 * time.Second

// rows embeds the calls about jobs in Store without exporting the field.
type rows = jobrow.Rows

// Store is the inventory. It is safe for concurrent use; every call takes a context
// and ends with it.
type Store struct {
	*rows
	Secrets   encryption.Secrets // random keys that all processes of the service share
	Locations *memory.Locations  // in front of the index
	Scopes    *Scopes            // what requests look up first, from memory

	Operations  *polls.Records
	Batches     *polls.Batches
	Deployments *deploymentrow.Deployments
	Tags        *tagindex.Tags
	Roles       *assignments.Roles
	Events      *eventlog.Log
	Sinks       *eventlog.Sinks
	Errors      *observed.Errors // of all replicas
	Names       *observed.Names  // of callers

	options  Options
	engine   *engine.Engine
	database *transaction.Database
}

// Open opens the inventory. It creates or migrates the database, and refuses an engine
// that does not compare text bytewise.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	s := &Store{options: o}
	s.Locations, err = memory.NewLocations(memory.LocationOptions{
		Read: s.location, Now: o.clock(), TTL: o.CacheTTL, Entries: o.CacheEntries,
		AgesAt: func(now time.Time) time.Time { return s.Scopes.changes.AgesAt(now) },
	})
	if err != nil {
		return nil, err
	}
	s.engine, err = engine.Open(ctx, engine.Options{
		Driver: o.Driver, DSN: o.DSN, Connections: o.Connections, Now: o.Now,
		Migrations: files, Metrics: o.Metrics, NewUnit: s.newTx,
	})
	if err != nil {
		return nil, err
	}
	s.database, s.Secrets = &transaction.Database{Engine: s.engine}, encryption.Secrets{Engine: s.engine}
	s.Operations = polls.NewRecords(s.database, o.Limits.LearnedOperations)
	s.Batches = polls.NewBatches(s.database)
	s.Deployments = deploymentrow.New(s.database)
	s.Tags = tagindex.New(s.database, o.Limits.TagNamesPerSubscription)
	s.Roles = assignments.New(s.database, o.Limits.Roles)
	s.Sinks = eventlog.NewSinks(s.database)
	s.Names = observed.NewNames(s.database, observed.MostNames)
	s.Errors = observed.NewErrors(s.database, o.Driver == engine.Postgres)
	s.rows = jobrow.New(s.engine, o.JobRecords, o.Driver == engine.Postgres)
	if s.Scopes, err = newScopes(s); err != nil {
		return nil, errors.Join(err, s.engine.Close())
	}
	keys := encryption.Options{Keys: o.EncryptionKeys, Stored: s.Secrets.Stored}
	if o.Driver != engine.Postgres {
		keys.Database = o.DSN
	}
	if s.database.Cipher, err = encryption.New(keys); err == nil {
		err = s.database.Cipher.Ready(ctx) // transactions encrypt, and cannot wait for a key
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.Events, err = eventlog.New(ctx, s.database, o.EventAge, o.MostEvents); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.Metrics != nil {
		s.Locations.RegisterMetrics(o.Metrics)
		s.Scopes.registerMetrics(o.Metrics)
	}
	return s, nil
}

// clock returns the time by which the ages of cached values are measured.
func (o Options) clock() func() time.Time {
	if o.Now != nil {
		return o.Now
	}
	return time.Now
}

func (o Options) check() error {
	if o.SendWithin <= 0 || o.CallLimit <= 0 || o.CallMargin < 0 || o.LateWriteWindow < 0 || o.TombstoneAge < 0 || o.PollFloor < 0 || o.JobRecords < 0 {
		return errors.New("inventory: SendWithin and CallLimit must be positive, and no time negative")
	}
	if o.CacheTTL < 0 || o.CacheEntries < 0 || o.ScopeEntries < 0 {
		return errors.New("inventory: CacheTTL, CacheEntries and ScopeEntries must not be negative")
	}
	return nil
}

// Close refuses further calls, answers the waiting writes, and closes the database. It
// may be called more than once.
func (s *Store) Close() error {
	s.Scopes.changes.Close()
	return s.engine.Close()
}

// Ready reports whether the store can serve: it makes a real read and an empty write
// transaction within 2 seconds. That does not prove that a commit ends, as an empty one
// waits neither for the disk nor for a standby. This is deliberate: without a standby
// all replicas refuse writes but still serve reads, and if they were all unready, no
// client would be answered.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if _, err := s.AllSubscriptions(ctx, "", 1); err != nil {
		return err
	}
	return s.write(ctx, engine.Flushed, engine.LockSet{}, func(*tx) error { return nil })
}

// Stats counts since Open.
type Stats struct {
	engine.Stats
	CacheHits, CacheMisses uint64 // of lookups of a resource's region
}

// Stats returns how well writes share commits, and how often memory answers reads.
func (s *Store) Stats() Stats {
	stats := Stats{Stats: s.engine.Stats()}
	stats.CacheHits, stats.CacheMisses = s.Locations.Counts()
	return stats
}

// CountRows lets the database know how large its tables are; see [engine.Engine.CountRows].
func (s *Store) CountRows(ctx context.Context) error { return s.engine.CountRows(ctx) }

//go:embed migrations/*.sql
var migrations embed.FS

// Layout is the number of the last migration that this version knows.
func Layout() int64 {
	files, err := migrations.ReadDir("migrations")
	if err != nil || len(files) == 0 {
		return 0 // they are part of the program
	}
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	n, _ := strconv.ParseInt(number, 10, 64) // as goose reads it
	return n
}
