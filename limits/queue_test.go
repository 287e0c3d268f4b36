package limits

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// However many waits one caller piles up, another's wait is served after at most one of
// each other caller that waits, and nothing is lost.
func TestFloodDoesNotLengthenOthersWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const flooder = "flooder"
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		others := rapid.IntRange(1, 8).Draw(t, "others")
		q := Queue{All: rapid.IntRange(others+1, 40).Draw(t, "all"), PerCaller: rapid.IntRange(1, 40).Draw(t, "perCaller")}
		c := NewConcurrency(slots, slots, nil)
		type wait struct {
			*waiter
			caller string
			passed int // grants since it began
		}
		var waits []*wait
		var held []string
		// settle collects the waits that have ended.
		settle := func() {
			var left []*wait
			var granted []string
			for _, w := range waits {
				select {
				case <-w.ended:
					if w.granted {
						granted = append(granted, w.caller)
					} else if w.caller != flooder && !w.overShare {
						t.Fatalf("%s gave way to the flood", w.caller)
					}
				default:
					left = append(left, w)
				}
			}
			waits, held = left, append(held, granted...)
			for _, w := range waits {
				if w.passed += len(granted); w.caller != flooder && w.passed > others+1 {
					t.Fatalf("%s has waited for %d others", w.caller, w.passed)
				}
			}
			if len(waits) > q.All || len(held) > slots || len(waits) > 0 && len(held) < slots {
				t.Fatalf("%d wait, %d are held", len(waits), len(held))
			}
		}
		begin := func(caller string) {
			c.budget.mu.Lock()
			w := c.budget.enqueue(caller, 1, nil)
			if !w.granted {
				c.budget.trimQueue(w, q)
			}
			c.budget.mu.Unlock()
			waits = append(waits, &wait{waiter: w, caller: caller})
			settle()
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"flood", "other", "release", "release"}).Draw(t, "step") {
			case "flood":
				for range rapid.IntRange(1, 60).Draw(t, "calls") {
					begin(flooder)
				}
			case "other":
				caller := fmt.Sprint("other", rapid.IntRange(1, others).Draw(t, "caller"))
				waiting := false
				for _, w := range waits {
					waiting = waiting || w.caller == caller
				}
				if !waiting {
					begin(caller)
				}
			case "release":
				if len(held) > 0 {
					c.Release(held[0])
					held = held[1:]
					settle()
				}
			}
		}
		for len(held) > 0 {
			c.Release(held[0])
			held = held[1:]
			settle()
		}
		if len(waits) > 0 || c.budget.waits != 0 || c.budget.free != int64(slots) || len(c.budget.accounts) > 0 {
			t.Fatalf("left: %d waits, %d counted, %d free, %d callers", len(waits), c.budget.waits, c.budget.free, len(c.budget.accounts))
		}
	})
}

// Whose queue is full is told so at once, and why.
func TestQueueIsBounded(t *testing.T) {
	stats := &Stats{}
	c := NewConcurrency(1, 1, stats)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := c.Acquire(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	q := Queue{All: 3, PerCaller: 2}
	results := map[string]chan error{"ann": make(chan error, 3), "bob": make(chan error, 3), "carl": make(chan error, 3)}
	wait := func(caller string, waiting int64) {
		t.Helper()
		go func() { results[caller] <- c.AcquireWithin(ctx, caller, q) }()
		for end := time.Now().Add(10 * time.Second); stats.Waiting() != waiting; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d wait, want %d", stats.Waiting(), waiting)
			}
		}
	}
	wait("ann", 1)
	wait("ann", 2)
	if err := c.AcquireWithin(ctx, "ann", q); !errors.Is(err, ErrNoRoom) || !errors.Is(err, ErrCallerShare) {
		t.Errorf("a caller's own queue is full: %v", err)
	}
	wait("bob", 3)
	go func() { results["carl"] <- c.AcquireWithin(ctx, "carl", q) }()
	if err := <-results["ann"]; !errors.Is(err, ErrNoRoom) || errors.Is(err, ErrCallerShare) {
		t.Errorf("who has most gives way: %v", err)
	}
	if stats.RefusedForShare() != 1 || stats.RefusedForAll() != 1 {
		t.Errorf("%d and %d are counted", stats.RefusedForShare(), stats.RefusedForAll())
	}
	c.Release("ann")
	for _, caller := range []string{"ann", "bob", "carl"} {
		if err := <-results[caller]; err != nil {
			t.Errorf("%s: %v", caller, err)
		}
		c.Release(caller)
	}
}
