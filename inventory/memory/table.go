package memory

import (
	"context"
	"time"

	"portico/arm"
)

// ScopeTable remembers values of one kind, each by its subscription and a name. It never
// remembers an absence.
type ScopeTable[T any] struct {
	recall[T]
	read func(ctx context.Context, subscription, name string) (T, error)
}

// NewScopeTable makes an empty table of at most so many entries. read reads a value from
// the store; its subscription and name are folded. What keep refuses is not
// remembered.
func NewScopeTable[T any](
	c *Changes, entries int, read func(ctx context.Context, subscription, name string) (T, error), keep func(T) bool,
) (*ScopeTable[T], error) {
	known, err := newLRUTable[counted[T]](tableBounds{Entries: entries, TTL: c.options.TTL, Started: c.started})
	if err != nil {
		return nil, err
	}
	return &ScopeTable[T]{recall: recall[T]{changes: c, keys: newHashes(), known: known, keep: keep, size: unmeasured[T]}, read: read}, nil
}

// Find returns a value if memory may answer for it, and otherwise where to keep it once
// it is read. Subscription and name may have any casing. now is when the request
// arrived, by the clock of ChangesOptions.Now.
func (t *ScopeTable[T]) Find(subscription, name string, now time.Time) (value T, remembered bool, missing Place[T]) {
	var buffer [192]byte
	key := arm.AppendFold(buffer[:0], subscription)
	count := t.changes.count(key)
	key = arm.AppendFold(append(key, '/'), name)
	return t.find(t.keys.Key(key), counts{count, &t.changes.never}, now)
}

// Get is Find, and reads from the store what memory may not answer. It says whether
// memory did. What memory answers allocates nothing. Callers share the value, and must
// not change what it points to.
func (t *ScopeTable[T]) Get(ctx context.Context, subscription, name string, now time.Time) (value T, remembered bool, err error) {
	var buffer [192]byte
	key := arm.AppendFold(buffer[:0], subscription)
	length, count := len(key), t.changes.count(key)
	key = arm.AppendFold(append(key, '/'), name)
	return t.get(ctx, t.keys.Key(key), counts{count, &t.changes.never}, now, func() (T, error) {
		return t.read(ctx, string(key[:length]), string(key[length+1:]))
	})
}

// unmeasured is the size of values that only their number bounds.
func unmeasured[T any](T) int { return 0 }
