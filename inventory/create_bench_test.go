package inventory

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

// BenchmarkCreate makes creates, so many at a time: the intent, on disk, and
// what a 201 means, visible. Beside it run the transactions that these need and
// nothing else: the statements of each, one after another, in the same number of durable
// commits, without queue, rules, events or callers. The two take turns; reported is the
// median of how they compare.
func BenchmarkCreate(b *testing.B) {
	for _, driver := range []string{engine.SQLite, engine.Postgres} {
		b.Run(driver, func(b *testing.B) {
			o := benchOptions(b, driver)
			for _, writers := range []int{1, 16, 64} {
				b.Run(fmt.Sprint(writers), func(b *testing.B) { benchmarkCreate(b, o(), writers) })
			}
		})
	}
}

// benchOptions returns what opens an empty database at each call.
func benchOptions(b *testing.B, driver string) func() Options {
	o := Options{
		Driver: driver, SendWithin: time.Second, CallLimit: time.Minute, LateWriteWindow: time.Minute,
		CacheTTL: time.Minute, CacheEntries: 1000,
	}
	created := 0
	if driver == engine.SQLite {
		folder := b.TempDir()
		return func() Options {
			created++
			o.DSN = fmt.Sprintf("%s/%d.db", folder, created)
			return o
		}
	}
	cluster := harness.StartPostgres(b, "shared_buffers=512MB", "max_wal_size=4GB")
	return func() Options {
		created++
		o.DSN = cluster.CreateDatabase(b, fmt.Sprint("bench", created))
		return o
	}
}

func openBench(b *testing.B, o Options) *Store {
	b.Helper()
	s, err := Open(b.Context(), o)
	harness.OK(b, err)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	harness.OK(b, s.SeedSubscriptions(b.Context(), []Subscription{{ID: "s", TenantID: "t"}}))
	if _, _, err := s.EditGroup(b.Context(), "s", "rg", func(*Group) (*Group, error) { return &Group{}, nil }); err != nil {
		b.Fatal(err)
	}
	return s
}

// benchmarkCreate makes in one operation perWriter creates by each writer, and
// then as many bare ones, with the same number of durable commits.
func benchmarkCreate(b *testing.B, o Options, writers int) {
	const perWriter = 16
	s := openBench(b, o)
	group, err := s.Group(b.Context(), "s", "rg")
	harness.OK(b, err)
	bare := bareStore{Store: s, incarnation: group.Incarnation, writers: writers}
	s.engine.Intercept(func(session engine.Session) engine.Session {
		if bare.session == nil {
			bare.session = session
		}
		return session
	})
	creates := writers * perWriter
	var flushes, commits uint64
	var took, tookBare time.Duration
	var compared []float64
	for b.Loop() {
		before, started := s.Stats(), time.Now()
		createAll(b, s, len(compared), writers, perWriter)
		middle, after := time.Now(), s.Stats()
		flushed := after.Flushes - before.Flushes
		harness.OK(b, bare.creates(b.Context(), len(compared), creates, int(flushed)))
		of, ofBare := middle.Sub(started), time.Since(middle)
		took, tookBare = took+of, tookBare+ofBare
		flushes, commits = flushes+flushed, commits+after.Commits-before.Commits
		compared = append(compared, 100*ofBare.Seconds()/of.Seconds())
	}
	all := float64(creates * len(compared))
	b.ReportMetric(float64(flushes)/all, "flushes/create")
	b.ReportMetric(float64(commits)/all, "commits/create")
	b.ReportMetric(all/took.Seconds(), "creates/s")
	b.ReportMetric(all/tookBare.Seconds(), "bare/s")
	b.ReportMetric(median(compared), "%of-bare")
	if writers == 64 {
		promise(b, median(compared) >= 80, "a loop that does only the transactions is more than 1/0.8 times as fast")
	}
}

