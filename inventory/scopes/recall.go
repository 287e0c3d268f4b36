package scopes

import (
	"errors"
	"sync/atomic"
	"time"

	"portico/inventory/engine"
	"portico/inventory/memory"
)

// recall is memory that answers while what it holds has not changed.
type recall[T any] struct {
	changes *Changes
	known   *memory.Table[counted[T]]
	size    func(T) int // in bytes
}

// counted is a value, and how often what it depends on had changed before it was read.
type counted[T any] struct {
	value T
	count uint64
}

// counts are those of the changes on which a value depends. They never fall, so their
// sum tells whether one has risen.
type counts [2]*atomic.Uint64

func (c counts) sum() uint64 { return c[0].Load() + c[1].Load() }

// get returns the value of a key, and whether memory said so. read also reports whether
// to remember what it has read.
func (r *recall[T]) get(at memory.Key, of counts, asked time.Time, read func() (value T, keep bool, err error)) (value T, remembered bool, err error) {
	vouched := r.changes.vouch(asked) // before the counts are looked at, which may change for a new answer
	known := r.known.Get(at, asked)
	found := known != nil && known.count == of.sum()
	r.known.Count(at, found && vouched)
	if found && vouched {
		return known.value, true, nil
	}
	before := of.sum()
	value, keep, err := read()
	switch {
	case keep:
		r.known.KeepSized(at, counted[T]{value, before}, r.size(value), asked)
	case found && errors.Is(err, engine.ErrUnavailable):
		return known.value, true, nil
	}
	return value, false, err
}

// Counts returns how many questions memory has answered, and how many it has not.
func (r *recall[T]) Counts() (hits, misses uint64) { return r.known.Counts() }

// Entries is how many values are remembered, outdated ones included.
func (r *recall[T]) Entries() int { return r.known.Entries() }
