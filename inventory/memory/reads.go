package memory

import (
	"context"
	"errors"
	"sync"

	"portico/inventory/engine"
)

// sharedReads lets concurrent callers share reads of one key. A caller never gets the result
// of a read that began before its call: that read could miss a write that was acknowledged
// in between. So a caller that finds a read in progress shares the next one. The zero value
// is ready to use.
type sharedReads[T any] struct {
	mu         sync.Mutex
	inProgress map[Key]*readPair[T]
}

// readPair holds the reads of a key: the one in progress, and the next one, nil if no caller
// waits for it.
type readPair[T any] struct {
	now, next *sharedRead[T]
}

// sharedRead is a read that its first caller makes.
type sharedRead[T any] struct {
	ended chan struct{} // closed once value and err are set
	value T
	err   error
}

// errNotRead is the result of a read whose caller has given up. The others then read
// themselves.
var errNotRead = errors.New("inventory: whoever was to read has gone")

// Do returns the result of read, or of another caller's read that began after the call of
// Do. ctx bounds the wait for others, and read has to observe it. If ctx ends a read that
// others share, one of them reads again.
func (r *sharedReads[T]) Do(ctx context.Context, at Key, read func() (T, error)) (value T, err error) {
	for {
		mine, before, first := r.join(at)
		if first {
			return r.runRead(ctx, at, mine, before, read)
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

// join returns the next read of a key, the one to wait for before it, nil if there is none,
// and whether the caller is the first and has to make the read.
func (r *sharedReads[T]) join(at Key) (mine, before *sharedRead[T], first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.inProgress[at]
	switch {
	case busy == nil:
		if r.inProgress == nil {
			r.inProgress = map[Key]*readPair[T]{}
		}
		mine = newSharedRead[T]()
		r.inProgress[at] = &readPair[T]{now: mine}
		return mine, nil, true
	case busy.next == nil:
		busy.next = newSharedRead[T]()
		return busy.next, busy.now, true
	}
	return busy.next, nil, false
}

// newSharedRead returns a read with the result errNotRead, which stays if its caller panics.
func newSharedRead[T any]() *sharedRead[T] {
	return &sharedRead[T]{ended: make(chan struct{}), err: errNotRead}
}

// runRead waits for the read before, and then makes mine.
func (r *sharedReads[T]) runRead(ctx context.Context, at Key, mine, before *sharedRead[T], read func() (T, error)) (value T, err error) {
	defer r.endRead(at, mine)
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

// endRead ends a read and lets the next one begin.
func (r *sharedReads[T]) endRead(at Key, mine *sharedRead[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.inProgress[at]
	switch {
	case busy.next == mine: // it never began
		busy.next = nil
	case busy.next == nil:
		delete(r.inProgress, at)
	default:
		busy.now, busy.next = busy.next, nil
	}
	close(mine.ended)
}
