package memory

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// table remembers values of one kind. It is safe for concurrent use. Packages that only
// hold what is made of a table would compile all of its generic code if they saw more of
// it than this.
type table[T any] interface {
	Get(at Key, now time.Time) *T
	Keep(at Key, value T, now time.Time)
	KeepSized(at Key, value T, size int, now time.Time)
	Forget(at Key)
	Count(at Key, answered bool)
	Counts() (hits, misses uint64)
	Entries() int
}

// lruTable is a table that leaves out first what was used longest ago.
type lruTable[T any] struct {
	options tableBounds
	shards  [shards]shard[T]
	answers [shards]answers
}

// shard is a part of a table, with a lock of its own.
type shard[T any] struct {
	*lru.Cache[uint64, *entry[T]]
	exchanging sync.Mutex   // entries that have sizes: one that is replaced is not counted out
	bytes      atomic.Int64 // of all entries
}

// tableBounds bound a table.
type tableBounds struct {
	Entries int
	// Bytes bounds the sizes of all values, as KeepSized says them; 0: nothing does.
	Bytes int
	// TTL bounds the age of a value; 0: nothing is remembered.
	TTL time.Duration
	// Started is when the table was made, by the clock that also says when requests arrived.
	// Ages count from there.
	Started time.Time
}

// shards are the parts of a table.
const shards = 16

// answers are counted by shard, on cache lines of their own, as all processors count.
type answers struct {
	hits, misses atomic.Uint64
	_            [48]byte
}

// entry is what memory holds under a key. It is never changed.
type entry[T any] struct {
	at    Key
	value T
	size  int64
	until time.Duration // since tableBounds.Begun
}

func (k Key) shard() uint64 { return k[1] % shards }

// newLRUTable makes an empty table.
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

// Get returns the value of a key; nil if it is not remembered. The caller must not
// change it. now is when the request arrived: ages are measured by that, since
// reading a clock would cost half as much as all the rest.
func (t *lruTable[T]) Get(at Key, now time.Time) *T {
	known, found := t.shards[at.shard()].Get(at[0])
	// Before the table was made, as at the zero time, nothing was in it.
	if age := now.Sub(t.options.Started); !found || known.at != at || age < 0 || age >= known.until {
		return nil
	}
	return &known.value
}

// Keep remembers a value that was read for a request that arrived at now.
func (t *lruTable[T]) Keep(at Key, value T, now time.Time) { t.KeepSized(at, value, 0, now) }

// KeepSized is Keep for a value of so many bytes.
func (t *lruTable[T]) KeepSized(at Key, value T, size int, now time.Time) {
	if t.options.TTL <= 0 {
		return
	}
	// A quarter of the age varies, so that what was read at once is not read again at
	// once.
	ttl := t.options.TTL - rand.N(t.options.TTL/4+1)
	e := &entry[T]{at: at, value: value, size: int64(size), until: now.Sub(t.options.Started) + ttl}
	s := &t.shards[at.shard()]
	if t.options.Bytes <= 0 {
		s.Add(at[0], e)
		return
	}
	s.exchange(e, int64(t.options.Bytes/shards))
}

// exchange keeps an entry in place of the one that is there, and of the oldest ones where
// there is no room. What alone is larger than all may be is not kept.
func (s *shard[T]) exchange(e *entry[T], bytes int64) {
	s.exchanging.Lock()
	defer s.exchanging.Unlock()
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

// Count counts a question that memory has answered, or has not.
func (t *lruTable[T]) Count(at Key, answered bool) {
	if a := &t.answers[at.shard()]; answered {
		a.hits.Add(1)
	} else {
		a.misses.Add(1)
	}
}

// Counts returns how many questions memory has answered, and how many it has not.
func (t *lruTable[T]) Counts() (hits, misses uint64) {
	for i := range t.answers {
		hits, misses = hits+t.answers[i].hits.Load(), misses+t.answers[i].misses.Load()
	}
	return hits, misses
}

// Entries is how many values are remembered, outdated ones included.
func (t *lruTable[T]) Entries() (n int) {
	for i := range t.shards {
		n += t.shards[i].Len()
	}
	return n
}
