package memory

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// table remembers values of one kind. It is safe for concurrent use. It is an interface so
// that packages that use types made of a table do not compile all of its generic code.
type table[T any] interface {
	Get(at Key, now time.Time) *T
	Keep(at Key, value T, now time.Time)
	KeepSized(at Key, value T, size int, now time.Time)
	Forget(at Key)
	Count(at Key, answered bool)
	Counts() (hits, misses uint64)
	Entries() int
}

// lruTable is a table that drops the least recently used values first.
type lruTable[T any] struct {
	options tableBounds
	shards  [shards]shard[T]
	lookups [shards]lookupCounts
}

// shard is a part of a table with its own lock.
type shard[T any] struct {
	*lru.Cache[uint64, *entry[T]]
	replaceMu sync.Mutex   // held while an entry with a size is replaced
	bytes     atomic.Int64 // of all entries
}

// tableBounds are the bounds of a table.
type tableBounds struct {
	Entries int
	// Bytes bounds the total of the sizes given to KeepSized; 0: no bound.
	Bytes int
	// TTL bounds the age of a value; 0: nothing is remembered.
	TTL time.Duration
	// Started is when the table was created, by the clock of the requests' arrival times.
	// Ages are measured from it.
	Started time.Time
}

const shards = 16

// lookupCounts counts look-ups in a shard. It fills a cache line, because all processors
// count.
type lookupCounts struct {
	hits, misses atomic.Uint64
	_            [48]byte
}

// entry is a value with its key. It is never changed.
type entry[T any] struct {
	at    Key
	value T
	size  int64
	until time.Duration // since tableBounds.Started
}

func (k Key) shard() uint64 { return k[1] % shards }

func newLRUTable[T any](o tableBounds) (*lruTable[T], error) {
	t := &lruTable[T]{options: o}
	for i := range t.shards {
		s := &t.shards[i]
		var err error
		s.Cache, err = lru.NewWithEvict(max(o.Entries/shards, 1), func(_ uint64, e *entry[T]) { s.bytes.Add(-e.size) })
		if err != nil {
			return nil, fmt.Errorf("inventory: %w", err)
		}
	}
	return t, nil
}

// Get returns the value of a key, nil if it is not remembered. The caller must not change
// it. now is when the request arrived, because reading a clock here would cost half as much
// as the rest of the look-up.
func (t *lruTable[T]) Get(at Key, now time.Time) *T {
	known, found := t.shards[at.shard()].Get(at[0])
	// A negative age means a time before the table existed, such as the zero time.
	if age := now.Sub(t.options.Started); !found || known.at != at || age < 0 || age >= known.until {
		return nil
	}
	return &known.value
}

// Keep remembers a value that was read for a request that arrived at now.
func (t *lruTable[T]) Keep(at Key, value T, now time.Time) { t.KeepSized(at, value, 0, now) }

// KeepSized remembers a value, like Keep, that has the given size in bytes.
func (t *lruTable[T]) KeepSized(at Key, value T, size int, now time.Time) {
	if t.options.TTL <= 0 {
		return
	}
	// A quarter of the age is random, so that values that were read at the same time are
	// not all read again at the same time.
	ttl := t.options.TTL - rand.N(t.options.TTL/4+1)
	e := &entry[T]{at: at, value: value, size: int64(size), until: now.Sub(t.options.Started) + ttl}
	s := &t.shards[at.shard()]
	if t.options.Bytes <= 0 {
		s.Add(at[0], e)
		return
	}
	s.replace(e, int64(t.options.Bytes/shards))
}

// replace stores an entry in place of the one with its key, and drops the oldest entries
// until all have at most the given bytes. An entry larger than that is not stored.
func (s *shard[T]) replace(e *entry[T], bytes int64) {
	s.replaceMu.Lock()
	defer s.replaceMu.Unlock()
	s.Remove(e.at[0])
	if e.size > bytes {
		return
	}
	s.bytes.Add(e.size)
	s.Add(e.at[0], e)
	for more := true; more && s.bytes.Load() > bytes; {
		_, _, more = s.RemoveOldest()
	}
}

// Forget forgets the value of a key.
func (t *lruTable[T]) Forget(at Key) { t.shards[at.shard()].Remove(at[0]) }

// Count counts a look-up that memory has answered, or has not.
func (t *lruTable[T]) Count(at Key, answered bool) {
	if a := &t.lookups[at.shard()]; answered {
		a.hits.Add(1)
	} else {
		a.misses.Add(1)
	}
}

// Counts returns how many look-ups memory has answered, and how many it has not.
func (t *lruTable[T]) Counts() (hits, misses uint64) {
	for i := range t.lookups {
		hits, misses = hits+t.lookups[i].hits.Load(), misses+t.lookups[i].misses.Load()
	}
	return hits, misses
}

// Entries returns how many values are remembered, including outdated ones.
func (t *lruTable[T]) Entries() (n int) {
	for i := range t.shards {
		n += t.shards[i].Len()
	}
	return n
}
