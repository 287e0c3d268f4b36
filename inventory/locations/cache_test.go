package locations

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

const ttl = time.Minute

// newCache makes a cache of a store that holds every resource.
func newCache(t testing.TB, entries int) *Cache {
	t.Helper()
	return newCacheFor(t, entries, ttl)
}

func newCacheFor(t testing.TB, entries int, ttl time.Duration) *Cache {
	t.Helper()
	c, err := New(Options{
		Read: func(context.Context, string, string) (Located, error) {
			return Located{Found: true, Region: "westus"}, nil
		},
		Now:     time.Now,
		TTL:     ttl,
		Entries: entries,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCachedLookupAllocatesNothing(t *testing.T) {
	c, ctx := newCache(t, 1000), t.Context()
	sub, key := "s", []byte("/subscriptions/s/a-virtual-machine")
	asked := time.Now()
	if _, err := c.Locate(ctx, sub, key, asked); err != nil {
		t.Fatal(err)
	}
	allocations := testing.AllocsPerRun(5000, func() {
		found, err := c.Locate(ctx, sub, key, asked)
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
		at := c.Place(fmt.Sprint(i))
		c.keep(at, Located{Found: true}, c.change(at).Load(), time.Now())
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
			at := c.Place(fmt.Sprint(i))
			// As from the store, with texts of its own.
			row := Located{Found: true, Region: fmt.Sprint("region-", i%8), Type: fmt.Sprint("contoso.compute/virtualmachines-", i%8)}
			c.keep(at, row, c.change(at).Load(), time.Now())
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
	at := c.Place("k")
	before := c.change(at).Load()
	c.forget(at)
	c.keep(at, Located{Region: "old", Found: true}, before, time.Now())
	if c.known.Get(at, time.Now()) != nil {
		t.Error("it is kept")
	}
	c.keep(at, Located{Region: "new", Found: true}, before+1, time.Now())
	if c.known.Get(at, time.Now()) == nil {
		t.Error("a later one is not")
	}
}

func TestReadingsAreSharedButNeverOldOnes(t *testing.T) {
	f := newFreshReads()
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
			if found, err := f.do(t.Context(), Place{1}, read); err != nil || found.Region != want {
				t.Errorf("reading %s, %v; want %s", found.Region, err, want)
			}
		})
	}
	ask("1")
	<-begun
	// These ask while the first reading is under way, so it is too old for them.
	late := make([]*freshRead, 10)
	for i := range late {
		var err error
		if late[i], err = f.join(Place{1}, read); err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	for _, l := range late {
		if <-l.done; l.found.Region != "2" {
			t.Errorf("reading %s, want 2", l.found.Region)
		}
	}
	wait.Wait()
	if n := reads.Load(); n != 2 {
		t.Errorf("%d readings, want 2", n)
	}
}

func TestSharedReadingEndsWithItsCaller(t *testing.T) {
	f := newFreshReads()
	goOn := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.do(ctx, Place{1}, func(ctx context.Context) (Located, error) {
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
	cache, key := newCache(t, 1000), []byte("k")
	for _, c := range []struct {
		asked  time.Time
		cached bool
	}{
		{time.Now(), true},
		{time.Now().Add(ttl), false},
		{time.Time{}, false},
	} {
		cache.forget(cache.known.Key(key))
		for _, ask := range []struct {
			at     time.Time
			cached bool
		}{{time.Now(), false}, {c.asked, c.cached}} {
			if found, err := cache.Locate(t.Context(), "s", key, ask.at); err != nil || !found.Found || found.Cached != ask.cached {
				t.Errorf("asked at %v: %+v, %v", ask.at, found, err)
			}
		}
	}
}
