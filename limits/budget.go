// Package limits bounds how much a busy or failing endpoint, or a greedy caller, can take from
// others: concurrent calls to an endpoint, retries, and memory for buffered bodies. It also bounds
// how many requests callers send.
//
// [Memory] and [Concurrency] limit the total and the share of each caller, so that a caller at its
// limit leaves room for others. Waiting callers are served round-robin, one wait at a time,
// regardless of how many waits each has. A caller is identified by any string. Callers that neither
// hold nor wait for anything occupy no memory.
//
// The package reads no clock: callers pass the time. [ForEach] returns after its goroutines have
// ended.
//
// # Requests
//
// [Throttle] limits requests as ARM does: by token buckets for reads, writes and deletes, per
// caller in a subscription, per caller at its tenant, and per subscription.
//
// A request takes a token from the caller's bucket and one from the subscription's, or none if
// either is empty. The subscription's bucket is several times as large, so one caller can use up
// only a part of it.
//
// # Who pays
//
// Only callers for whom a subscription exists take from its bucket. Until that is known, or if it
// turns out not to exist ([Ticket.Disown]), the caller's bucket at its tenant pays. A caller that
// invents subscriptions, or calls other people's, therefore throttles only itself and creates no
// buckets.
//
// A list over several regions costs one token per region. If the buckets hold fewer, the rest
// becomes a debt ([Ticket.Charge]). A refusal would be wrong: a list over more regions than a
// bucket holds could never succeed, and while other requests pass no Retry-After would be true. A
// debt lasts at most [MaxThrottleWait].
//
// # Replicas
//
// Each replica has its own buckets with its share of the limits: the limits divided by the number
// of live replicas that it knows. Together they enforce the limits. While a replica joins, its
// buckets are full and the others may not know of it yet, so the total is temporarily up to twice
// the limits. If no replica knew the others, it would be the limits times the number of replicas.
package limits

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrNoRoom means that a request does not fit and must not wait.
	ErrNoRoom = errors.New("there is no room for it at present")
	// ErrBusy means that a wait for room ended without success.
	ErrBusy = errors.New("others hold all that there is")
	// ErrCallerShare is joined to one of the others if the caller's own share is used up.
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
	accounts     map[string]*account // only callers that hold or wait
	ready        list.List           // of *account with waits, the next to be served first
	waits        int                 // of all accounts
}

// account is one caller's use of a budget.
type account struct {
	caller  string
	held    int64
	waiting list.List     // of *waiter, oldest first
	turn    *list.Element // element of budget.ready; nil if the caller does not wait
}

// waiter is one wait of a caller. It ends when it is granted or cancelled.
type waiter struct {
	account     *account
	element     *list.Element // of account.waiting
	reservation *Reservation  // receives the amount; may be nil
	n           int64
	granted     bool
	overShare   bool // ended because too many of its caller's waits were queued
	ended       chan struct{}
}

func (b *budget) init(total, maxPerCaller int64, stats *Stats) {
	if stats == nil {
		stats = &Stats{}
	}
	b.free, b.maxPerCaller, b.stats = total, maxPerCaller, stats
	b.accounts = map[string]*account{}
}

// account returns a caller's account, and creates it if necessary. The caller must hold b.mu.
func (b *budget) account(caller string) *account {
	a := b.accounts[caller]
	if a == nil {
		a = &account{caller: caller}
		b.accounts[caller] = a
	}
	return a
}

// dropIfUnused removes an account that holds and waits for nothing. The caller must hold b.mu.
func (b *budget) dropIfUnused(a *account) {
	if a.held == 0 && a.waiting.Len() == 0 {
		delete(b.accounts, a.caller)
	}
}

// adjustHeld changes the amount that a caller holds, even if it does not fit. The caller must hold
// b.mu.
func (b *budget) adjustHeld(caller string, n int64) {
	a := b.account(caller)
	a.held += n
	b.free -= n
	b.serveWaiters()
	b.dropIfUnused(a)
}

// tryTake takes n without waiting. The caller must hold b.mu.
func (b *budget) tryTake(caller string, n int64) error {
	a := b.account(caller)
	defer b.dropIfUnused(a)
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
	b.serveWaiters() // the caller's first wait may now exceed its share, which lets later waits proceed
	return nil
}

// takeUncontended takes n if it fits and nobody waits: the usual case, which needs no waiter. The
// caller must hold b.mu.
func (b *budget) takeUncontended(caller string, n int64) bool {
	if b.ready.Len() > 0 || n > b.free {
		return false
	}
	a := b.account(caller)
	defer b.dropIfUnused(a)
	if a.held+n > b.maxPerCaller {
		return false
	}
	a.held += n
	b.free -= n
	return true
}

// enqueue adds a wait after the caller's others, and serves it if it is next. The caller must hold
// b.mu.
func (b *budget) enqueue(caller string, n int64, share *Reservation) *waiter {
	a := b.account(caller)
	w := &waiter{account: a, reservation: share, n: n, ended: make(chan struct{})}
	w.element = a.waiting.PushBack(w)
	b.waits++
	if a.turn == nil {
		a.turn = b.ready.PushBack(a)
	}
	b.serveWaiters()
	return w
}

// trimQueue ends one wait without granting it if w has made the queue too long: w itself if its
// caller has too many, otherwise the latest wait of the caller with the most. A caller with few
// waits is thus never refused because another has many. The caller must hold b.mu.
func (b *budget) trimQueue(w *waiter, q Queue) {
	victim := w
	switch {
	case w.account.waiting.Len() > q.PerCaller:
		w.overShare = true
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
	b.dropIfUnused(victim.account)
}

// wait waits until w ends or ctx is done.
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

// result returns the outcome of an ended wait.
func (w *waiter) result() error {
	switch {
	case w.granted:
		return nil
	case w.overShare:
		return errShareNoRoom
	}
	return ErrNoRoom
}

// cancelWait ends a wait whose ctx is done, unless it has just been served.
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
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // otherwise the caller has gone
		counter.Add(1)
	}
	b.remove(w)
	b.serveWaiters() // w may have blocked a smaller wait
	b.dropIfUnused(w.account)
	return err
}

// remove takes a wait from its queue. The caller must hold b.mu.
func (b *budget) remove(w *waiter) {
	a := w.account
	a.waiting.Remove(w.element)
	b.waits--
	if a.waiting.Len() == 0 {
		b.ready.Remove(a.turn)
		a.turn = nil
	}
}

// serveWaiters serves waiting callers round-robin while there is room. No wait overtakes one that
// does not fit, otherwise large waits might starve; callers at their own limit are skipped. The
// caller must hold b.mu.
func (b *budget) serveWaiters() {
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
		b.grantWait(w)
		place = b.ready.Front()
	}
}

// grantWait grants a wait. The caller must hold b.mu.
func (b *budget) grantWait(w *waiter) {
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

// endWaits ends, without granting them, the other waits of a reservation that now holds something.
// The caller must hold b.mu.
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
