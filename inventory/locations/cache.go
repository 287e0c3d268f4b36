// Package locations remembers, in bounded memory, which region holds a resource.
// It serves reads alone, and never remembers an absence. Reads of the store are
// shared between callers, but never one that was begun before the caller asked.
package locations

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"portico/arm"
	"portico/inventory/index"
)

// Cache is the index as reads use it. It is never more than its TTL behind, and
// forgets a place as soon as Forget says so.
type Cache struct {
	read   func(ctx context.Context, sub, key string) (Located, error)
	seeds  [2]maphash.Seed
	shards [shards]*lru.Cache[uint64, *entry]
	fresh  freshReads

	clock func() time.Time
	begun time.Time // when the cache was made, by clock; ages count from there
	ttl   time.Duration
	// changes counts, per class of places, what was forgotten: a reading that began
	// before is not kept.
	changes [256]atomic.Uint64
	answers [shards]answers
}

// answers are counted by shard, on cache lines of their own, as all processors count.
type answers struct {
	hits, misses atomic.Uint64
	_            [48]byte
}

// Counts returns how many questions memory has answered, and how many it has not.
func (c *Cache) Counts() (hits, misses uint64) {
	for i := range c.answers {
		hits, misses = hits+c.answers[i].hits.Load(), misses+c.answers[i].misses.Load()
	}
	return hits, misses
}

// Entries is how many locations are remembered.
func (c *Cache) Entries() (n int) {
	for _, shard := range c.shards {
		n += shard.Len()
	}
	return n
}

// shards are the parts of the memory, each with a lock of its own.
const shards = 16

// Located is where a resource is.
type Located struct {
	Region     string
	Type       string // folded full type
	Generation [16]byte
	Phase      index.Phase
	Verify     bool // something ambiguous happened
	Unfinished bool // its last known provisioningState is not terminal
	Found      bool // the index has the resource, in whatever phase
	Cached     bool // from memory, so possibly out of date
}

// NeedsVerify reports whether a GET may settle something about the resource.
func (l Located) NeedsVerify() bool { return index.NeedsVerify(l.Phase, l.Verify) || l.Unfinished }

// entry is what memory holds of a place. It is never changed.
type entry struct {
	at      Place
	located Located
	until   time.Duration // since Cache.begun
}

// Place is the key of a resource, which begins with its subscription, in 128 bits, so
// that a lookup needs no string. The hashes are keyed, with new keys in each cache:
// nobody outside can look for two resources of one place.
type Place [2]uint64

func (c *Cache) placeOf(key []byte) Place {
	return Place{maphash.Bytes(c.seeds[0], key), maphash.Bytes(c.seeds[1], key)}
}

// Place returns the place of a folded key.
func (c *Cache) Place(key string) Place {
	return Place{maphash.String(c.seeds[0], key), maphash.String(c.seeds[1], key)}
}

// Options say what a cache reads, and bound it.
type Options struct {
	// Read finds a resource in the store; Found is false where there is none.
	Read    func(ctx context.Context, sub, key string) (Located, error)
	Now     func() time.Time
	TTL     time.Duration // of a location; 0: none is remembered
	Entries int
}

// New makes an empty cache.
func New(o Options) (*Cache, error) {
	c := &Cache{
		read: o.Read, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, fresh: newFreshReads(),
		ttl: o.TTL, clock: o.Now, begun: o.Now(),
	}
	for i := range c.shards {
		var err error
		if c.shards[i], err = lru.New[uint64, *entry](max(o.Entries/shards, 1)); err != nil {
			return nil, fmt.Errorf("inventory: %w", err)
		}
	}
	return c, nil
}

func (c *Cache) shard(at Place) *lru.Cache[uint64, *entry] { return c.shards[at[1]%shards] }

// Locate returns where a resource is, from memory if that knows. key is folded.
// asked is when the request arrived, by the clock of Options.Now: ages are measured
// by that, since reading a clock would cost half as much as all the rest. A lookup
// that memory answers allocates nothing.
func (c *Cache) Locate(ctx context.Context, sub string, key []byte, asked time.Time) (Located, error) {
	at := c.placeOf(key)
	// Before the cache was made, as at the zero time, nothing was in it.
	if known, ok := c.shard(at).Get(at[0]); ok && known.at == at {
		if age := asked.Sub(c.begun); age >= 0 && age < known.until {
			c.answers[at[1]%shards].hits.Add(1)
			return known.located, nil
		}
	}
	c.answers[at[1]%shards].misses.Add(1)
	return c.load(ctx, at, arm.Fold(sub), string(key), asked)
}

// Refresh returns where a resource is by the store, whatever memory says, and
// corrects memory. Calls for one resource share reads, but never one that began
// before the call.
func (c *Cache) Refresh(ctx context.Context, sub, key string) (Located, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	at := c.Place(key)
	return c.fresh.do(ctx, at, func(ctx context.Context) (Located, error) {
		found, err := c.load(ctx, at, sub, key, c.clock())
		if err == nil && !found.Found {
			c.forget(at)
		}
		return found, err
	})
}

func (c *Cache) forget(at Place) {
	c.change(at).Add(1)
	c.shard(at).Remove(at[0])
}

// Forget forgets what was written, once others can see the write.
func (c *Cache) Forget(written []Place) {
	for _, at := range written {
		c.forget(at)
	}
}

func (c *Cache) change(at Place) *atomic.Uint64 { return &c.changes[at[0]%uint64(len(c.changes))] }

func (c *Cache) load(ctx context.Context, at Place, sub, key string, asked time.Time) (Located, error) {
	changes := c.change(at).Load()
	row, err := c.read(ctx, sub, key)
	if err != nil || !row.Found {
		return Located{}, err
	}
	c.keep(at, row, changes, asked)
	return row, nil
}

// keep remembers a reading. A Forget of the place may run while it is read, or right
// now: it counts before it forgets, so looking at the count after keeping misses
// none.
func (c *Cache) keep(at Place, row Located, changes uint64, asked time.Time) {
	if c.ttl <= 0 {
		return
	}
	row.Cached = true
	// A quarter of the age varies, so that what was read at once is not read again at
	// once.
	ttl := c.ttl - rand.N(c.ttl/4+1)
	c.shard(at).Add(at[0], &entry{at: at, located: row, until: asked.Sub(c.begun) + ttl})
	if c.change(at).Load() != changes {
		c.shard(at).Remove(at[0])
	}
}

// Close ends the reads under way.
func (c *Cache) Close() { c.fresh.close() }
