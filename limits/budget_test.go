package limits

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// granted reports whether a wait has got what it waited for.
func (w *waiter) hasEnded() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// check holds a budget to what must be true between any two steps.
func (b *budget) check(t *rapid.T, total int64) {
	held, waiting := int64(0), 0
	for caller, a := range b.accounts {
		if a.held > b.maxPerCaller || a.held < 0 {
			t.Fatalf("%s holds %d of at most %d", caller, a.held, b.maxPerCaller)
		}
		if a.held == 0 && a.waiting.Len() == 0 {
			t.Fatalf("%s is remembered for nothing", caller)
		}
		if (a.waiting.Len() > 0) != (a.turn != nil) {
			t.Fatalf("%s: %d wait, in turn: %v", caller, a.waiting.Len(), a.turn != nil)
		}
		held += a.held
		waiting += a.waiting.Len()
	}
	if held+b.free != total || b.free < 0 {
		t.Fatalf("%d held and %d free of %d", held, b.free, total)
	}
	// No wakeup is lost: the first that does not wait for its own share does not fit.
	for place := b.ready.Front(); place != nil; place = place.Next() {
		a := place.Value.(*account)
		w := a.waiting.Front().Value.(*waiter)
		if w.hasEnded() {
			t.Fatalf("%s waits for what it has", a.caller)
		}
		if a.held+w.n > b.maxPerCaller {
			continue
		}
		if w.n <= b.free {
			t.Fatalf("%s waits for %d, and %d are free", a.caller, w.n, b.free)
		}
		return
	}
}

// Whatever is taken, given back and given up, in whatever order: never more than all,
// never more than a share, nothing that could be granted waits, and in the end all is
// back and no one is remembered.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 50).Draw(t, "total")
		most := rapid.Int64Range(1, total).Draw(t, "most")
		b := &budget{}
		b.init(total, most, nil)
		type held struct {
			caller string
			n      int64
		}
		var holds []held
		var waits []*waiter
		collect := func() {
			left := waits[:0]
			for _, w := range waits {
				if w.hasEnded() {
					holds = append(holds, held{w.account.caller, w.n})
				} else {
					left = append(left, w)
				}
			}
			waits = left
		}
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		caller := rapid.SampledFrom([]string{"", "alice", "bob", "carol"})
		amount := rapid.Int64Range(1, most)
		drop := func(i int) {
			b.adjustHeld(holds[i].caller, -holds[i].n)
			holds = append(holds[:i], holds[i+1:]...)
		}
		leave := func(i int) {
			w := waits[i]
			waits = append(waits[:i], waits[i+1:]...)
			if err := b.cancelWait(gone, w); !errors.Is(err, ErrBusy) {
				t.Fatalf("got %v", err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"queue": func(t *rapid.T) {
				waits = append(waits, b.enqueue(caller.Draw(t, "caller"), amount.Draw(t, "n"), nil))
			},
			"take": func(t *rapid.T) {
				c, n := caller.Draw(t, "caller"), amount.Draw(t, "n")
				mine := int64(0)
				if a := b.accounts[c]; a != nil {
					mine = a.held
				}
				switch err := b.tryTake(c, n); {
				case err == nil:
					holds = append(holds, held{c, n})
				case !errors.Is(err, ErrNoRoom) || errors.Is(err, ErrCallerShare) != (mine+n > most):
					t.Fatalf("got %v", err)
				}
			},
			"take uncontended": func(t *rapid.T) {
				c, n := caller.Draw(t, "caller"), amount.Draw(t, "n")
				mine := int64(0)
				if a := b.accounts[c]; a != nil {
					mine = a.held
				}
				collect()
				fits := len(waits) == 0 && mine+n <= most && n <= b.free
				if got := b.takeUncontended(c, n); got != fits {
					t.Fatalf("taken: %v, with %d waits, %d held, %d free", got, len(waits), mine, b.free)
				} else if got {
					holds = append(holds, held{c, n})
				}
			},
			"give": func(t *rapid.T) {
				if len(holds) == 0 {
					t.Skip()
				}
				drop(rapid.IntRange(0, len(holds)-1).Draw(t, "i"))
			},
			"leave": func(t *rapid.T) {
				if len(waits) == 0 {
					t.Skip()
				}
				leave(rapid.IntRange(0, len(waits)-1).Draw(t, "i"))
			},
			"": func(t *rapid.T) {
				collect()
				b.check(t, total)
			},
		})
		for len(waits) > 0 {
			leave(0)
			collect()
		}
		for len(holds) > 0 {
			drop(0)
		}
		if b.free != total || len(b.accounts) != 0 || b.ready.Len() != 0 {
			t.Fatalf("%d of %d free, %d remembered", b.free, total, len(b.accounts))
		}
	})
}

// A caller's wait that its own share has stopped fitting lets those behind it go on.
func TestWaitForOnesOwnShareLetsOthersGo(t *testing.T) {
	for what, take := range map[string]func(b *budget){
		"taken":  func(b *budget) { _ = b.tryTake("alice", 1) },
		"forced": func(b *budget) { b.adjustHeld("alice", 1) },
	} {
		b := &budget{}
		b.init(9, 9, nil)
		_ = b.enqueue("bob", 1, nil) // has it
		large, small := b.enqueue("alice", 9, nil), b.enqueue("bob", 1, nil)
		take(b)
		if large.hasEnded() || !small.hasEnded() {
			t.Errorf("%s: the large wait has ended: %v, the small one: %v", what, large.hasEnded(), small.hasEnded())
		}
	}
}

