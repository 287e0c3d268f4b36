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
	keep    func(T) bool // whether a value is remembered
	size    func(T) int  // in bytes
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

// Place is where a value is kept that is about to be read.
type Place[T any] struct {
	recall *recall[T]
	at     memory.Key
	before uint64 // the sum of the counts before the value is read
	asked  time.Time
	found  *T // an older answer of memory, for when the store is down
}

// find returns the value of a key if memory may answer for it, and otherwise where to
// keep it once it is read.
func (r *recall[T]) find(at memory.Key, of counts, asked time.Time) (value T, remembered bool, missing Place[T]) {
	vouched := r.changes.vouch(asked) // before the counts are looked at, which may change for a new answer
	known := r.known.Get(at, asked)
	before := of.sum()
	found := known != nil && known.count == before
	r.known.Count(at, found && vouched)
	if found && vouched {
		return known.value, true, missing
	}
	missing = Place[T]{recall: r, at: at, before: before, asked: asked}
	if found {
		missing.found = &known.value
	}
	return value, false, missing
}

// Keep remembers a value that was read after its place was found.
func (p Place[T]) Keep(value T) {
	if r := p.recall; r.keep(value) {
		r.known.KeepSized(p.at, counted[T]{value, p.before}, r.size(value), p.asked)
	}
}

// get returns the value of a key, and whether memory said so; else what read returns.
func (r *recall[T]) get(at memory.Key, of counts, asked time.Time, read func() (T, error)) (value T, remembered bool, err error) {
	value, remembered, missing := r.find(at, of, asked)
	if remembered {
		return value, true, nil
	}
	value, err = read()
	switch {
	case err == nil:
		missing.Keep(value)
	case missing.found != nil && errors.Is(err, engine.ErrUnavailable):
		return *missing.found, true, nil
	}
	return value, false, err
}

// Counts returns how many questions memory has answered, and how many it has not.
func (r *recall[T]) Counts() (hits, misses uint64) { return r.known.Counts() }

// Entries is how many values are remembered, outdated ones included.
func (r *recall[T]) Entries() int { return r.known.Entries() }