// promise fails the benchmark when what Portico promises does not hold, and
// PORTICO_BENCH_CHECK is set.
func promise(b *testing.B, holds bool, otherwise string) {
	b.Helper()
	if !holds && os.Getenv("PORTICO_BENCH_CHECK") != "" {
		b.Error(otherwise)
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func createAll(b *testing.B, s *Store, round, writers, each int) {
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				ticket, err := s.Begin(b.Context(), vmWrite("rg", fmt.Sprintf("vm-%d-%02d-%02d", round, w, i)))
				if err == nil {
					_, err = s.Settle(b.Context(), ticket, WriteResult{Outcome: index.Succeeded, Status: http.StatusCreated})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// bareStore runs the statements of creates.
type bareStore struct {
	*Store
	session     engine.Session
	incarnation [16]byte // of the group
	writers     int
}

// creates makes n creates, by so many durable transactions and as many that
// settle what those began. Their names are in the order of those that writers make
// beside each other: the next one belongs on another page.
func (s *bareStore) creates(ctx context.Context, round, n, transactions int) error {
	for i := range transactions {
		from, to := n*i/transactions, n*(i+1)/transactions
		names := make([]string, to-from)
		for i := range names {
			names[i] = fmt.Sprintf("bare-%d-%02d-%02d", round, (from+i)%s.writers, (from+i)/s.writers)
		}
		if err := s.create(ctx, names); err != nil {
			return err
		}
	}
	return nil
}

// create makes the creates of some resources in two transactions.
func (s *bareStore) create(ctx context.Context, names []string) error {
	writes, ids, rows := make([]Write, len(names)), make([][16]byte, len(names)), make([]*Resource, len(names))
	for i := range writes {
		w := vmWrite("rg", names[i])
		w.Key, w.Name = strings.ToLower(w.Key), nameIn(w.ID, w.Type)
		writes[i], ids[i] = w, engine.NewID()
		rows[i] = w.newRow(time.Now())
	}
	err := s.transact(ctx, engine.Flushed, writes, func(t *tx, i int) error {
		rows[i].Generation = engine.NewID()
		return s.begin(t, &writes[i], rows[i], ids[i])
	})
	if err != nil {
		return err
	}
	return s.transact(ctx, engine.Unflushed, writes, func(t *tx, i int) error {
		before := *rows[i]
		if t.LocksRows() { // what was begun is not read again
			of := resourceOf{"s", writes[i].Key}
			if err := t.LookUpLater(lockExpected(of, before.Generation)...); err != nil {
				return err
			}
		}
		if err := t.Later(deleteIntent, "s", writes[i].Key, ids[i][:]); err != nil {
			return err
		}
		rows[i].Phase, rows[i].Generation = index.Live, engine.NewID()
		return rows[i].replace(t, &before, true)
	})
}

// transact runs one transaction over all writes, which are loaded at once.
func (s *bareStore) transact(ctx context.Context, d engine.Durability, writes []Write, run func(*tx, int) error) error {
	conn, err := s.session.Begin(ctx, d)
	if err != nil {
		return err
	}
	t := s.newTx(engine.NewTx(conn)).(*tx)
	if d == engine.Flushed {
		if err := lookUpCreates(t, writes); err != nil {
			return err
		}
	}
	for i := range writes {
		if err := run(t, i); err != nil {
			return err
		}
	}
	if d == engine.Flushed {
		if _, err := t.Exec(addUsed, "s", "rg", writes[0].Type, len(writes), engine.LimitArg(0)); err != nil {
			return err
		}
	}
	return conn.Commit()
}

// addUsed counts what was created.
const addUsed = `INSERT INTO usage (subscription, resource_group, type, used) VALUES (?, ?, ?, ?)
	ON CONFLICT (subscription, resource_group, type) DO UPDATE SET used = usage.used + excluded.used WHERE usage.used + excluded.used <= ?`

// lookUpCreates reads what has to be known before resources are created.
func lookUpCreates(t *tx, writes []Write) error {
	queries := t.locked.lookUpScope(scopeOf{"s", "rg"})
	for i := range writes {
		of := resourceOf{"s", writes[i].Key}
		queries = append(queries, t.locked.lookUpIntents(of), t.locked.lookUpRow(of))
	}
	if err := t.LookUp(queries...); err != nil {
		return err
	}
	_, err := openScope(t, "s", "rg", false)
	return err
}

func (s *bareStore) begin(t *tx, w *Write, row *Resource, id [16]byte) error {
	if err := load(t, w); err != nil {
		return err
	}
	if err := t.Later(insertWrittenRegion, "s", "rg", s.incarnation[:], w.Type, w.Region); err != nil {
		return err
	}
	if err := row.insert(t); err != nil {
		return err
	}
	now := engine.Micros(row.Created)
	return t.Later(insertIntent, "s", w.Key, id[:], w.Kind, w.Group, w.Type, w.Region, w.APIVersion, w.Sender,
		row.Generation[:], 1, 0, 0, now, now, now)
}

// load asks what a write has to know of its resource.
func load(t *tx, w *Write) error {
	_, err := lockResource(t, "s", w.Key)
	return err
}
