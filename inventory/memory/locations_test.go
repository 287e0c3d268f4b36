package memory

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const ttl = time.Minute

// newCache makes a cache of a store that holds every resource.
func newCache(t testing.TB, entries int) *Locations {
	t.Helper()
	return newCacheFor(t, entries, ttl)
}

func newCacheFor(t testing.TB, entries int, ttl time.Duration) *Locations {
	t.Helper()
	c, err := NewLocations(LocationOptions{
		Read: func(context.Context, string, string) (Located, error) {
			return Located{Found: true, Region: "westus"}, nil
		},
		Now:     time.Now,
		TTL:     ttl,
		Entries: entries,
		AgesAt:  func(now time.Time) time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCachedLookupAllocatesNothing(t *testing.T) {
	c, ctx := newCache(t, 1000), t.Context()
	sub, key := "s", []byte("/subscriptions/s/a-virtual-machine")
	now := time.Now()
	if _, err := c.Locate(ctx, sub, key, now); err != nil {
		t.Fatal(err)
	}
	allocations := testing.AllocsPerRun(5000, func() {
		found, err := c.Locate(ctx, sub, key, now)
		if err != nil || !found.Cached {
			t.Fatalf("%+v, %v", found, err)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations per lookup", allocations)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache(t, 50)
	for i := range 5000 {
		at := c.KeyOf(fmt.Sprint(i))
		c.remember(at, Located{Found: true}, c.counter(at).Load(), time.Now())
	}
	if n := c.Entries(); n == 0 || n > 50 {
		t.Errorf("%d entries are kept, want up to 50", n)
	}
}

// What memory holds is bounded by CacheEntries, and so is the memory: ten times
// as many locations take no more of it than the first ones did.
func TestCacheMemoryIsBounded(t *testing.T) {
	const entries, entrySize = 20_000, 512
	c := newCache(t, entries)
	fill := func(from, to int) (heap int64) {
		for i := from; i < to; i++ {
			at := c.KeyOf(fmt.Sprint(i))
			// As from the store, with texts of its own.
			row := Located{Found: true, Region: fmt.Sprint("region-", i%8), Type: fmt.Sprint("contoso.compute/virtualmachines-", i%8)}
			c.remember(at, row, c.counter(at).Load(), time.Now())
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
	c := newCache(t, 1000)
	at := c.KeyOf("k")
	before := c.counter(at).Load()
	c.forget(at)
	c.remember(at, Located{Region: "old", Found: true}, before, time.Now())
	if c.table.Get(at, time.Now()) != nil {
		t.Error("it is kept")
	}
	c.remember(at, Located{Region: "new", Found: true}, before+1, time.Now())
	if c.table.Get(at, time.Now()) == nil {
		t.Error("a later one is not")
	}
}

// Requests for a place that memory does not know share a reading, and none that began
// before they came.
func TestReadingsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, 1000)
		var reads atomic.Int32
		goOn := make(chan struct{})
		c.read = func(context.Context, string, string) (Located, error) {
			n := reads.Add(1)
			<-goOn
			return Located{Found: true, Region: fmt.Sprint(n)}, nil
		}
		var wait sync.WaitGroup
		now := time.Now()
		wants := func(want string, find func() (Located, error)) {
			wait.Go(func() {
				if found, err := find(); err != nil || found.Region != want {
					t.Errorf("%s, %v; want %s", found.Region, err, want)
				}
			})
		}
		locate := func() (Located, error) { return c.Locate(t.Context(), "s", []byte("k"), now) }
		wants("1", locate)
		synctest.Wait()
		for range 10 {
			wants("2", locate)
			wants("2", func() (Located, error) { return c.Refresh(t.Context(), "S", "K") })
		}
		synctest.Wait()
		close(goOn)
		wait.Wait()
		if n := reads.Load(); n != 2 {
			t.Errorf("%d readings, want 2", n)
		}
	})
}

// An entry serves requests that came in while it was young, and none that did
// not say when.
func TestAgeIsMeasuredByTheRequest(t *testing.T) {
	cache, key := newCache(t, 1000), []byte("k")
	for _, c := range []struct {
		now    time.Time
		cached bool
	}{
		{time.Now(), true},
		{time.Now().Add(ttl), false},
		{time.Time{}, false},
	} {
		cache.forget(cache.keys.Key(key))
		for _, ask := range []struct {
			at     time.Time
			cached bool
		}{{time.Now(), false}, {c.now, c.cached}} {
			if found, err := cache.Locate(t.Context(), "s", key, ask.at); err != nil || !found.Found || found.Cached != ask.cached {
				t.Errorf("asked at %v: %+v, %v", ask.at, found, err)
			}
		}
	}
}
