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

	"portico/events"
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

// Options configures the inventory. Only Driver, Connections and Now have defaults.
type Options struct {
	// Driver is engine.SQLite, also if empty, or engine.Postgres.
	Driver string
	// DSN is the path of SQLite's database file, which Open creates if it is absent, or
	// a libpq URL or key=value list for PostgreSQL. That may name several hosts; the one
	// that accepts writes is used.
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

	// EventAge is how long events are kept, and MostEvents how many for all subscriptions
	// together; 0 means no bound.
	EventAge   time.Duration
	MostEvents int

	// EncryptionKeys encrypt contents: the first encrypts, all decrypt. All processes
	// that share the store need the same ones. Without any, the store keeps a key of
	// its own: in a file next to SQLite's database, or in PostgreSQL's database itself.
	EncryptionKeys [][32]byte

	// CauseOf returns the client that requested a job; nil: none is known.
	CauseOf func(jobrow.Job) events.Cause

	// Metrics takes the store's metrics; it may be nil.
	Metrics prometheus.Registerer

	// CacheTTL bounds the age of a cached location, CacheEntries their number.
	CacheTTL     time.Duration
	CacheEntries int
	// ScopeEntries bounds the numbers of cached subscriptions, groups, registrations and
	// principals' grants, each; CacheTTL bounds their age too.
	ScopeEntries int
}

// Limits are the quotas; 0 means none.
type Limits struct {
	ResourcesPerTypeAndGroup int
	GroupsPerSubscription    int
	LocksPerSubscription     int
	TagNamesPerSubscription  int // values count too
	Roles                    assignments.Limits
	// LearnedOperations bounds the operations with an unknown owner in a subscription.
	LearnedOperations int
}

const readyTimeout = 2 * time.Second

// Store is the inventory. Its own methods are about subscriptions, groups and
// registrations, and about tracked resources and the writes to them; the fields have the
// methods of all other subjects. A Store is safe for concurrent use. Every call ends with
// its context.
type Store struct {
	// These subjects share transactions with writes.
	Coverage  *Coverage
	Deletions *Deletions // of groups
	Drains    *Drains
	Fences    *Fences
	Follows   *Follows
	Locks     *Locks
	Moves     *Moves
	Notices   *Notices
	Strays    *Strays

	// These subjects have their own packages.
	Jobs        *jobrow.Jobs
	Operations  *polls.Records
	Batches     *polls.Batches
	Deployments *deploymentrow.Deployments
	Tags        *tagindex.Tags
	Roles       *assignments.Roles
	Events      *eventlog.Log
	Sinks       *eventlog.Sinks
	Errors      *observed.Errors   // of all replicas
	Names       *observed.Names    // of callers
	Traffic     *observed.Traffic  // of all replicas
	Secrets     encryption.Secrets // random keys that all processes of the service share
	Locations   *memory.Locations  // cached regions of resources

	Scopes *Scopes // subscriptions, groups, registrations and grants, cached

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
	s.Coverage, s.Deletions, s.Fences, s.Follows = &Coverage{s}, &Deletions{s}, &Fences{s}, &Follows{s}
	s.Locks, s.Moves, s.Notices, s.Strays = &Locks{s}, &Moves{s}, &Notices{s}, &Strays{s}
	s.Drains = &Drains{store: s}
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
	s.Traffic = observed.NewTraffic(s.database)
	s.Errors = observed.NewErrors(s.database, o.Driver == engine.Postgres)
	s.Jobs = jobrow.New(s.engine, o.JobRecords, o.Driver == engine.Postgres)
	if s.Scopes, err = newScopes(s); err != nil {
		return nil, errors.Join(err, s.engine.Close())
	}
	keys := encryption.Options{Keys: o.EncryptionKeys, Stored: s.Secrets.Stored}
	if o.Driver != engine.Postgres {
		keys.Database = o.DSN
	}
	if s.database.Cipher, err = encryption.New(keys); err == nil {
		err = s.database.Cipher.Ready(ctx) // because transactions encrypt, and cannot wait for a key
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.Events, err = eventlog.New(ctx, s.database, o.EventAge, o.MostEvents); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Drains.Refresh(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.Metrics != nil {
		s.Locations.RegisterMetrics(o.Metrics)
		s.Scopes.registerMetrics(o.Metrics)
	}
	return s, nil
}

// clock returns the clock that measures the ages of cached values.
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

// Ready returns an error unless the store answers a read and an empty write transaction
// within 2 seconds. That does not prove that commits succeed, because an empty transaction
// waits neither for the disk nor for a standby. This is deliberate: without a standby all
// replicas refuse writes but still serve reads, and if they were all unready, no client
// would be answered.
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

// Stats returns the counts since Open.
func (s *Store) Stats() Stats {
	stats := Stats{Stats: s.engine.Stats()}
	stats.CacheHits, stats.CacheMisses = s.Locations.Counts()
	return stats
}

// Now returns the store's time, for comparison with its records.
func (s *Store) Now() time.Time { return s.engine.Now() }

// ClockSlack returns the most by which the clocks of two gateways may differ.
func (s *Store) ClockSlack() time.Duration { return s.engine.ClockSlack() }

// CountRows updates the database's statistics of its tables; see [engine.Engine.CountRows].
func (s *Store) CountRows(ctx context.Context) error { return s.engine.CountRows(ctx) }

//go:embed migrations/*.sql
var migrations embed.FS

// Layout returns the number of the last migration that this version knows.
func Layout() int64 {
	files, err := migrations.ReadDir("migrations")
	if err != nil || len(files) == 0 {
		return 0 // never, as they are embedded
	}
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	n, _ := strconv.ParseInt(number, 10, 64) // as goose reads it
	return n
}
