package scopes

import (
	"context"
	"errors"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/memory"
)

// Table remembers values of one kind, each by its subscription and a name. It never
// remembers an absence.
type Table[T any] struct {
	changes *Changes
	read    func(ctx context.Context, subscription, name string) (T, error)
	keep    func(T) bool
	known   *memory.Table[counted[T]]
}

// counted is a value, and how often its subscription had changed before it was read.
type counted[T any] struct {
	value T
	count uint64
}

// NewTable makes an empty table of at most so many entries. read reads a value from
// the store; its subscription and name are folded. What keep refuses is not
// remembered.
func NewTable[T any](c *Changes, entries int, read func(ctx context.Context, subscription, name string) (T, error), keep func(T) bool) (*Table[T], error) {
	known, err := memory.New[counted[T]](memory.Options{Entries: entries, TTL: c.options.TTL, Begun: c.begun})
	if err != nil {
		return nil, err
	}
	return &Table[T]{changes: c, read: read, keep: keep, known: known}, nil
}

// Place is where a value is kept that is about to be read.
type Place[T any] struct {
	table *Table[T]
	at    memory.Key
	// before is how often the subscription had changed before the value is read.
	before uint64
	asked  time.Time
	found  *T // an older answer of memory, for when the store is down
}

// Find returns a value if memory may answer for it, and otherwise where to keep it once
// it is read. Subscription and name may have any casing. asked is when the request
// arrived, by the clock of Options.Now.
func (t *Table[T]) Find(subscription, name string, asked time.Time) (value T, remembered bool, missing Place[T]) {
	var buffer [192]byte
	key := arm.AppendFold(buffer[:0], subscription)
	count := t.changes.count(key)
	at := t.known.Key(arm.AppendFold(append(key, '/'), name))
	vouched := t.changes.vouch(asked) // before the count is looked at, which may change for a new answer
	known := t.known.Get(at, asked)
	before := count.Load()
	found := known != nil && known.count == before
	t.known.Count(at, found && vouched)
	if found && vouched {
		return known.value, true, missing
	}
	missing = Place[T]{table: t, at: at, before: before, asked: asked}
	if found {
		missing.found = &known.value
	}
	return value, false, missing
}

// Keep remembers a value that was read after Find.
func (p Place[T]) Keep(value T) {
	if p.table.keep(value) {
		p.table.known.Keep(p.at, counted[T]{value, p.before}, p.asked)
	}
}

// Get returns a value, from the store if memory may not answer, and whether memory
// said so. What memory answers allocates nothing. Callers share the value, and must not
// change what it points to.
func (t *Table[T]) Get(ctx context.Context, subscription, name string, asked time.Time) (value T, remembered bool, err error) {
	value, remembered, missing := t.Find(subscription, name, asked)
	if remembered {
		return value, true, nil
	}
	value, err = t.read(ctx, arm.Fold(subscription), arm.Fold(name))
	switch {
	case err == nil:
		missing.Keep(value)
	case missing.found != nil && errors.Is(err, engine.ErrUnavailable):
		return *missing.found, true, nil
	}
	return value, false, err
}

// Counts returns how many questions memory has answered, and how many it has not.
func (t *Table[T]) Counts() (hits, misses uint64) { return t.known.Counts() }

// Entries is how many values are remembered, outdated ones included.
func (t *Table[T]) Entries() int { return t.known.Entries() }
