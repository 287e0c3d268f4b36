package memory

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"portico/internal/timing"
	"portico/inventory/engine"
)

const (
	// Interval is how often the store is asked what has changed, while memory is used.
	Interval = time.Second
	// Bound is how far memory may be behind the store, as long as that answers.
	Bound = 2 * time.Second
	// Window is how far before the last question that was answered a question looks, and
	// how long a pause may be that it looks over; see the package comment.
	Window = time.Minute
	// patience is how long a request waits for a question.
	patience = Bound
	// retry is the pause before a question is asked again that was not answered, though the
	// store is there.
	retry = Interval / 10
)

// Change is a row of the change sequence.
type Change struct {
	Subscription string // folded
	Generation   [16]byte
}

// Changes is the change sequence as one replica knows it. It is safe for concurrent
// use.
type Changes struct {
	options ChangesOptions
	started time.Time // by ChangesOptions.Now; ages of values count from there
	seed    maphash.Seed
	// counts are those of changes, per class of subscriptions: what was kept under
	// another count is out of date.
	counts [classes]atomic.Uint64
	never  atomic.Uint64 // of changes that a value does not depend on
	last   atomic.Pointer[question]
	reads  atomic.Uint64
	wake   chan struct{}                 // by those who find that it is time for a question
	next   atomic.Pointer[chan struct{}] // closed when the question has ended that is under way, or comes next

	mu   sync.Mutex
	seen map[string][16]byte // the generations that the last answer held

	stop context.CancelFunc
	wait sync.WaitGroup
}

// classes are few enough for little memory, and enough for few subscriptions to share
// one, which costs them readings alone.
const classes = 4096

// question is the last one that was answered.
type question struct {
	at   time.Time // when it was asked
	down bool      // a later one has not reached the store
}

// ChangesOptions say how a Changes asks.
type ChangesOptions struct {
	// Ask returns the rows that were written as long ago as that, or since. What requests
	// do to the store must not delay it. An error that wraps [engine.ErrUnreachable] says
	// that the store is down; after any other it is asked again.
	Ask func(ctx context.Context, ago time.Duration) ([]Change, error)
	Now func() time.Time
	// TTL bounds the age of what is remembered, and for how long that answers without the
	// store; 0: nothing is remembered.
	TTL time.Duration
}

// NewChanges begins to follow the change sequence; Close ends that.
func NewChanges(o ChangesOptions) *Changes {
	ctx, stop := context.WithCancel(context.Background())
	c := &Changes{options: o, started: o.Now(), seed: maphash.MakeSeed(), wake: make(chan struct{}, 1), stop: stop}
	c.last.Store(&question{at: c.started}) // nothing was remembered before
	c.endQuestion()
	c.wait.Go(func() { c.follow(ctx) })
	return c
}

// Close ends the question under way, and asks no more. It may be called more than
// once.
func (c *Changes) Close() {
	c.stop()
	c.wait.Wait()
}

// Reads is how often the store was asked what has changed.
func (c *Changes) Reads() uint64 { return c.reads.Load() }

// follow asks when somebody wants to know, and not more often than it needs to. When it
// returns, no caller waits for it.
func (c *Changes) follow(ctx context.Context) {
	defer func() { close(*c.next.Load()) }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		var err error
		if timing.Elapsed(c.last.Load().at, c.options.Now()) > Interval { // nothing woke it while it asked
			err = c.Ask(ctx)
		}
		c.endQuestion()
		if err == nil {
			continue
		}
		pause := Interval
		if !errors.Is(err, engine.ErrUnreachable) {
			pause = retry
			c.wakeUp()
		}
		if timing.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// wakeUp makes follow ask the store.
func (c *Changes) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// endQuestion releases the waiters of this question; later ones wait for the next.
func (c *Changes) endQuestion() {
	next := make(chan struct{})
	if ended := c.next.Swap(&next); ended != nil {
		close(*ended)
	}
}

// Ask asks the store for what has changed, and forgets that.
func (c *Changes) Ask(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, now := c.last.Load(), c.options.Now()
	c.reads.Add(1)
	pause := max(timing.Elapsed(last.at, now), 0)
	changes, err := c.options.Ask(ctx, min(pause, Window)+Window)
	if err != nil {
		c.last.Store(&question{at: last.at, down: errors.Is(err, engine.ErrUnreachable)})
		return err
	}
	if pause > Window {
		c.forgetAll() // the answer does not reach back to the last one
	}
	seen := make(map[string][16]byte, len(changes))
	for _, change := range changes {
		seen[change.Subscription] = change.Generation
		if known, before := c.seen[change.Subscription]; !before || known != change.Generation {
			c.Forget(change.Subscription)
		}
	}
	c.seen = seen
	c.last.Store(&question{at: now})
	return nil
}

func (c *Changes) forgetAll() {
	for i := range c.counts {
		c.counts[i].Add(1)
	}
}

// Forget forgets all that is remembered of a subscription, folded, once others can see
// its change.
func (c *Changes) Forget(subscription string) {
	c.count([]byte(subscription)).Add(1)
}

func (c *Changes) count(subscription []byte) *atomic.Uint64 {
	return &c.counts[maphash.Bytes(c.seed, subscription)%classes]
}

// vouch reports whether memory may answer a request that came in at a time, and where it
// is too far behind for that.
func (c *Changes) vouch(now time.Time) (vouched, behind bool) {
	last := c.last.Load()
	age := timing.Elapsed(last.at, now)
	if age > Interval {
		c.wakeUp()
	}
	// One that came long before is of another clock.
	vouched = age <= Bound && age >= -Bound || last.down
	return vouched, !vouched && age > Bound
}

// down reports whether the store could not be reached when it was last asked.
func (c *Changes) down() bool { return c.last.Load().down }

// AgesAt returns the time that the ages of values count to, for a request that came in at a
// time. While the store is down that is when it last answered, until the TTL is over from
// then on: what memory held then answers for that long, however long before it was read.
func (c *Changes) AgesAt(now time.Time) time.Time {
	last := c.last.Load()
	if !last.down {
		return now
	}
	if since := timing.Elapsed(last.at, now); since > 0 && since < c.options.TTL {
		return last.at
	}
	return now
}

// vouchSoon is vouch, and where memory is too far behind waits for the question that is
// under way or comes next, which all who wait share. Memory answers after the wait, so it
// must not be too far behind by then.
func (c *Changes) vouchSoon(ctx context.Context, at time.Time) bool {
	next := *c.next.Load() // before vouch: of a question that ends meanwhile this one has the answer
	vouched, behind := c.vouch(at)
	if !behind {
		return vouched
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-next:
	case <-ctx.Done():
	case <-limit.C:
	}
	if now := c.options.Now(); now.After(at) {
		at = now
	}
	vouched, _ = c.vouch(at)
	return vouched
}
