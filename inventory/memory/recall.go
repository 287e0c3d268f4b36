package memory

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"portico/inventory/engine"
)

// recall is memory that answers while what it holds has not changed.
type recall[T any] struct {
	changes *Changes
	keys    hashes
	known   table[counted[T]]
	reads   sharedReads[T]
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
	at     Key
	before uint64 // the sum of the counts before the value is read
	now    time.Time
	found  *T // an older answer of memory, for when the store is down
}

// find returns the value of a key if memory may answer for it, and otherwise where to
// keep it once it is read.
func (r *recall[T]) find(at Key, of counts, now time.Time) (value T, remembered bool, missing Place[T]) {
	vouched, _ := r.changes.vouch(now)
	return r.look(at, of, now, vouched)
}

// look is find, once it is known whether memory may answer: before, as the counts may
// change with that.
func (r *recall[T]) look(at Key, of counts, now time.Time, vouched bool) (value T, remembered bool, missing Place[T]) {
	known, before := r.holds(at, of, now)
	r.known.Count(at, known != nil && vouched)
	if known != nil && vouched {
		return known.value, true, missing
	}
	missing = Place[T]{recall: r, at: at, before: before, now: now}
	if known != nil {
		missing.found = &known.value
	}
	return value, false, missing
}

// holds returns what is remembered under a key, nil for what has changed since, and the
// sum of the counts.
func (r *recall[T]) holds(at Key, of counts, now time.Time) (known *counted[T], before uint64) {
	known = r.known.Get(at, r.changes.AgesAt(now))
	if before = of.sum(); known != nil && known.count != before {
		known = nil
	}
	return known, before
}

// Keep remembers a value that was read after its place was found.
func (p Place[T]) Keep(value T) {
	if r := p.recall; r.keep(value) {
		r.known.KeepSized(p.at, counted[T]{value, p.before}, r.size(value), p.now)
	}
}

// get returns the value of a key, and whether memory said so; else what read returns.
// Where memory holds a value but is too far behind, it waits for the question that brings
// memory up to date: one for all, instead of a reading for each. Those who have to read
// share a reading that begins after they asked.
func (r *recall[T]) get(ctx context.Context, at Key, of counts, now time.Time, read func() (T, error)) (value T, remembered bool, err error) {
	vouched, behind := r.changes.vouch(now)
	if behind {
		if known, _ := r.holds(at, of, now); known != nil {
			vouched = r.changes.vouchSoon(ctx, now)
		}
	}
	value, remembered, missing := r.look(at, of, now, vouched)
	if remembered {
		return value, true, nil
	}
	value, err = r.reads.Do(ctx, at, func() (T, error) {
		missing.before = of.sum() // others may have read meanwhile
		value, err := read()
		if err == nil {
			missing.Keep(value)
		}
		return value, err
	})
	// A reading that waited too long on this side has not found out that the store is down.
	if missing.found != nil && errors.Is(err, engine.ErrUnavailable) && (errors.Is(err, engine.ErrUnreachable) || r.changes.down()) {
		return *missing.found, true, nil
	}
	return value, false, err
}

// Counts returns how many questions memory has answered, and how many it has not.
func (r *recall[T]) Counts() (hits, misses uint64) { return r.known.Counts() }

// Entries is how many values are remembered, outdated ones included.
func (r *recall[T]) Entries() int { return r.known.Entries() }
