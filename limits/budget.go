// Package limits bounds how much one busy or failing endpoint, and one greedy caller,
// can take from the rest: calls in flight to an endpoint, retries among them, and
// memory for buffered answers and contents. It also bounds how many requests callers send.
//
// [Memory] and [Concurrency] are shared by callers, and limit the share of each, so
// that a caller at its limit leaves room for others. Waiting callers are served in
// turn, one wait of each, however many waits each has. A caller is any name by which
// the user of this package tells callers apart; nothing is kept of a caller that
// neither holds nor waits.
//
// The package reads no clock: callers pass the time. Goroutines of [ForEach] have
// ended when it returns.
//
// # Requests
//
// [Throttle] bounds how many requests callers send, as ARM does: by token buckets
// for reads, writes and deletes, of each caller in each subscription, of each caller at
// its tenant, and of each subscription as a whole.
//
// A request takes a token of the caller's bucket and one of the subscription's, or none
// where one of both is empty. The subscription's is several times as large, so that one
// caller can use up that part of it and no more.
//
// # Who pays
//
// A subscription's bucket is touched only by callers for whom the subscription exists.
// Until that is known, and where it turns out otherwise ([Ticket.Disown]), the caller's
// bucket at its tenant pays: whoever invents subscriptions, or calls those of others,
// throttles only itself, and adds no bucket to memory.
//
// A list over several regions costs one token for each. What the buckets lack becomes a
// debt ([Ticket.Charge]): a refusal could never end for a list over more regions than a
// bucket holds, and has no true Retry-After where other requests are let through
// meanwhile. A debt lasts for [MaxThrottleWait] at most.
//
// # Replicas
//
// Each replica keeps buckets of its own, of its share of the limits: the limits divided
// by the number of live replicas, as far as the replica knows. Together they let through
// what the limits say. While that number changes, one that joins brings full buckets,
// and the others may not know of it yet: for that time it is less than twice the limits.
// Were each replica to know of no other, it would be the limits times the replicas.
package limits

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrNoRoom is returned if a request does not fit and must not wait.
	ErrNoRoom = errors.New("there is no room for it at present")
	// ErrBusy is returned if a wait for room was in vain.
	ErrBusy = errors.New("others hold all that there is")
	// ErrCallerShare is joined to one of the others if the caller's own share is used
	// up.
	ErrCallerShare = errors.New("the caller's share is used up")

	errShareNoRoom = fmt.Errorf("%w: %w", ErrCallerShare, ErrNoRoom)
	errShareBusy   = fmt.Errorf("%w: it was waited for in vain: %w", ErrCallerShare, ErrBusy)
)

// budget is an amount that callers share.
type budget struct {
	stats *Stats // never nil

	mu           sync.Mutex
	free         int64
	maxPerCaller int64               // of one caller
	accounts     map[string]*account // of callers that hold or wait
	ready        list.List           // of *account with waits, the next to be served first
	waits        int                 // of all accounts
}

// account is one caller's use of a budget.
type account struct {
	caller  string
	held    int64
	waiting list.List     // of *waiter, the oldest first
	turn    *list.Element // in budget.ready; nil: the caller does not wait
}

// waiter is one wait of a caller. It ends when it is granted or cancelled.
type waiter struct {
	account     *account
	place       *list.Element // in account.waiting
	reservation *Reservation  // to be credited; may be nil
	n           int64
	granted     bool
	ofShare     bool // it was ended as too many of its caller waited
	ended       chan struct{}
}

func (b *budget) init(total, maxPerCaller int64, stats *Stats) {
	if stats == nil {
		stats = &Stats{}
	}
	b.free, b.maxPerCaller, b.stats = total, maxPerCaller, stats
	b.accounts = map[string]*account{}
}

// account returns the account of a caller. The lock is held.
func (b *budget) account(caller string) *account {
	a := b.accounts[caller]
	if a == nil {
		a = &account{caller: caller}
		b.accounts[caller] = a
	}
	return a
}

// forget drops an unused account. The lock is held.
func (b *budget) forget(a *account) {
	if a.held == 0 && a.waiting.Len() == 0 {
		delete(b.accounts, a.caller)
	}
}

// add changes what a caller holds, whether it fits or not. The lock is held.
func (b *budget) add(caller string, n int64) {
	a := b.account(caller)
	a.held += n
	b.free -= n
	b.grant()
	b.forget(a)
}

// tryTake takes n for a caller that must not wait. The lock is held.
func (b *budget) tryTake(caller string, n int64) error {
	a := b.account(caller)
	defer b.forget(a)
	switch {
	case a.held+n > b.maxPerCaller:
		b.stats.refusedShare.Add(1)
		return errShareNoRoom
	case n > b.free:
		b.stats.refusedAll.Add(1)
		return ErrNoRoom
	}
	a.held += n
	b.free -= n
	b.grant() // the caller's first wait may now be for its own share: those behind it go on
	return nil
}

