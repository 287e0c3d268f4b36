package memory

import (
	"context"
	"errors"
	"sync"

	"portico/inventory/engine"
)

// sharedReads shares readings of one key between callers. A caller never gets the result of a
// reading that had begun before it asked: it would miss what was written between, and
// what was acknowledged would be called absent. So a caller that finds a reading under
// way shares the next one. The zero value is ready for use.
type sharedReads[T any] struct {
	mu    sync.Mutex
	under map[Key]*underWay[T]
}

// underWay are the readings of a key: the one that has begun, and the one that begins
// when that has ended, nil when no caller waits for it.
type underWay[T any] struct {
	now, next *reading[T]
}

// reading is made by the caller that was the first to ask for it.
type reading[T any] struct {
	ended chan struct{} // then value and err are there
	value T
	err   error
}

// errNotRead ends a reading whose caller has gone: those who share it ask again.
var errNotRead = errors.New("inventory: whoever was to read has gone")

// Do returns what read returns, or what the read of another caller returns that began
// after Do was called. ctx bounds the wait for others, and read by itself. Where that
// ends a read which others share, one of them reads anew.
func (r *sharedReads[T]) Do(ctx context.Context, at Key, read func() (T, error)) (value T, err error) {
	for {
		mine, before, first := r.join(at)
		if first {
			return r.lead(ctx, at, mine, before, read)
		}
		select {
		case <-mine.ended:
		case <-ctx.Done():
			return value, engine.Classify(ctx, ctx.Err())
		}
		if !errors.Is(mine.err, errNotRead) {
			return mine.value, mine.err
		}
	}
}

// join returns the next reading of a key, what it has to wait for, nil if nothing, and
// whether the caller has to make it.
func (r *sharedReads[T]) join(at Key) (mine, before *reading[T], first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.under[at]
	switch {
	case busy == nil:
		if r.under == nil {
			r.under = map[Key]*underWay[T]{}
		}
		mine = newReading[T]()
		r.under[at] = &underWay[T]{now: mine}
		return mine, nil, true
	case busy.next == nil:
		busy.next = newReading[T]()
		return busy.next, busy.now, true
	}
	return busy.next, nil, false
}

// newReading returns a reading that was not made, should its caller panic.
func newReading[T any]() *reading[T] {
	return &reading[T]{ended: make(chan struct{}), err: errNotRead}
}

// lead waits for the reading before, and makes its own.
func (r *sharedReads[T]) lead(ctx context.Context, at Key, mine, before *reading[T], read func() (T, error)) (value T, err error) {
	defer r.end(at, mine)
	if before != nil {
		select {
		case <-before.ended:
		case <-ctx.Done():
			return value, engine.Classify(ctx, ctx.Err())
		}
	}
	value, err = read()
	if err == nil || ctx.Err() == nil {
		mine.value, mine.err = value, err
	}
	return value, err
}

// end ends a reading, and lets the next one begin.
func (r *sharedReads[T]) end(at Key, mine *reading[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.under[at]
	switch {
	case busy.next == mine: // it never began
		busy.next = nil
	case busy.next == nil:
		delete(r.under, at)
	default:
		busy.now, busy.next = busy.next, nil
	}
	close(mine.ended)
}
