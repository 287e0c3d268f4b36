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

	// now is the time since the cache was made: all that ages need, and cheaper
	// to read than the time of day.
	now func() time.Duration
	ttl time.Duration
	// changes counts, per class of places, what was forgotten: a reading that
	// was begun before is not kept.
	changes [256]atomic.Uint64
}

// shards are the parts of the memory, each with a lock of its own.
const shards = 16

// Located is where a resource is.
type Located struct {
	Region     string
	Type       string // folded full type
	Generation [16]byte
	Phase      Phase
	Verify     bool // something ambiguous happened
	Found      bool // the index has the resource, in whatever phase
	Cached     bool // from memory, so possibly out of date
}

// Doubtful reports whether a GET may settle something about the resource.
func (l Located) Doubtful() bool { return l.Phase != Live || l.Verify }

// entry is what memory holds of a place. It is never changed.
type entry struct {
	at      place
	located Located
	until   time.Duration // by Locations.now
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

// since returns what tells the time that has passed from now on, by a clock or,
// where that is nil, by the system's.
func since(clock func() time.Time) func() time.Duration {
	if clock == nil {
		begun := time.Now()
		return func() time.Duration { return time.Since(begun) }
	}
	begun := clock()
	return func() time.Duration { return clock().Sub(begun) }
}

func newLocations(s *Store, o Options, now func() time.Duration) (*Locations, error) {
	l := &Locations{store: s, places: newPlaces(), flights: newFlights(), ttl: o.CacheTTL, now: now}
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
// A lookup that memory answers allocates nothing.
func (l *Locations) Locate(ctx context.Context, sub string, key []byte) (Located, error) {
	at := l.places.of(key)
	if known, ok := l.shard(at).Get(at[0]); ok && known.at == at && l.now() < known.until {
		return known.located, nil
	}
	return l.load(ctx, at, arm.Fold(sub), string(key))
}

// Refresh tells where a resource is by the store, whatever memory says, and
// corrects memory. Calls for one resource share readings, but never one that
// was begun before the call.
func (l *Locations) Refresh(ctx context.Context, sub, key string) (Located, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	at := l.places.at(key)
	return l.flights.do(ctx, at, func(ctx context.Context) (Located, error) {
		found, err := l.load(ctx, at, sub, key)
		if err == nil && !found.Found {
			l.forget(at)
		}
		return found, err
	})
}

// Forget drops what memory has of a resource.
func (l *Locations) Forget(key string) {
	l.forget(l.places.at(arm.Fold(key)))
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

func (l *Locations) load(ctx context.Context, at place, sub, key string) (Located, error) {
	changes := l.change(at).Load()
	row, err := l.store.location(ctx, sub, key)
	if errors.Is(err, ErrNotFound) {
		return Located{}, nil
	}
	if err != nil {
		return Located{}, err
	}
	l.keep(at, row, changes)
	return row, nil
}

// keep remembers a reading. A write may have been told to forget the place
// while it was read, or right now: it counts before it forgets, so looking at
// the count after keeping misses none.
func (l *Locations) keep(at place, row Located, changes uint64) {
	if l.ttl <= 0 {
		return
	}
	row.Cached = true
	// A quarter of the age varies, so that what was learnt at once is not
	// asked for at once again.
	ttl := l.ttl - rand.N(l.ttl/4+1)
	l.shard(at).Add(at[0], &entry{at: at, located: row, until: l.now() + ttl})
	if l.change(at).Load() != changes {
		l.shard(at).Remove(at[0])
	}
}

// close ends the readings under way.
func (l *Locations) close() { l.flights.close() }

const selectLocation = `SELECT region, type, generation, phase, verify FROM resources WHERE subscription = ? AND key = ?`

func (s *Store) location(ctx context.Context, sub, key string) (Located, error) {
	found := Located{Found: true}
	var generation []byte
	err := s.read(ctx).one(selectLocation, sub, key)(&found.Region, &found.Type, &generation, &found.Phase, &found.Verify)
	if err != nil {
		return Located{}, orNotFound(err)
	}
	copy(found.Generation[:], generation)
	return found, nil
}
