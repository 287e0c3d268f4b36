package limits

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrNoRoom says that something does not fit beside what is held already.
	ErrNoRoom = errors.New("there is no room for it at present")
	// ErrBusy says that nothing is held, and that there was no room for all the
	// waiting.
	ErrBusy = errors.New("others hold all that there is")
	// ErrShare says, together with one of the others, that the caller's own share is
	// used up.
	ErrCallerShare = errors.New("the caller's share is used up")

	errShareNoRoom = fmt.Errorf("%w: %w", ErrCallerShare, ErrNoRoom)
	errShareBusy   = fmt.Errorf("%w: it was waited for in vain: %w", ErrCallerShare, ErrBusy)
)

// budget is an amount of something that callers share.
type budget struct {
	stats *Stats // never nil

	mu           sync.Mutex
	free         int64
	maxPerCaller int64               // of one caller
	accounts     map[string]*account // of callers that hold or wait
	ready        list.List           // of *account, those that wait, the next one first
}

// account is what a budget knows of one caller.
type account struct {
	caller  string
	held    int64
	waiting list.List     // of *waiter, the longest waiting first
	turn    *list.Element // among the turns; nil: the caller does not wait
}

// waiter is one wait of a caller. It ends when it is granted or dismissed.
type waiter struct {
	account     *account
	place       *list.Element // in account.waiting
	reservation *Reservation  // that it is for; nil for none
	n           int64
	granted     bool
	ended       chan struct{}
}

func (b *budget) init(total, most int64, tally *Stats) {
	if tally == nil {
		tally = &Stats{}
	}
	b.free, b.maxPerCaller, b.stats = total, most, tally
	b.accounts = map[string]*account{}
}

// account returns that of a caller. The lock is held.
func (b *budget) account(caller string) *account {
	a := b.accounts[caller]
	if a == nil {
		a = &account{caller: caller}
		b.accounts[caller] = a
	}
	return a
}

// forget drops an account of which nothing is left. The lock is held.
func (b *budget) forget(a *account) {
	if a.held == 0 && a.waiting.Len() == 0 {
		delete(b.accounts, a.caller)
	}
}

// add changes what a caller holds, whether there is room or not. The lock is held.
func (b *budget) add(caller string, n int64) {
	a := b.account(caller)
	a.held += n
	b.free -= n
	if n < 0 {
		b.grant()
	}
	b.forget(a)
}

// takeNow takes n for a caller that must not wait. The lock is held.
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
	return nil
}

// queue puts a wait behind the others of its caller, and serves it if it is its turn
// already. The lock is held.
func (b *budget) queue(caller string, n int64, share *Reservation) *waiter {
	a := b.account(caller)
	w := &waiter{account: a, reservation: share, n: n, ended: make(chan struct{})}
	w.place = a.waiting.PushBack(w)
	if a.turn == nil {
		a.turn = b.ready.PushBack(a)
	}
	b.grant()
	return w
}

// wait waits until w has ended, as long as ctx lasts.
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
	if !w.granted {
		return ErrNoRoom
	}
	return nil
}

// leave ends a wait for which there is no more time, unless it has just ended.
func (b *budget) cancelWait(ctx context.Context, w *waiter) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.ended:
		if w.granted {
			return nil
		}
		return ErrNoRoom
	default:
	}
	err, counter := ErrBusy, &b.stats.refusedAll
	if w.account.held+w.n > b.maxPerCaller {
		err, counter = errShareBusy, &b.stats.refusedShare
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // else nobody wants it any more
		counter.Add(1)
	}
	b.remove(w)
	b.grant() // it may have stood in the way of one that wants less
	b.forget(w.account)
	return err
}

// remove takes a wait from its queue. The lock is held.
func (b *budget) remove(w *waiter) {
	a := w.account
	a.waiting.Remove(w.place)
	if a.waiting.Len() == 0 {
		b.ready.Remove(a.turn)
		a.turn = nil
	}
}

// grant serves those who wait, one wait of each caller in turn, as far as there is
// room. Nobody overtakes one who waits for room, lest much be never granted; callers
// that wait for their own share stand in nobody's way. The lock is held.
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

// serve gives a wait what it waits for. The lock is held.
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

// dismiss sends away whatever else waits for a share that holds something now. The
// lock is held.
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
