package inventory

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"portico/arm"
)

// subject is what a write works on, all folded. Writes of a transaction run in
// the order of group and key, which is how every transaction locks rows: the
// group's first, where it needs that, then those of its resources.
type subject struct {
	subscription, group, key string
	// gates: the subscription's own row is locked, before all others, by what
	// decides about all that lies in it; fences: and so is every group in it, so
	// that no intent is just being recorded.
	gates, fences bool
	// opens: the group's own row is locked.
	opens bool
	// holds: the resource is loaded and locked, by hold; and before it the row
	// above, if there is a key.
	holds bool
	above string
	// namespace is the one of which the registration admits the write; empty: none
	// has to.
	namespace string
	// recordsOnly: it changes jobs, operations and the like, and nothing that a
	// transaction reads behind its locks; see lockedState.
	recordsOnly bool
	// alone: it shares its transaction with no other write, as it locks what has
	// no place in their order.
	alone bool
}

// aboutGroup is the subject of a write that locks a group.
func aboutGroup(sub, group string) subject {
	return subject{subscription: arm.Fold(sub), group: arm.Fold(group), opens: true}
}

// aboutResource is the subject of a write that locks a resource alone. Its
// group is read from the key.
func aboutResource(sub, key string) subject {
	s := aboutJob(sub, key)
	s.holds, s.recordsOnly = true, false
	return s
}

// aboutJob is the subject of a write that locks a job, in the place of what the
// job works on.
func aboutJob(sub, key string) subject {
	s := subject{subscription: arm.Fold(sub), key: arm.Fold(key), recordsOnly: true}
	s.group = groupOf(s.key).Name
	return s
}

// aboutWrite is the subject of a write that locks a group and a resource in it,
// and before that the one above, if any.
func aboutWrite(sub, group, above, key string) subject {
	s := aboutGroup(sub, group)
	s.key, s.above, s.holds = arm.Fold(key), arm.Fold(above), true
	return s
}

// aboutGate is the subject of a write that locks the subscription's own row;
// with fences, every group in it as well.
func aboutGate(sub string, fences bool) subject {
	return subject{subscription: arm.Fold(sub), gates: true, fences: fences}
}

// aboutFence is the subject of a write that locks every group of a subscription,
// and not its own row.
func aboutFence(sub string) subject { return subject{subscription: arm.Fold(sub), fences: true} }

// aboutLock is the subject of a write about a lock: it locks the row of the
// group, or without one of the subscription.
func aboutLock(sub, group string) subject {
	if group == "" {
		return aboutGate(sub, false)
	}
	return aboutGroup(sub, group)
}

// aboutScopes is the subject of a write that locks the groups of several
// subscriptions, of which it is stored with one.
func aboutScopes(sub string) subject { return subject{subscription: arm.Fold(sub), alone: true} }

// aboutSubscription is the subject of a write that locks neither, and changes
// nothing but records of its own.
func aboutSubscription(sub string) subject {
	return subject{subscription: arm.Fold(sub), recordsOnly: true}
}

func (s subject) compare(other subject) int {
	return cmp.Or(cmp.Compare(s.group, other.group), cmp.Compare(s.key, other.key))
}

// lane is one connection's queue and the goroutine that serves it.
type lane struct {
	writing
	session  session
	queue    chan *write
	backlog  []*write // taken from the queue, of several subscriptions maybe
	waiting  atomic.Int64
	finished chan struct{}

	commits, flushes, writes atomic.Uint64
}

// tick is how often an idle lane looks whether there is something to do.
const tick = 10 * time.Second

func (l *lane) loop() {
	defer close(l.finished)
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		if batch := l.gather(); len(batch) > 0 {
			l.commit(batch)
			continue
		}
		select {
		case m, open := <-l.queue:
			if !open {
				return
			}
			l.backlog = append(l.backlog, m)
		case <-ticks.C:
			l.refresh()
		}
	}
}

// gather takes what waits already, without waiting for more: under load the
// time of one commit is what fills the next batch. An engine with row locks
// gets the writes of one subscription at a time.
func (l *lane) gather() []*write {
	for len(l.backlog) < cap(l.queue) {
		select {
		case m, open := <-l.queue:
			if open {
				l.backlog = append(l.backlog, m)
				continue
			}
		default:
		}
		break
	}
	var batch, rest []*write
	for _, m := range l.backlog {
		if len(batch) == maxBatch || len(batch) > 0 && !l.together(batch[0], m) {
			rest = append(rest, m)
			continue
		}
		l.waiting.Add(-1)
		if m.taken.CompareAndSwap(false, true) {
			batch = append(batch, m)
		}
	}
	l.backlog = rest
	slices.SortStableFunc(batch, func(a, b *write) int { return a.about.compare(b.about) })
	return batch
}

// together tells whether two writes may share a transaction.
func (l *lane) together(a, b *write) bool {
	return !a.about.alone && !b.about.alone && (!l.dialect.locksRows || a.about.subscription == b.about.subscription)
}

// refresh makes an empty transaction when one is due, which sets the clock and
// finds out whether the connection still stands.
func (l *lane) refresh() {
	if l.stale == nil || !l.stale() {
		return
	}
	b := l.newBatch(nil)
	defer b.cancel()
	if b.transact() != nil { // the next write tells
		l.session.discard()
	}
}

func (l *lane) commit(batch []*write) {
	b := l.newBatch(batch)
	err := b.run()
	b.cancel()
	if err != nil {
		l.session.discard()
		err = unavailable(err)
	}
	// Also after a failure: whether its commit took effect is unknown.
	l.cache.forgetAll(b.changed)
	for i, m := range batch {
		if err != nil && b.results[i].panicked == nil {
			b.results[i].err = err
		}
		m.done <- b.results[i]
	}
	if err != nil && b.unreachable {
		l.refuse(err)
	}
}

// refuse answers all that waits: trying for each batch anew to reach a server
// that is down would add up its time-outs.
func (l *lane) refuse(err error) {
	for n := l.waiting.Load(); n > 0; n-- {
		if len(l.backlog) == 0 {
			select {
			case m, open := <-l.queue:
				if !open {
					return
				}
				l.backlog = append(l.backlog, m)
			default:
				return
			}
		}
		m := l.backlog[0]
		l.backlog = l.backlog[1:]
		l.waiting.Add(-1)
		if m.taken.CompareAndSwap(false, true) {
			m.done <- result{err: err}
		}
	}
}

// context is the lane's own: one caller who gives up must not end the
// neighbours' transaction.
func (l *lane) context() (context.Context, context.CancelFunc) {
	if l.limit > 0 {
		return context.WithTimeout(context.Background(), l.limit*2/3)
	}
	return context.WithCancel(context.Background())
}
