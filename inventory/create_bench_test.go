package inventory

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/test/harness"
)

// BenchmarkCreate makes durable creates, by so many at a time, and beside it the
// transactions that these need and nothing else: the same statements in batches
// of as many, without queue, rules or callers.
func BenchmarkCreate(b *testing.B) {
	for _, engine := range []string{SQLite, Postgres} {
		b.Run(engine, func(b *testing.B) {
			o := benchOptions(b, engine)
			for _, writers := range []int{1, 16, 64} {
				b.Run(fmt.Sprint(writers), func(b *testing.B) { benchmarkCreate(b, o(), writers) })
			}
		})
	}
}

// benchOptions returns what opens an empty database at each call.
func benchOptions(b *testing.B, engine string) func() Options {
	o := Options{Driver: engine, SendWithin: time.Second, CallLimit: time.Second, CacheTTL: time.Minute, CacheEntries: 1000}
	made := 0
	if engine == SQLite {
		folder := b.TempDir()
		return func() Options {
			made++
			o.DSN = filepath.Join(folder, fmt.Sprint(made, ".db"))
			return o
		}
	}
	cluster := harness.StartPostgres(b, "shared_buffers=512MB", "max_wal_size=4GB")
	return func() Options {
		made++
		o.DSN = cluster.CreateDatabase(b, fmt.Sprint("bench", made))
		return o
	}
}

func openBench(b *testing.B, o Options) *Store {
	b.Helper()
	s, err := Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := s.SeedSubscriptions(b.Context(), []Subscription{{ID: "s", TenantID: "t"}}); err != nil {
		b.Fatal(err)
	}
	if _, _, err := s.EditGroup(b.Context(), "s", "rg", func(*Group) (*Group, error) { return &Group{}, nil }); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchmarkCreate(b *testing.B, o Options, writers int) {
	s := openBench(b, o)
	before := s.Stats()
	b.ResetTimer()
	var next atomic.Int64
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if _, err := s.Begin(b.Context(), vmWrite("rg", fmt.Sprintf("vm-%08d", n))); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	took := b.Elapsed()
	flushes := s.Stats().Flushes - before.Flushes
	b.ReportMetric(float64(flushes)/float64(b.N), "flushes/op")
	b.ReportMetric(float64(b.N)/took.Seconds(), "creates/s")

	begun := time.Now()
	for n := 0; n < b.N; n += writers {
		if err := bareCreates(b.Context(), s, n, min(writers, b.N-n)); err != nil {
			b.Fatal(err)
		}
	}
	bare := time.Since(begun)
	b.ReportMetric(float64(b.N)/bare.Seconds(), "bare/s")
	b.ReportMetric(100*bare.Seconds()/took.Seconds(), "%of-bare")
}

// bareCreates is one transaction of n creates.
func bareCreates(ctx context.Context, s *Store, from, n int) error {
	link, err := s.sessions[0].begin(ctx, flushed)
	if err != nil {
		return err
	}
	t := &tx{link: link}
	group, err := openScope(t, "s", "rg", false)
	if err != nil {
		return err
	}
	now := time.Now()
	for i := range n {
		w := vmWrite("rg", fmt.Sprintf("bare-%08d", from+i))
		if err := bareCreate(t, w, group.Incarnation, now); err != nil {
			return err
		}
	}
	if _, err := t.exec(addUsage, "s", "rg", "contoso.compute/virtualmachines", n, atMost(0)); err != nil {
		return err
	}
	return link.commit()
}

func bareCreate(t *tx, w Write, incarnation [16]byte, now time.Time) error {
	t.ahead(lockResource, w.Subscription, w.Key)
	if _, err := collect(t, scanIntent, lockIntents, w.Subscription, w.Key); err != nil {
		return err
	}
	if _, err := collect(t, scanResource, lockResource, w.Subscription, w.Key); err != nil {
		return err
	}
	if err := t.later(insertTouch, w.Subscription, w.Group, incarnation[:], w.Type, w.Region); err != nil {
		return err
	}
	row := w.row(now)
	row.Generation = newID()
	if err := row.insert(t); err != nil {
		return err
	}
	id := newID()
	return t.later(insertIntent, w.Subscription, w.Key, id[:], w.Kind, w.Group, w.Type, w.Region, w.APIVersion, w.Sender,
		row.Generation[:], 1, 0, micros(now), micros(now), micros(now))
}
