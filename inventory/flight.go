package inventory

import (
	"context"
	"sync"
	"time"

	"portico/inventory/engine"
)

// flightLimit bounds one shared reading.
const flightLimit = 5 * time.Second

// flights shares readings of one place between callers. A caller never gets
// the result of a reading that was begun before it asked: it would miss what
// was written between, and a resource that was acknowledged would be called
// absent. So whoever finds a reading under way shares the next one.
type flights struct {
	ctx  context.Context
	stop context.CancelFunc
	wait *sync.WaitGroup

	mu     *sync.Mutex
	places map[place]*traffic
}

// traffic is what is under way for one place.
type traffic struct {
	next *flight // waits for the one under way to end; nil when nobody asked
}

type flight struct {
	read   func(context.Context) (Located, error)
	landed chan struct{}
	found  Located
	err    error
}

func newFlights() flights {
	ctx, stop := context.WithCancel(context.Background())
	return flights{
		ctx: ctx, stop: stop, wait: new(sync.WaitGroup),
		mu: new(sync.Mutex), places: make(map[place]*traffic),
	}
}

// do reads, or shares a reading that begins after now. ctx bounds the wait, not
// the reading, which others may share.
func (f *flights) do(ctx context.Context, at place, read func(context.Context) (Located, error)) (Located, error) {
	mine, err := f.board(at, read)
	if err != nil {
		return Located{}, err
	}
	select {
	case <-mine.landed:
		return mine.found, mine.err
	case <-ctx.Done():
		return Located{}, engine.Classify(ctx, ctx.Err())
	}
}

func (f *flights) board(at place, read func(context.Context) (Located, error)) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return nil, engine.Unavailable(engine.ErrClosed)
	}
	if busy := f.places[at]; busy != nil {
		if busy.next == nil {
			busy.next = &flight{read: read, landed: make(chan struct{})}
		}
		return busy.next, nil
	}
	first := &flight{read: read, landed: make(chan struct{})}
	f.places[at] = &traffic{}
	f.wait.Go(func() { f.fly(at, first) })
	return first, nil
}

// fly makes one reading after the other, until nobody waits for another.
func (f *flights) fly(at place, now *flight) {
	for now != nil {
		ctx, cancel := context.WithTimeout(f.ctx, flightLimit)
		now.found, now.err = now.read(ctx)
		cancel()
		close(now.landed)
		f.mu.Lock()
		busy := f.places[at]
		if now, busy.next = busy.next, nil; now == nil {
			delete(f.places, at)
		}
		f.mu.Unlock()
	}
}

// close ends the readings under way and waits for them.
func (f *flights) close() {
	f.mu.Lock()
	f.stop()
	f.mu.Unlock()
	f.wait.Wait()
}
