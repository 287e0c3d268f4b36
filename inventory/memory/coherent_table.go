package memory

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"portico/inventory/engine"
)

// coherentTable remembers values that are valid until a change of what they depend on.
type coherentTable[T any] struct {
	changes   *Changes
	keys      hashes
	table     table[stampedValue[T]]
	reads     sharedReads[T]
	cacheable func(T) bool // whether a value is remembered
	size      func(T) int  // in bytes
}

// stampedValue is a value with the stamp of its counters before it was read.
type stampedValue[T any] struct {
	value T
	stamp uint64
}

// counterPair holds the counters of the changes that a value depends on.
type counterPair [2]*atomic.Uint64

// stamp returns the sum of the counters. They never fall, so it changes if one of them does.
func (c counterPair) stamp() uint64 { return c[0].Load() + c[1].Load() }

// Place is the place for a value that is about to be read.
type Place[T any] struct {
	table    *coherentTable[T]
	at       Key
	stamp    uint64 // of the counters before the value is read
	now      time.Time
	fallback *T // the remembered value, for use if the store is down; nil: none
}

// find returns the value of a key if memory may answer, and otherwise the place to keep it
// once it is read.
func (r *coherentTable[T]) find(at Key, of counterPair, now time.Time) (value T, remembered bool, missing Place[T]) {
	usable, _ := r.changes.mayAnswer(now)
	return r.lookUp(at, of, now, usable)
}

// lookUp works like find, for a caller that knows whether memory may answer. It must know
// before the call, because a poll may change the counters.
func (r *coherentTable[T]) lookUp(at Key, of counterPair, now time.Time, usable bool) (value T, remembered bool, missing Place[T]) {
	known, before := r.currentEntry(at, of, now)
	r.table.Count(at, known != nil && usable)
	if known != nil && usable {
		return known.value, true, missing
	}
	missing = Place[T]{table: r, at: at, stamp: before, now: now}
	if known != nil {
		missing.fallback = &known.value
	}
	return value, false, missing
}

// currentEntry returns the remembered value of a key, nil if there is none or it has changed
// since, and the stamp of the counters.
func (r *coherentTable[T]) currentEntry(at Key, of counterPair, now time.Time) (known *stampedValue[T], before uint64) {
	known = r.table.Get(at, r.changes.AgesAt(now))
	if before = of.stamp(); known != nil && known.stamp != before {
		known = nil
	}
	return known, before
}

// Keep remembers a value that was read after its place was found.
func (p Place[T]) Keep(value T) {
	if r := p.table; r.cacheable(value) {
		r.table.KeepSized(p.at, stampedValue[T]{value, p.stamp}, r.size(value), p.now)
	}
}

// get returns the value of a key from memory, or the result of read. remembered reports
// which. If memory holds a value but is too far behind, get first waits for the poll that
// updates memory, which all callers share, instead of reading. Callers that have to read
// share a read that begins after their calls.
func (r *coherentTable[T]) get(ctx context.Context, at Key, of counterPair, now time.Time, read func() (T, error)) (value T, remembered bool, err error) {
	usable, behind := r.changes.mayAnswer(now)
	if behind {
		if known, _ := r.currentEntry(at, of, now); known != nil {
			usable = r.changes.mayAnswerSoon(ctx, now)
		}
	}
	value, remembered, missing := r.lookUp(at, of, now, usable)
	if remembered {
		return value, true, nil
	}
	value, err = r.reads.Do(ctx, at, func() (T, error) {
		missing.stamp = of.stamp() // again, after the wait for other reads
		value, err := read()
		if err == nil {
			missing.Keep(value)
		}
		return value, err
	})
	// A read that timed out on this side has not shown that the store is down.
	if missing.fallback != nil && errors.Is(err, engine.ErrUnavailable) && (errors.Is(err, engine.ErrUnreachable) || r.changes.down()) {
		return *missing.fallback, true, nil
	}
	return value, false, err
}

// Counts returns how many look-ups memory has answered, and how many it has not.
func (r *coherentTable[T]) Counts() (hits, misses uint64) { return r.table.Counts() }

// Entries returns how many values are remembered, including outdated ones.
func (r *coherentTable[T]) Entries() int { return r.table.Entries() }
