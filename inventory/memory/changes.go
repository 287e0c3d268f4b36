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
	// Interval is the least time between polls, which are made while memory is used.
	Interval = time.Second
	// Bound is how far memory may be behind the store, while the store can be reached.
	Bound = 2 * time.Second
	// Window is how far a poll looks back before the last successful one, and the longest
	// pause between polls after which memory stays valid; see the package comment.
	Window = time.Minute
	// pollWait is how long a request waits for a poll.
	pollWait = Bound
	// retryPause is the pause after a poll that failed although the store can be reached.
	retryPause = Interval / 10
)

// Change is a row of the change sequence.
type Change struct {
	Subscription string // folded
	Generation   [16]byte
}

// Changes follows the change sequence for one replica, by polls. It is safe for concurrent
// use.
type Changes struct {
	options ChangesOptions
	started time.Time // by ChangesOptions.Now; ages of values are measured from it
	seed    maphash.Seed
	// counters count changes, per class of subscriptions. A value that was stored under
	// another count is out of date.
	counters     [classes]atomic.Uint64
	constant     atomic.Uint64 // never changes, for values that depend on one counter
	lastPoll     atomic.Pointer[poll]
	reads        atomic.Uint64
	pollRequests chan struct{}                 // wakes pollLoop
	nextPoll     atomic.Pointer[chan struct{}] // closed at the end of the running or next poll

	mu   sync.Mutex
	seen map[string][16]byte // the generations that the last poll returned

	stop context.CancelFunc
	wait sync.WaitGroup
}

// classes is the number of counters. Subscriptions that share one only cause each other
// additional reads.
const classes = 4096

// poll describes the last successful poll.
type poll struct {
	at        time.Time // when it began
	storeDown bool      // a later poll could not reach the store
}

// ChangesOptions are the options of [NewChanges].
type ChangesOptions struct {
	// Ask polls the store: it returns the rows whose age is at most ago. Load on the store
	// must not delay it. An error that wraps [engine.ErrUnreachable] means that the store
	// is down; after any other error the poll is repeated.
	Ask func(ctx context.Context, ago time.Duration) ([]Change, error)
	Now func() time.Time
	// TTL bounds the age of remembered values, and how long they are used while the store
	// is down; 0: nothing is remembered.
	TTL time.Duration
}

// NewChanges starts to follow the change sequence, until Close.
func NewChanges(o ChangesOptions) *Changes {
	ctx, stop := context.WithCancel(context.Background())
	c := &Changes{options: o, started: o.Now(), seed: maphash.MakeSeed(), pollRequests: make(chan struct{}, 1), stop: stop}
	c.lastPoll.Store(&poll{at: c.started}) // nothing was remembered before
	c.endPoll()
	c.wait.Go(func() { c.pollLoop(ctx) })
	return c
}

// Close ends the running poll and starts no others. It may be called more than once.
func (c *Changes) Close() {
	c.stop()
	c.wait.Wait()
}

// Reads returns the number of polls so far.
func (c *Changes) Reads() uint64 { return c.reads.Load() }

// pollLoop polls when a poll is requested and due. When it returns, no caller waits for it.
func (c *Changes) pollLoop(ctx context.Context) {
	defer func() { close(*c.nextPoll.Load()) }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.pollRequests:
		}
		var err error
		if timing.Elapsed(c.lastPoll.Load().at, c.options.Now()) > Interval { // not if it was requested during a poll
			err = c.Ask(ctx)
		}
		c.endPoll()
		if err == nil {
			continue
		}
		pause := Interval
		if !errors.Is(err, engine.ErrUnreachable) {
			pause = retryPause
			c.requestPoll()
		}
		if timing.Sleep(ctx, pause) != nil {
			return
		}
	}
}

func (c *Changes) requestPoll() {
	select {
	case c.pollRequests <- struct{}{}:
	default:
	}
}

// endPoll releases the waiters of this poll; later ones wait for the next.
func (c *Changes) endPoll() {
	next := make(chan struct{})
	if ended := c.nextPoll.Swap(&next); ended != nil {
		close(*ended)
	}
}

// Ask polls the store and forgets everything that has changed.
func (c *Changes) Ask(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, now := c.lastPoll.Load(), c.options.Now()
	c.reads.Add(1)
	pause := max(timing.Elapsed(last.at, now), 0)
	changes, err := c.options.Ask(ctx, min(pause, Window)+Window)
	if err != nil {
		c.lastPoll.Store(&poll{at: last.at, storeDown: errors.Is(err, engine.ErrUnreachable)})
		return err
	}
	if pause > Window {
		c.forgetAll() // this poll does not reach back to the last one
	}
	seen := make(map[string][16]byte, len(changes))
	for _, change := range changes {
		seen[change.Subscription] = change.Generation
		if known, before := c.seen[change.Subscription]; !before || known != change.Generation {
			c.Forget(change.Subscription)
		}
	}
	c.seen = seen
	c.lastPoll.Store(&poll{at: now})
	return nil
}

func (c *Changes) forgetAll() {
	for i := range c.counters {
		c.counters[i].Add(1)
	}
}

// Forget forgets everything about a subscription, whose id is folded. It must be called after
// the commit of a change.
func (c *Changes) Forget(subscription string) {
	c.counter([]byte(subscription)).Add(1)
}

func (c *Changes) counter(subscription []byte) *atomic.Uint64 {
	return &c.counters[maphash.Bytes(c.seed, subscription)%classes]
}

// mayAnswer reports whether memory may answer a request that arrived at now, or is too far
// behind.
func (c *Changes) mayAnswer(now time.Time) (usable, behind bool) {
	last := c.lastPoll.Load()
	age := timing.Elapsed(last.at, now)
	if age > Interval {
		c.requestPoll()
	}
	// A request that arrived long before the poll has another clock.
	usable = age <= Bound && age >= -Bound || last.storeDown
	return usable, !usable && age > Bound
}

// down reports whether the last poll could not reach the store.
func (c *Changes) down() bool { return c.lastPoll.Load().storeDown }

// AgesAt returns the time at which the ages of values are taken, for a request that arrived
// at now. While the store is down, and for at most the TTL, this is the time of the last
// successful poll: values that were valid then can be used that long, however old they are.
func (c *Changes) AgesAt(now time.Time) time.Time {
	last := c.lastPoll.Load()
	if !last.storeDown {
		return now
	}
	if since := timing.Elapsed(last.at, now); since > 0 && since < c.options.TTL {
		return last.at
	}
	return now
}

// mayAnswerSoon reports whether memory may answer a request that arrived at at. If memory is
// too far behind, it first waits for the running or next poll, which all waiting callers
// share. Memory must not be too far behind at the end of the wait either.
func (c *Changes) mayAnswerSoon(ctx context.Context, at time.Time) bool {
	next := *c.nextPoll.Load() // before mayAnswer, so that a poll that ends meanwhile is not missed
	usable, behind := c.mayAnswer(at)
	if !behind {
		return usable
	}
	limit := time.NewTimer(pollWait)
	defer limit.Stop()
	select {
	case <-next:
	case <-ctx.Done():
	case <-limit.C:
	}
	if now := c.options.Now(); now.After(at) {
		at = now
	}
	usable, _ = c.mayAnswer(at)
	return usable
}
