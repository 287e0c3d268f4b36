package inventory

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
		if found, err := s.Locations().Locate(ctx, "s", key, time.Now()); err != nil || !found.Found {
			t.Fatalf("%+v, %v", found, err)
		}
	}
	return "s", key
}

func TestCachedLookupAllocatesNothing(t *testing.T) {
	s := openTest(t, testOptions(t))
	sub, key := cached(t.Context(), t, s)
	ctx := t.Context()
	asked := time.Now()
	allocations := testing.AllocsPerRun(5000, func() {
		found, err := s.Locations().Locate(ctx, sub, key, asked)
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
		s.locations.keep(s.locations.places.at(fmt.Sprint(i)), Located{Found: true}, s.locations.change(s.locations.places.at(fmt.Sprint(i))).Load(), time.Now())
	}
	n := 0
	for _, shard := range s.locations.shards {
		n += shard.Len()
	}
	if n == 0 || n > 50 {
		t.Errorf("%d entries are kept, want up to 50", n)
	}
}

// What memory holds is bounded by CacheEntries, and so is the memory: ten times
// as many locations take no more of it than the first ones did.
func TestCacheMemoryIsBounded(t *testing.T) {
	const entries, entrySize = 20_000, 512
	o := testOptions(t)
	o.CacheEntries = entries
	s := openTest(t, o)
	fill := func(from, to int) (heap int64) {
		for i := from; i < to; i++ {
			at := s.locations.places.at(fmt.Sprint(i))
			// As from the store, with texts of its own.
			row := Located{Found: true, Region: fmt.Sprint("region-", i%8), Type: fmt.Sprint("contoso.compute/virtualmachines-", i%8)}
			s.locations.keep(at, row, s.locations.change(at).Load(), time.Now())
		}
		var m runtime.MemStats
		for range 3 { // pools and finalizers keep some over the first
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	empty := fill(0, 0)
	full := fill(0, entries)
	beyond := fill(entries, 11*entries)
	t.Logf("%d bytes an entry, then %d", (full-empty)/entries, (beyond-empty)/entries)
	if full-empty < 50*entries {
		t.Fatal("what was to be measured is not there")
	}
	for _, heap := range []int64{full, beyond} {
		if heap-empty > entrySize*entries {
			t.Errorf("%d locations take %d bytes", entries, heap-empty)
		}
	}
}

// A reading that was begun before a write must not outlive it in the cache.
func TestReadingOvertakenByAWriteIsNotKept(t *testing.T) {
	s := openTest(t, testOptions(t))
	at := s.locations.places.at("k")
	before := s.locations.change(at).Load()
	s.locations.forget(at)
	s.locations.keep(at, Located{Region: "old", Found: true}, before, time.Now())
	if _, kept := s.locations.shard(at).Get(at[0]); kept {
		t.Error("it is kept")
	}
	s.locations.keep(at, Located{Region: "new", Found: true}, before+1, time.Now())
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

// An entry serves requests that came in while it was young, and none that did
// not say when.
func TestAgeIsMeasuredByTheRequest(t *testing.T) {
	s := openTest(t, testOptions(t))
	sub, key := cached(t.Context(), t, s)
	for _, c := range []struct {
		asked  time.Time
		cached bool
	}{
		{time.Now(), true},
		{time.Now().Add(s.options.CacheTTL), false},
		{time.Time{}, false},
	} {
		s.locations.forget(s.locations.places.of(key))
		for _, ask := range []struct {
			at     time.Time
			cached bool
		}{{time.Now(), false}, {c.asked, c.cached}} {
			if found, err := s.Locations().Locate(t.Context(), sub, key, ask.at); err != nil || !found.Found || found.Cached != ask.cached {
				t.Errorf("asked at %v: %+v, %v", ask.at, found, err)
			}
		}
	}
}
