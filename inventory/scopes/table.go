package scopes

import (
	"context"
	"errors"
	"sync/atomic"
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

// Get returns a value, and whether memory said so. Subscription and name may have any
// casing. asked is when the request arrived, by the clock of Options.Now. What
// memory answers allocates nothing. Callers share the value, and must not change what it points to.
func (t *Table[T]) Get(ctx context.Context, subscription, name string, asked time.Time) (value T, remembered bool, err error) {
	var buffer [192]byte
	key := arm.AppendFold(buffer[:0], subscription)
	length, count := len(key), t.changes.count(key)
	key = arm.AppendFold(append(key, '/'), name)
	at := t.known.Key(key)
	vouched := t.changes.vouch(asked) // before the count is looked at, which may change for a new answer
	known := t.known.Get(at, asked)
	found := known != nil && known.count == count.Load()
	t.known.Count(at, found && vouched)
	if found && vouched {
		return known.value, true, nil
	}
	value, err = t.load(ctx, at, string(key[:length]), string(key[length+1:]), count, asked)
	if found && errors.Is(err, engine.ErrUnavailable) {
		return known.value, true, nil
	}
	return value, false, err
}

func (t *Table[T]) load(ctx context.Context, at memory.Key, subscription, name string, count *atomic.Uint64, asked time.Time) (T, error) {
	before := count.Load()
	value, err := t.read(ctx, subscription, name)
	if err == nil && t.keep(value) {
		t.known.Keep(at, counted[T]{value, before}, asked)
	}
	return value, err
}

// Counts returns how many questions memory has answered, and how many it has not.
func (t *Table[T]) Counts() (hits, misses uint64) { return t.known.Counts() }

// Entries is how many values are remembered, outdated ones included.
func (t *Table[T]) Entries() int { return t.known.Entries() }
