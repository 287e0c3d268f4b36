package inventory

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
	"portico/inventory/index"
)

// Locations is the index as reads use it: which region holds a resource, from
// bounded memory. It is never more than Options.CacheTTL behind, and forgets at
// once what is written through the same Store. Absence is never remembered.
// Writes take the region from the store: see Begin.
type Locations struct {
	store   *Store
	places  places
	shards  [shards]*lru.Cache[uint64, *entry]
	flights flights

	clock func() time.Time
	begun time.Time // when the cache was made, by clock; ages count from there
	ttl   time.Duration
	// changes counts, per class of places, what was forgotten: a reading that
	// was begun before is not kept.
	changes [256]atomic.Uint64
	answers [shards]answers
}

// answers are counted apart, by shard and on cache lines of their own, as all
// processors count.
type answers struct {
	hits, misses atomic.Uint64
	_            [48]byte
}

// asked tells how many questions memory has answered, and how many it has not.
func (l *Locations) asked() (hits, misses uint64) {
	for i := range l.answers {
		hits, misses = hits+l.answers[i].hits.Load(), misses+l.answers[i].misses.Load()
	}
	return hits, misses
}

func (l *Locations) entries() (n int) {
	for _, shard := range l.shards {
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

// Doubtful reports whether a GET may settle something about the resource.
func (l Located) Doubtful() bool { return index.NeedsVerify(l.Phase, l.Verify) || l.Unfinished }

// entry is what memory holds of a place. It is never changed.
type entry struct {
	at      place
	located Located
	until   time.Duration // since Locations.begun
}

// place is the key of a resource, which begins with its subscription, in 128
// bits, so that a lookup needs no string. The hashes are keyed, anew in each
// process: nobody outside can look for two keys of one place.
type place [2]uint64

// places are the seeds of the hashes.
type places [2]maphash.Seed

func newPlaces() places { return places{maphash.MakeSeed(), maphash.MakeSeed()} }

func (p *places) of(key []byte) place {
	return place{maphash.Bytes(p[0], key), maphash.Bytes(p[1], key)}
}

func (p *places) at(key string) place {
	return place{maphash.String(p[0], key), maphash.String(p[1], key)}
}

func newLocations(s *Store, o Options) (*Locations, error) {
	clock := o.Now
	if clock == nil {
		clock = time.Now
	}
	l := &Locations{store: s, places: newPlaces(), flights: newFlights(), ttl: o.CacheTTL, clock: clock, begun: clock()}
	for i := range l.shards {
		var err error
		if l.shards[i], err = lru.New[uint64, *entry](max(o.CacheEntries/shards, 1)); err != nil {
			return nil, fmt.Errorf("inventory: %w", err)
		}
	}
	return l, nil
}

func (l *Locations) shard(at place) *lru.Cache[uint64, *entry] { return l.shards[at[1]%shards] }

// Locate tells where a resource is, from memory if that knows. key is folded.
// asked is when the request came in that wants to know, by the clock of
// Options.Now: the age of what memory has is measured by that, since reading a
// clock would cost half as much as all the rest. A lookup that memory answers
// allocates nothing.
func (l *Locations) Locate(ctx context.Context, sub string, key []byte, asked time.Time) (Located, error) {
	at := l.places.of(key)
	// Before the cache was made, as at the zero time, nothing was in it.
	if known, ok := l.shard(at).Get(at[0]); ok && known.at == at {
		if age := asked.Sub(l.begun); age >= 0 && age < known.until {
			l.answers[at[1]%shards].hits.Add(1)
			return known.located, nil
		}
	}
	l.answers[at[1]%shards].misses.Add(1)
	return l.load(ctx, at, arm.Fold(sub), string(key), asked)
}

// Refresh tells where a resource is by the store, whatever memory says, and
// corrects memory. Calls for one resource share readings, but never one that
// was begun before the call.
func (l *Locations) Refresh(ctx context.Context, sub, key string) (Located, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	at := l.places.at(key)
	return l.flights.do(ctx, at, func(ctx context.Context) (Located, error) {
		found, err := l.load(ctx, at, sub, key, l.clock())
		if err == nil && !found.Found {
			l.forget(at)
		}
		return found, err
	})
}

func (l *Locations) forget(at place) {
	l.change(at).Add(1)
	l.shard(at).Remove(at[0])
}

func (l *Locations) forgetAll(all []place) {
	for _, at := range all {
		l.forget(at)
	}
}

func (l *Locations) change(at place) *atomic.Uint64 { return &l.changes[at[0]%uint64(len(l.changes))] }

func (l *Locations) load(ctx context.Context, at place, sub, key string, asked time.Time) (Located, error) {
	changes := l.change(at).Load()
	row, err := l.store.location(ctx, sub, key)
	if errors.Is(err, ErrNotFound) {
		return Located{}, nil
	}
	if err != nil {
		return Located{}, err
	}
	l.keep(at, row, changes, asked)
	return row, nil
}

// keep remembers a reading. A write may have been told to forget the place
// while it was read, or right now: it counts before it forgets, so looking at
// the count after keeping misses none.
func (l *Locations) keep(at place, row Located, changes uint64, asked time.Time) {
	if l.ttl <= 0 {
		return
	}
	row.Cached = true
	// A quarter of the age varies, so that what was learnt at once is not
	// asked for at once again.
	ttl := l.ttl - rand.N(l.ttl/4+1)
	l.shard(at).Add(at[0], &entry{at: at, located: row, until: asked.Sub(l.begun) + ttl})
	if l.change(at).Load() != changes {
		l.shard(at).Remove(at[0])
	}
}

// close ends the readings under way.
func (l *Locations) close() { l.flights.close() }

const selectLocation = `SELECT region, type, generation, phase, verify, provisioning_state FROM resources WHERE subscription = ? AND key = ?`

func (s *Store) location(ctx context.Context, sub, key string) (Located, error) {
	found := Located{Found: true}
	var generation []byte
	var provisioningState string
	err := s.read(ctx).One(selectLocation, sub, key)(&found.Region, &found.Type, &generation, &found.Phase, &found.Verify, &provisioningState)
	if err != nil {
		return Located{}, orNotFound(err)
	}
	copy(found.Generation[:], generation)
	found.Unfinished = !index.Terminal(provisioningState)
	return found, nil
}
