package inventory

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"portico/arm"
)

// Locations is the index as reads use it: which region holds a resource, from
// bounded memory. It is never more than Options.CacheTTL behind, and forgets at
// once what is written through the same Store. Absence is never remembered.
// Writes take the region from the store: see Begin.
type Locations struct {
	store   *Store
	places  places
	entries *otter.Cache[place, entry]
	flights flights

	now func() time.Time
	ttl time.Duration
	// changes counts, per class of places, what was forgotten: a reading that
	// was begun before is not kept.
	changes [256]atomic.Uint64
}

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

// entry is what memory holds of a place.
type entry struct {
	located Located
	until   time.Time
}

// place is a subscription and a key in 128 bits, so that a lookup needs no
// string. The hashes are keyed, anew in each process: nobody outside can look
// for two keys of one place.
type place [2]uint64

// places hashes by two seeds for the subscription and two for the key.
type places struct{ subscription, key [2]maphash.Seed }

func newPlaces() places {
	return places{
		subscription: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		key:          [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

func (p *places) of(sub string, key []byte) (at place) {
	for i := range at {
		at[i] = maphash.String(p.subscription[i], sub) ^ maphash.Bytes(p.key[i], key)
	}
	return at
}

func (p *places) at(sub, key string) place { return p.of(sub, []byte(key)) }

func newLocations(s *Store, o Options) (*Locations, error) {
	entries, err := otter.New(&otter.Options[place, entry]{
		MaximumSize: max(o.CacheEntries, 1),
		// On the caller's goroutine: the cache needs none of its own.
		Executor: func(run func()) { run() },
	})
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	return &Locations{store: s, places: newPlaces(), entries: entries, flights: newFlights(), now: o.Now, ttl: o.CacheTTL}, nil
}

// Locate tells where a resource is, from memory if that knows. key is folded.
// A lookup that memory answers allocates nothing.
func (l *Locations) Locate(ctx context.Context, sub string, key []byte) (Located, error) {
	sub = arm.Fold(sub)
	at := l.places.of(sub, key)
	if known, ok := l.entries.GetIfPresent(at); ok && l.now().Before(known.until) {
		return known.located, nil
	}
	return l.load(ctx, at, sub, string(key))
}

// Refresh tells where a resource is by the store, whatever memory says, and
// corrects memory. Calls for one resource share readings, but never one that
// was begun before the call.
func (l *Locations) Refresh(ctx context.Context, sub, key string) (Located, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	at := l.places.at(sub, key)
	return l.flights.do(ctx, at, func(ctx context.Context) (Located, error) {
		found, err := l.load(ctx, at, sub, key)
		if err == nil && !found.Found {
			l.forget(at)
		}
		return found, err
	})
}

// Forget drops what memory has of a resource.
func (l *Locations) Forget(sub, key string) {
	l.forget(l.places.at(arm.Fold(sub), arm.Fold(key)))
}

func (l *Locations) forget(at place) {
	l.change(at).Add(1)
	l.entries.Invalidate(at)
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
	l.entries.Set(at, entry{located: row, until: l.now().Add(ttl)})
	if l.change(at).Load() != changes {
		l.entries.Invalidate(at)
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