// takeUncontended takes n for a caller if it fits and no caller waits: the usual case,
// which needs no waiter. The lock is held.
func (b *budget) takeUncontended(caller string, n int64) bool {
	if b.ready.Len() > 0 || n > b.free {
		return false
	}
	a := b.account(caller)
	defer b.forget(a)
	if a.held+n > b.maxPerCaller {
		return false
	}
	a.held += n
	b.free -= n
	return true
}

// queue adds a wait behind the others of its caller, and serves it if it is next.
// The lock is held.
func (b *budget) queue(caller string, n int64, share *Reservation) *waiter {
	a := b.account(caller)
	w := &waiter{account: a, reservation: share, n: n, ended: make(chan struct{})}
	w.place = a.waiting.PushBack(w)
	b.waits++
	if a.turn == nil {
		a.turn = b.ready.PushBack(a)
	}
	b.grant()
	return w
}

// shorten ends waits, ungranted, as far as w has made the queue too long: w itself if its
// caller has too many, else the latest wait of the caller that has most: a caller with few
// waits is never refused for the many of another. The lock is held.
func (b *budget) shorten(w *waiter, q Queue) {
	victim := w
	switch {
	case w.account.waiting.Len() > q.PerCaller:
		w.ofShare = true
		b.stats.refusedShare.Add(1)
	case b.waits > q.All:
		for place := b.ready.Front(); place != nil; place = place.Next() {
			if a, _ := place.Value.(*account); a.waiting.Len() > victim.account.waiting.Len() {
				victim, _ = a.waiting.Back().Value.(*waiter)
			}
		}
		b.stats.refusedAll.Add(1)
	default:
		return
	}
	b.remove(victim)
	close(victim.ended)
	b.forget(victim.account)
}

// wait returns when w has ended, or ctx.
func (b *budget) wait(ctx context.Context, w *waiter) error {
	select {
	case <-w.ended:
	default:
		b.stats.waiting.Add(1)
		defer b.stats.waiting.Add(-1)
		select {
		case <-w.ended:
		case <-ctx.Done():
			return b.cancelWait(ctx, w)
		}
	}
	return w.result()
}

// result returns what became of a wait that has ended.
func (w *waiter) result() error {
	switch {
	case w.granted:
		return nil
	case w.ofShare:
		return errShareNoRoom
	}
	return ErrNoRoom
}

// cancelWait ends a wait whose ctx has ended, unless it has just been served.
func (b *budget) cancelWait(ctx context.Context, w *waiter) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.ended:
		return w.result()
	default:
	}
	err, counter := ErrBusy, &b.stats.refusedAll
	if w.account.held+w.n > b.maxPerCaller {
		err, counter = errShareBusy, &b.stats.refusedShare
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // else the caller has gone
		counter.Add(1)
	}
	b.remove(w)
	b.grant() // it may have blocked a smaller wait
	b.forget(w.account)
	return err
}

// remove takes a wait from its queue. The lock is held.
func (b *budget) remove(w *waiter) {
	a := w.account
	a.waiting.Remove(w.place)
	b.waits--
	if a.waiting.Len() == 0 {
		b.ready.Remove(a.turn)
		a.turn = nil
	}
}

// grant serves waiting callers in turn, one wait of each, as far as there is room.
// No wait overtakes one that lacks room, else large waits might starve; a caller at
// its own limit is skipped. The lock is held.
func (b *budget) grant() {
	for place := b.ready.Front(); place != nil; {
		a, _ := place.Value.(*account)
		w, _ := a.waiting.Front().Value.(*waiter)
		switch {
		case a.held+w.n > b.maxPerCaller:
			place = place.Next()
			continue
		case w.n > b.free:
			return
		}
		b.ready.MoveToBack(a.turn)
		b.serve(w)
		place = b.ready.Front()
	}
}

// serve grants a wait. The lock is held.
func (b *budget) serve(w *waiter) {
	b.remove(w)
	w.account.held += w.n
	b.free -= w.n
	w.granted = true
	close(w.ended)
	if w.reservation != nil {
		w.reservation.held += w.n
		b.endWaits(w.account, w.reservation)
	}
}

// endWaits ends, ungranted, the other waits for a reservation that now holds
// something. The lock is held.
func (b *budget) endWaits(a *account, s *Reservation) {
	for place := a.waiting.Front(); place != nil; {
		next := place.Next()
		if w, _ := place.Value.(*waiter); w.reservation == s {
			b.remove(w)
			close(w.ended)
		}
		place = next
	}
}
