package health

import (
	"testing"
	"time"
)

// If one of four addresses takes ten times as long, choosing the less busy of two
// achieves more than taking turns, and nearly as much as always choosing the least busy
// of all.
func TestLessBusyOfTwoGivesMoreThroughput(t *testing.T) {
	const clients, calls = 16, 20_000
	took := func(index int) time.Duration {
		if index == 0 {
			return 10 * time.Millisecond
		}
		return time.Millisecond
	}
	// A server handles one call at a time; each client waits for its answer before its
	// next call.
	run := func(take func(w *world) Choice) (until time.Duration) {
		w := newWorld(t, Settings{}, 4)
		start := w.now
		var free [4]time.Duration // when a server finishes its calls
		var done [clients]time.Duration
		var held [clients]Choice
		for n := range calls {
			next := 0
			for c := range done {
				if done[c] < done[next] {
					next = c
				}
			}
			w.now = max(start, done[next])
			if n >= clients {
				held[next].Release()
			}
			held[next] = take(w)
			i := held[next].Index
			free[i] = max(free[i], w.now) + took(i)
			done[next] = free[i]
			if n < clients { // all begin at once
				w.now = start
			}
		}
		return w.now - start
	}
	inTurn := 0
	turns := run(func(w *world) Choice {
		inTurn++
		return w.set.choice(w.set.members[inTurn%4], 0)
	})
	least := run(func(w *world) Choice {
		best := w.set.members[0]
		for _, m := range w.set.members {
			if m.outstanding.Load() < best.outstanding.Load() {
				best = m
			}
		}
		return w.set.choice(best, 0)
	})
	two := run(func(w *world) Choice {
		c, err := w.choose()
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
	t.Logf("%d calls take %v in turn, %v by the less busy of two, %v by the least busy of all", calls, turns, two, least)
	if two > turns/2 || two > least*3/2 {
		t.Errorf("in turn %v, the less busy of two %v, the least busy of all %v", turns, two, least)
	}
}
