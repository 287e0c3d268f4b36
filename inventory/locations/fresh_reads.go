package locations

import (
	"context"
	"sync"
	"time"

	"portico/inventory/engine"
)

// readLimit bounds one shared read.
const readLimit = 5 * time.Second

// freshReads shares reads of one place between callers. A caller never gets the
// result of a read that was begun before it asked: it would miss what was written
// between, and a resource that was acknowledged would be called absent. So a
// caller that finds a read under way shares the next one.
type freshReads struct {
	ctx  context.Context
	stop context.CancelFunc
	wait *sync.WaitGroup

	mu    *sync.Mutex
	under map[Place]*underWay
}

// underWay is a read of a place that has begun.
type underWay struct {
	next *freshRead // begins when it has ended; nil when nobody asked
}

type freshRead struct {
	read  func(context.Context) (Located, error)
	done  chan struct{}
	found Located
	err   error
}

func newFreshReads() freshReads {
	ctx, stop := context.WithCancel(context.Background())
	return freshReads{
		ctx: ctx, stop: stop, wait: new(sync.WaitGroup),
		mu: new(sync.Mutex), under: make(map[Place]*underWay),
	}
}

// do reads, or shares a read that begins after now. ctx bounds the wait, not the
// read, which others may share.
func (f *freshReads) do(ctx context.Context, at Place, read func(context.Context) (Located, error)) (Located, error) {
	mine, err := f.join(at, read)
	if err != nil {
		return Located{}, err
	}
	select {
	case <-mine.done:
		return mine.found, mine.err
	case <-ctx.Done():
		return Located{}, engine.Classify(ctx, ctx.Err())
	}
}

func (f *freshReads) join(at Place, read func(context.Context) (Located, error)) (*freshRead, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return nil, engine.Unavailable(engine.ErrClosed)
	}
	if busy := f.under[at]; busy != nil {
		if busy.next == nil {
			busy.next = &freshRead{read: read, done: make(chan struct{})}
		}
		return busy.next, nil
	}
	first := &freshRead{read: read, done: make(chan struct{})}
	f.under[at] = &underWay{}
	f.wait.Go(func() { f.run(at, first) })
	return first, nil
}

// run makes one read after the other, until nobody waits for another.
func (f *freshReads) run(at Place, now *freshRead) {
	for now != nil {
		ctx, cancel := context.WithTimeout(f.ctx, readLimit)
		now.found, now.err = now.read(ctx)
		cancel()
		close(now.done)
		f.mu.Lock()
		busy := f.under[at]
		if now, busy.next = busy.next, nil; now == nil {
			delete(f.under, at)
		}
		f.mu.Unlock()
	}
}

// close ends the reads under way and waits for them.
func (f *freshReads) close() {
	f.mu.Lock()
	f.stop()
	f.mu.Unlock()
	f.wait.Wait()
}
