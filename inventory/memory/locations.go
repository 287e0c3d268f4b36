package memory

import (
	"context"
	"sync/atomic"
	"time"

	"portico/arm"
	"portico/inventory/index"
)

// Locations caches the locations of resources, for reads. It is at most the TTL behind the
// store, or twice the TTL while the store is down. Forget removes a location at once.
type Locations struct {
	read  func(ctx context.Context, sub, key string) (Located, error)
	keys  hashes
	table table[Located]
	reads sharedReads[Located]
	clock func() time.Time
	// agesAt is [Changes.AgesAt].
	agesAt func(now time.Time) time.Time
	// counters count calls of Forget, per class of keys: the result of a read that began
	// before such a call is not kept.
	counters [256]atomic.Uint64
}

// Counts returns how many look-ups memory has answered, and how many it has not.
func (c *Locations) Counts() (hits, misses uint64) { return c.table.Counts() }

// Entries returns how many locations are remembered.
func (c *Locations) Entries() int { return c.table.Entries() }

// Located is the location and the state of a resource in the index.
type Located struct {
	Region     string
	Type       string // folded full type
	Generation [16]byte
	Phase      index.Phase
	Verify     bool // an event had an ambiguous outcome
	Unfinished bool // its last known provisioningState is not terminal
	Found      bool // the index has the resource, in any phase
	Cached     bool // from memory, so possibly outdated
}

// NeedsVerify reports whether a GET may change what the index knows about the resource.
func (l Located) NeedsVerify() bool { return index.NeedsVerify(l.Phase, l.Verify) || l.Unfinished }

// KeyOf returns the table's key of a resource, given its folded key in the index.
func (c *Locations) KeyOf(key string) Key { return c.keys.KeyOf(key) }

// LocationOptions are the options of [NewLocations].
type LocationOptions struct {
	// Read reads a resource from the store; Found is false if there is none.
	Read    func(ctx context.Context, sub, key string) (Located, error)
	Now     func() time.Time
	TTL     time.Duration // of a location; 0: none is remembered
	Entries int
	// AgesAt is [Changes.AgesAt] for the same store. It is a function because the Changes is
	// created later.
	AgesAt func(now time.Time) time.Time
}

// NewLocations returns an empty Locations.
func NewLocations(o LocationOptions) (*Locations, error) {
	known, err := newLRUTable[Located](tableBounds{Entries: o.Entries, TTL: o.TTL, Started: o.Now()})
	if err != nil {
		return nil, err
	}
	return &Locations{read: o.Read, keys: newHashes(), table: known, clock: o.Now, agesAt: o.AgesAt}, nil
}

// Locate returns the location of a resource, from memory if it is remembered. key is folded.
// now is when the request arrived, by LocationOptions.Now. A location from memory costs no
// allocation.
func (c *Locations) Locate(ctx context.Context, sub string, key []byte, now time.Time) (Located, error) {
	at := c.keys.Key(key)
	known := c.table.Get(at, c.agesAt(now))
	c.table.Count(at, known != nil)
	if known != nil {
		return *known, nil
	}
	return c.load(ctx, at, arm.Fold(sub), string(key), now)
}

// Refresh reads the location of a resource from the store and updates memory. Calls for
// one resource share reads, but never a read that began before the call.
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
	c.counter(at).Add(1)
	c.table.Forget(at)
}

// Forget forgets the locations of written resources. It must be called after the commit.
func (c *Locations) Forget(written []Key) {
	for _, at := range written {
		c.forget(at)
	}
}

func (c *Locations) counter(at Key) *atomic.Uint64 { return &c.counters[at[0]%uint64(len(c.counters))] }

// load reads from the store, or shares a read that begins after the call.
func (c *Locations) load(ctx context.Context, at Key, sub, key string, now time.Time) (Located, error) {
	return c.reads.Do(ctx, at, func() (Located, error) {
		changes := c.counter(at).Load()
		row, err := c.read(ctx, sub, key)
		if err != nil || !row.Found {
			return Located{}, err
		}
		c.remember(at, row, changes, now)
		return row, nil
	})
}

// remember stores the result of a read that began when the count was changes, unless a Forget
// has run since. Forget raises the count before it deletes the entry, so comparing the count
// after storing misses none.
func (c *Locations) remember(at Key, row Located, changes uint64, now time.Time) {
	row.Cached = true
	c.table.Keep(at, row, now)
	if c.counter(at).Load() != changes {
		c.table.Forget(at)
	}
}
