package memory

import (
	"context"
	"time"

	"portico/arm"
)

// ScopeTable remembers values of one kind by a subscription and a name. It never remembers
// an absence.
type ScopeTable[T any] struct {
	coherentTable[T]
	read func(ctx context.Context, subscription, name string) (T, error)
}

// NewScopeTable returns an empty table with a bound on its entries. read reads a value from
// the store; its subscription and name are folded. keep reports whether to remember a
// value.
func NewScopeTable[T any](
	c *Changes, entries int, read func(ctx context.Context, subscription, name string) (T, error), keep func(T) bool,
) (*ScopeTable[T], error) {
	known, err := newLRUTable[stampedValue[T]](tableBounds{Entries: entries, TTL: c.options.TTL, Started: c.started})
	if err != nil {
		return nil, err
	}
	return &ScopeTable[T]{coherentTable: coherentTable[T]{changes: c, keys: newHashes(), table: known, cacheable: keep, size: unsized[T]}, read: read}, nil
}

// Find returns a value if memory may answer, and otherwise the place to keep it once it is
// read. Subscription and name may have any casing. now is when the request arrived, by
// ChangesOptions.Now.
func (t *ScopeTable[T]) Find(subscription, name string, now time.Time) (value T, remembered bool, missing Place[T]) {
	var buffer [192]byte
	key := arm.AppendFold(buffer[:0], subscription)
	count := t.changes.counter(key)
	key = arm.AppendFold(append(key, '/'), name)
	return t.find(t.keys.Key(key), counterPair{count, &t.changes.constant}, now)
}

// Get returns a value from memory, or else from the store; remembered reports which. Its
// arguments are as for Find. A value from memory costs no allocation. Callers share the value
// and must not change what it points to.
func (t *ScopeTable[T]) Get(ctx context.Context, subscription, name string, now time.Time) (value T, remembered bool, err error) {
	var buffer [192]byte
	key := arm.AppendFold(buffer[:0], subscription)
	length, count := len(key), t.changes.counter(key)
	key = arm.AppendFold(append(key, '/'), name)
	return t.get(ctx, t.keys.Key(key), counterPair{count, &t.changes.constant}, now, func() (T, error) {
		return t.read(ctx, string(key[:length]), string(key[length+1:]))
	})
}

// unsized returns 0, for tables whose size is not bounded.
func unsized[T any](T) int { return 0 }