// Between two grants of one caller, every other that waited all the time has had one,
// and each caller's are in the order in which they came.
func TestTurnsGoRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 4).Draw(t, "total")
		b := &budget{}
		b.init(total, total, nil)
		for range total {
			if err := b.tryTake("first", 1); err != nil {
				t.Fatal(err)
			}
		}
		var queues [3][]*waiter
		order := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 40).Draw(t, "order")
		for _, c := range order {
			queues[c] = append(queues[c], b.enqueue(fmt.Sprint(c), 1, nil))
		}
		holder := "first"
		var passed [3][3]int // grants of one while another waited
		for range order {
			b.adjustHeld(holder, -1)
			served := -1
			for c, queue := range queues {
				if len(queue) > 0 && queue[0].hasEnded() {
					if served >= 0 {
						t.Fatal("two were served with one slot")
					}
					served, queues[c] = c, queue[1:]
				}
			}
			if served < 0 {
				t.Fatal("nobody was served, or one out of order")
			}
			for other, queue := range queues {
				passed[other][served] = 0
				if other == served || len(queue) == 0 {
					continue
				}
				if passed[served][other]++; passed[served][other] > 1 {
					t.Fatalf("%d was served twice while %d waited", served, other)
				}
			}
			holder = fmt.Sprint(served)
		}
	})
}

// Many callers at once: never more than all and than a share each, everybody who has
// the time is served, and all is given back.
func TestConcurrencyOfManyCallers(t *testing.T) {
	const slots, share, callers = 6, 2, 5
	var tally Stats
	c := NewConcurrency(slots, share, &tally)
	var inside atomic.Int64
	var of [callers]atomic.Int64
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var wait sync.WaitGroup
	for i := range callers {
		for range 8 {
			wait.Go(func() {
				caller := fmt.Sprint(i)
				for range 50 {
					mine, gone := context.WithCancel(ctx)
					leaves := rand.IntN(4) == 0
					if leaves {
						time.AfterFunc(time.Duration(rand.IntN(100))*time.Microsecond, gone)
					}
					err := c.Acquire(mine, caller)
					if err != nil {
						if !leaves {
							t.Errorf("waited in vain: %v", err)
						}
						gone()
						continue
					}
					if n := inside.Add(1); n > slots {
						t.Errorf("%d inside", n)
					}
					if n := of[i].Add(1); n > share {
						t.Errorf("%d of one caller inside", n)
					}
					time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
					of[i].Add(-1)
					inside.Add(-1)
					c.Release(caller)
					gone()
				}
			})
		}
	}
	wait.Wait()
	if c.budget.free != slots || len(c.budget.accounts) != 0 || tally.Waiting() != 0 {
		t.Errorf("%d free, %d remembered, %d wait", c.budget.free, len(c.budget.accounts), tally.Waiting())
	}
}

// One caller that holds a share and waits for more leaves what is free to others, and
// is told which of the two it lacked.
func TestShareOfConcurrency(t *testing.T) {
	var tally Stats
	c := NewConcurrency(4, 2, &tally)
	ctx := context.Background()
	take := func(caller string) error {
		short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
		return c.Acquire(short, caller)
	}
	for range 2 {
		if err := take("alice"); err != nil {
			t.Fatal(err)
		}
	}
	if err := take("alice"); !errors.Is(err, ErrCallerShare) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	long, cancel := context.WithCancel(ctx)
	waits := make(chan error)
	go func() { waits <- c.Acquire(long, "alice") }()
	for tally.Waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	if !c.TryAcquire("bob") || c.TryAcquire("alice") {
		t.Error("a waiting caller stands in the way of another, or passes itself")
	}
	if err := take(""); err != nil {
		t.Error(err)
	}
	if err := take("carol"); !errors.Is(err, ErrBusy) || errors.Is(err, ErrCallerShare) {
		t.Errorf("got %v", err)
	}
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if tally.RefusedForShare() != 1 || tally.RefusedForAll() != 1 || tally.Waiting() != 0 {
		t.Errorf("%d refused for their share, %d for all, %d wait", tally.RefusedForShare(), tally.RefusedForAll(), tally.Waiting())
	}
	c.Release("alice")
	if err := take("alice"); err != nil {
		t.Error(err)
	}
}

// A caller's memory is bounded over all that it holds it for.
func TestShareOfMemory(t *testing.T) {
	m := NewMemory(1<<20, 1<<18, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	first, second, other := m.Reservation("alice", 1<<20), m.Reservation("alice", 1<<20), m.Reservation("bob", 1<<20)
	if err := first.Grow(ctx, 1<<18); err != nil {
		t.Fatal(err)
	}
	if err := first.Grow(ctx, MemorySlack+1); !errors.Is(err, ErrCallerShare) || !errors.Is(err, ErrNoRoom) {
		t.Errorf("got %v", err)
	}
	if err := second.Grow(ctx, MemorySlack+1); !errors.Is(err, ErrCallerShare) || !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	if err := other.Grow(context.Background(), 1<<18); err != nil {
		t.Error(err)
	}
	for _, s := range []*Reservation{first, second, other} {
		s.Close()
	}
	if m.Free() != 1<<20 || len(m.budget.accounts) != 0 {
		t.Errorf("%d free, %d remembered", m.Free(), len(m.budget.accounts))
	}
}

// What no one waits for costs no waiter: every call of a provider takes a slot.
func TestUncontendedSlotsAllocateLittle(t *testing.T) {
	c := NewConcurrency(4, 2, nil)
	if n := testing.AllocsPerRun(100, func() {
		if !c.TryAcquire("a") {
			t.Error("a slot was not free")
		}
		c.Release("a")
	}); n > 1 { // the account
		t.Errorf("%v allocations", n)
	}
}
