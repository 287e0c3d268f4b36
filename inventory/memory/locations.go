package memory

import (
	"context"
	"sync/atomic"
	"time"

	"portico/arm"
	"portico/inventory/index"
)

// Locations is the index as reads use it. It is never more than its TTL behind, but while
// the store is down by as much again, and forgets a place as soon as Forget says so.
type Locations struct {
	read  func(ctx context.Context, sub, key string) (Located, error)
	keys  hashes
	known table[Located]
	reads sharedReads[Located]
	clock func() time.Time
	// agesAt is [Changes.AgesAt].
	agesAt func(now time.Time) time.Time
	// changes counts, per class of places, what was forgotten: a reading that began
	// before is not kept.
	changes [256]atomic.Uint64
}

// Counts returns how many questions memory has answered, and how many it has not.
func (c *Locations) Counts() (hits, misses uint64) { return c.known.Counts() }

// Entries is how many locations are remembered.
func (c *Locations) Entries() int { return c.known.Entries() }

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

// KeyOf returns the table's key of a resource, by the folded key of the index.
func (c *Locations) KeyOf(key string) Key { return c.keys.KeyOf(key) }

// LocationOptions say what a Locations reads, and bound it.
type LocationOptions struct {
	// Read finds a resource in the store; Found is false where there is none.
	Read    func(ctx context.Context, sub, key string) (Located, error)
	Now     func() time.Time
	TTL     time.Duration // of a location; 0: none is remembered
	Entries int
	// AgesAt is the [Changes.AgesAt] of the same store, made later.
	AgesAt func(now time.Time) time.Time
}

// NewLocations makes an empty Locations.
func NewLocations(o LocationOptions) (*Locations, error) {
	known, err := newLRUTable[Located](tableBounds{Entries: o.Entries, TTL: o.TTL, Started: o.Now()})
	if err != nil {
		return nil, err
	}
	return &Locations{read: o.Read, keys: newHashes(), known: known, clock: o.Now, agesAt: o.AgesAt}, nil
}

// Locate returns where a resource is, from memory if that knows. key is folded.
// now is when the request arrived, by the clock of LocationOptions.Now. A lookup that memory
// answers allocates nothing.
func (c *Locations) Locate(ctx context.Context, sub string, key []byte, now time.Time) (Located, error) {
	at := c.keys.Key(key)
	known := c.known.Get(at, c.agesAt(now))
	c.known.Count(at, known != nil)
	if known != nil {
		return *known, nil
	}
	return c.load(ctx, at, arm.Fold(sub), string(key), now)
}

// Refresh returns where a resource is by the store, whatever memory says, and
// corrects memory. Calls for one resource share reads, but never one that began
// before the call.
func (c *Locations) Refresh(ctx context.Context, sub, key string) (Located, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	at := c.KeyOf(key)
	found, err := c.load(ctx, at, sub, key, c.clock())
	if err == nil && !found.Found {
		c.forget(at)
	}
	return found, err
}

func (c *Locations) forget(at Key) {
	c.change(at).Add(1)
	c.known.Forget(at)
}

// Forget forgets what was written, once others can see the write.
func (c *Locations) Forget(written []Key) {
	for _, at := range written {
		c.forget(at)
	}
}

func (c *Locations) change(at Key) *atomic.Uint64 { return &c.changes[at[0]%uint64(len(c.changes))] }

// load reads from the store, or shares a reading that begins after the call.
func (c *Locations) load(ctx context.Context, at Key, sub, key string, now time.Time) (Located, error) {
	return c.reads.Do(ctx, at, func() (Located, error) {
		changes := c.change(at).Load()
		row, err := c.read(ctx, sub, key)
		if err != nil || !row.Found {
			return Located{}, err
		}
		c.keep(at, row, changes, now)
		return row, nil
	})
}

// keep remembers a reading. A Forget of the place may run while it is read, or right
// now: it counts before it forgets, so looking at the count after keeping misses
// none.
func (c *Locations) keep(at Key, row Located, changes uint64, now time.Time) {
	row.Cached = true
	c.known.Keep(at, row, now)
	if c.change(at).Load() != changes {
		c.known.Forget(at)
	}
}
