package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func cached(ctx context.Context, t testing.TB, s *Store) (sub string, key []byte) {
	t.Helper()
	_, _, err := s.EditGroup(ctx, "s", "rg", func(*Group) (*Group, error) { return &Group{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := s.Begin(ctx, vmWrite("rg", "a-virtual-machine"))
	if err != nil {
		t.Fatal(err)
	}
	key = []byte(ticket.Key)
	for range 2 {
		if found, err := s.Locations().Locate(ctx, "s", key); err != nil || !found.Found {
			t.Fatalf("%+v, %v", found, err)
		}
	}
	return "s", key
}

func TestCachedLookupAllocatesNothing(t *testing.T) {
	s := openTest(t, testOptions(t))
	sub, key := cached(t.Context(), t, s)
	ctx := t.Context()
	allocations := testing.AllocsPerRun(5000, func() {
		found, err := s.Locations().Locate(ctx, sub, key)
		if err != nil || !found.Cached {
			t.Fatalf("%+v, %v", found, err)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations per lookup", allocations)
	}
}

func TestCacheIsBounded(t *testing.T) {
	o := testOptions(t)
	o.CacheEntries = 50
	s := openTest(t, o)
	for i := range 5000 {
		s.locations.keep(s.locations.places.at(fmt.Sprint(i)), Located{Found: true}, s.locations.change(s.locations.places.at(fmt.Sprint(i))).Load())
	}
	n := 0
	for _, shard := range s.locations.shards {
		n += shard.Len()
	}
	if n == 0 || n > 50 {
		t.Errorf("%d entries are kept, want up to 50", n)
	}
}

// A reading that was begun before a write must not outlive it in the cache.
func TestReadingOvertakenByAWriteIsNotKept(t *testing.T) {
	s := openTest(t, testOptions(t))
	at := s.locations.places.at("k")
	before := s.locations.change(at).Load()
	s.locations.forget(at)
	s.locations.keep(at, Located{Region: "old", Found: true}, before)
	if _, kept := s.locations.shard(at).Get(at[0]); kept {
		t.Error("it is kept")
	}
	s.locations.keep(at, Located{Region: "new", Found: true}, before+1)
	if _, kept := s.locations.shard(at).Get(at[0]); !kept {
		t.Error("a later one is not")
	}
}

func TestPlacesAreApart(t *testing.T) {
	p := newPlaces()
	seen := make(map[place]string)
	for _, key := range []string{"", "a", "b", "bc", "ab", "a/b"} {
		at := p.at(key)
		if at != p.of([]byte(key)) {
			t.Errorf("%q is in two places", key)
		}
		if other, taken := seen[at]; taken {
			t.Errorf("%q is where %q is", key, other)
		}
		seen[at] = key
	}
}

func TestReadingsAreSharedButNeverOldOnes(t *testing.T) {
	f := newFlights()
	defer f.close()
	var reads atomic.Int32
	begun, goOn := make(chan struct{}), make(chan struct{})
	read := func(context.Context) (Located, error) {
		n := reads.Add(1)
		if n == 1 {
			close(begun)
			<-goOn
		}
		return Located{Region: fmt.Sprint(n)}, nil
	}
	var wait sync.WaitGroup
	ask := func(want string) {
		wait.Go(func() {
			if found, err := f.do(t.Context(), place{1}, read); err != nil || found.Region != want {
				t.Errorf("reading %s, %v; want %s", found.Region, err, want)
			}
		})
	}
	ask("1")
	<-begun
	// These ask while the first reading is under way, so it is too old for them.
	late := make([]*flight, 10)
	for i := range late {
		var err error
		if late[i], err = f.board(place{1}, read); err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	for _, l := range late {
		if <-l.landed; l.found.Region != "2" {
			t.Errorf("reading %s, want 2", l.found.Region)
		}
	}
	wait.Wait()
	if n := reads.Load(); n != 2 {
		t.Errorf("%d readings, want 2", n)
	}
}

func TestSharedReadingEndsWithItsCaller(t *testing.T) {
	f := newFlights()
	goOn := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.do(ctx, place{1}, func(ctx context.Context) (Located, error) {
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return Located{}, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	f.close() // ends the reading and waits for it
	close(goOn)
}

func BenchmarkCachedLookup(b *testing.B) {
	const entries = 100_000
	ctx := b.Context()
	o := Options{DSN: b.TempDir() + "/b.db", SendWithin: 1, CallLimit: 1, CacheTTL: 1 << 40, CacheEntries: entries}
	s, err := Open(ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	keys, plain := make([][]byte, entries/2), make(map[string]Located)
	for i := range keys {
		keys[i] = []byte(vmWrite("a-resource-group", fmt.Sprint("a-virtual-machine-", i)).Key)
		located := Located{Region: "westus", Type: "contoso.compute/virtualmachines", Found: true}
		plain[string(keys[i])] = located
		at := s.locations.places.of(keys[i])
		s.locations.keep(at, located, s.locations.change(at).Load())
	}
	for _, c := range []struct {
		name string
		step int
	}{{"one key", 0}, {"all keys", 7919}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.ResetTimer()
			for i, n := 0, 0; n < b.N; i, n = (i+c.step)%len(keys), n+1 {
				if found, err := s.Locations().Locate(ctx, "s", keys[i]); err != nil || !found.Cached {
					b.Fatal("absent", err)
				}
			}
			b.StopTimer()
			cache := b.Elapsed()
			begun := time.Now()
			for i, n := 0, 0; n < b.N; i, n = (i+c.step)%len(keys), n+1 {
				if found := plain[string(keys[i])]; !found.Found {
					b.Fatal("absent")
				}
			}
			b.ReportMetric(cache.Seconds()/time.Since(begun).Seconds(), "times-a-map")
		})
	}
}
