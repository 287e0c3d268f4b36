package scopes

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"portico/arm"
	"portico/inventory/engine"
)

// Table remembers values of one kind, each by its subscription and a name. It never
// remembers an absence.
type Table[T any] struct {
	changes *Changes
	read    func(ctx context.Context, subscription, name string) (T, error)
	keep    func(T) bool
	seeds   [2]maphash.Seed
	shards  [shards]*lru.Cache[uint64, *entry[T]]
	answers [shards]answers
}

// shards are the parts of a table, each with a lock of its own.
const shards = 16

// answers are counted by shard, on cache lines of their own, as all processors count.
type answers struct {
	hits, misses atomic.Uint64
	_            [48]byte
}

// entry is what memory holds under a key. It is never changed.
type entry[T any] struct {
	at    place
	value T
	count uint64        // of changes of the subscription, before the value was read
	until time.Duration // since Changes.begun
}

// place is a key in 128 bits, so that a lookup needs no string. The hashes are keyed,
// with new keys in each table: nobody outside can look for two keys of one place.
type place [2]uint64

// NewTable makes an empty table of at most so many entries. read reads a value from
// the store; its subscription and name are folded. What keep refuses is not
// remembered.
func NewTable[T any](c *Changes, entries int, read func(ctx context.Context, subscription, name string) (T, error), keep func(T) bool) (*Table[T], error) {
	t := &Table[T]{changes: c, read: read, keep: keep, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range t.shards {
		var err error
		if t.shards[i], err = lru.New[uint64, *entry[T]](max(entries/shards, 1)); err != nil {
			return nil, fmt.Errorf("inventory: %w", err)
		}
	}
	return t, nil
}

// Get returns a value, and whether memory said so. Subscription and name may have any
// casing. asked is when the request arrived, by the clock of Options.Now, as reading a
// clock would cost half as much as all the rest. What memory answers allocates
// nothing. Callers share the value, and must not change what it points to.
func (t *Table[T]) Get(ctx context.Context, subscription, name string, asked time.Time) (value T, remembered bool, err error) {
	var buffer [192]byte
	key := arm.AppendFold(buffer[:0], subscription)
	length, count := len(key), t.changes.count(key)
	key = arm.AppendFold(append(key, '/'), name)
	at := place{maphash.Bytes(t.seeds[0], key), maphash.Bytes(t.seeds[1], key)}
	vouched := t.changes.vouch(asked) // before the count is looked at, which may change for a new answer
	known, found := t.shards[at[1]%shards].Get(at[0])
	if found = found && t.holds(known, at, count, asked); found && vouched {
		t.answers[at[1]%shards].hits.Add(1)
		return known.value, true, nil
	}
	t.answers[at[1]%shards].misses.Add(1)
	value, err = t.load(ctx, at, string(key[:length]), string(key[length+1:]), count, asked)
	if found && errors.Is(err, engine.ErrUnavailable) {
		return known.value, true, nil
	}
	return value, false, err
}

func (t *Table[T]) holds(known *entry[T], at place, count *atomic.Uint64, asked time.Time) bool {
	// Before the table was made, as at the zero time, nothing was in it.
	age := asked.Sub(t.changes.begun)
	return known.at == at && age >= 0 && age < known.until && known.count == count.Load()
}

func (t *Table[T]) load(ctx context.Context, at place, subscription, name string, count *atomic.Uint64, asked time.Time) (T, error) {
	before := count.Load()
	value, err := t.read(ctx, subscription, name)
	ttl := t.changes.options.TTL
	if err != nil || ttl <= 0 || !t.keep(value) {
		return value, err
	}
	// A quarter of the age varies, so that what was read at once is not read again at
	// once.
	ttl -= rand.N(ttl/4 + 1)
	t.shards[at[1]%shards].Add(at[0], &entry[T]{at: at, value: value, count: before, until: asked.Sub(t.changes.begun) + ttl})
	return value, nil
}

// Counts returns how many questions memory has answered, and how many it has not.
func (t *Table[T]) Counts() (hits, misses uint64) {
	for i := range t.answers {
		hits, misses = hits+t.answers[i].hits.Load(), misses+t.answers[i].misses.Load()
	}
	return hits, misses
}

// Entries is how many values are remembered, outdated ones included.
func (t *Table[T]) Entries() (n int) {
	for _, shard := range t.shards {
		n += shard.Len()
	}
	return n
}
