package engine

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// commitQueue holds the writes waiting for one connection. Its goroutine commits them
// in groups.
type commitQueue struct {
	engine   *Engine
	session  Session
	queue    chan *Write
	backlog  []*Write // taken from the queue, possibly of several partitions
	waiting  atomic.Int64
	finished chan struct{}

	commits, flushes, writes atomic.Uint64
}

// tick is how often an idle queue checks whether it has something to do.
const tick = 10 * time.Second

func (q *commitQueue) loop() {
	defer close(q.finished)
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		// Goroutines that are ready to queue a write run first. On one processor the
		// queue would otherwise run as soon as it has one write, and commit each write
		// by itself.
		runtime.Gosched()
		if group := q.gather(); len(group) > 0 {
			q.commit(group)
			continue
		}
		select {
		case m, open := <-q.queue:
			if !open {
				return
			}
			q.backlog = append(q.backlog, m)
		case <-ticks.C:
			q.refresh()
		}
	}
}

// gather returns the next group of waiting writes. It does not wait for more: under load
// the next group fills while one commits. If rows are locked one by one, a group has one
// partition.
func (q *commitQueue) gather() []*Write {
	for len(q.backlog) < cap(q.queue) {
		select {
		case m, open := <-q.queue:
			if open {
				q.backlog = append(q.backlog, m)
				continue
			}
		default:
		}
		break
	}
	var group, rest []*Write
	for _, m := range q.backlog {
		if len(group) == maxGroup || len(group) > 0 && !q.canShare(group[0], m) {
			rest = append(rest, m)
			continue
		}
		q.waiting.Add(-1)
		if m.claimed.CompareAndSwap(false, true) {
			group = append(group, m)
		}
	}
	q.backlog = rest
	slices.SortStableFunc(group, func(a, b *Write) int { return a.Locks.compare(b.Locks) })
	return group
}

func (q *commitQueue) canShare(a, b *Write) bool {
	return !a.Locks.Alone && !b.Locks.Alone && !a.rehearsed && !b.rehearsed && (!q.engine.dialect.locksRows || a.Locks.Partition == b.Locks.Partition)
}

// refresh runs an empty transaction if the clock is stale. It sets the clock and checks
// the connection.
func (q *commitQueue) refresh() {
	if q.engine.clock == nil || !q.engine.clock.stale(clockAge) {
		return
	}
	g := q.newGroup(nil)
	defer g.cancel()
	if g.transact() != nil { // the next write will find out
		q.session.Discard()
	}
}

func (q *commitQueue) commit(writes []*Write) {
	g := q.newGroup(writes)
	err := g.run()
	g.cancel()
	if err != nil {
		q.session.Discard()
		err = Unavailable(err)
	}
	for i, m := range writes {
		if err != nil && g.results[i].panicked == nil {
			g.results[i].err = err
		}
		m.done <- g.results[i]
	}
	if err != nil && g.unreachable {
		q.refuseWaiting(err)
	}
}

// refuseWaiting fails all waiting writes with err: if each group tried to reach a server
// that is down, their time-outs would add up.
func (q *commitQueue) refuseWaiting(err error) {
	for n := q.waiting.Load(); n > 0; n-- {
		if len(q.backlog) == 0 {
			select {
			case m, open := <-q.queue:
				if !open {
					return
				}
				q.backlog = append(q.backlog, m)
			default:
				return
			}
		}
		m := q.backlog[0]
		q.backlog = q.backlog[1:]
		q.waiting.Add(-1)
		if m.claimed.CompareAndSwap(false, true) {
			m.done <- result{err: err}
		}
	}
}

// context returns the context of a transaction. It does not derive from a caller's
// context: a caller that gives up must not end the transaction of others.
func (q *commitQueue) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), answerLimit*2/3)
}
