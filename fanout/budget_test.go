package fanout

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

func TestBudgetOfOne(t *testing.T) {
	b := NewBudget(1000)
	s := b.share(300)
	ctx := context.Background()
	if err := s.take(ctx, 300); err != nil {
		t.Error(err)
	}
	if err := s.take(ctx, slack+1); !errors.Is(err, errNoRoom) || s.holds() != 300 {
		t.Errorf("beyond its own bound: %v", err)
	}
	s.give(100)
	s.force(5)
	if s.holds() != 205 || b.free != 1000+slack-205 {
		t.Errorf("%d held, %d free", s.holds(), b.free)
	}
	s.close()
	if s.holds() != 0 || b.free != 1000+slack {
		t.Errorf("%d held, %d free", s.holds(), b.free)
	}
}

// Who holds something does not wait; who holds nothing does, and his others go
// without once he has got something.
func TestWhoWaitsForTheBudget(t *testing.T) {
	b := NewBudget(1000)
	b.free = 1000
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	first, second, third := b.share(1000), b.share(1000), b.share(1000)
	if err := first.take(ctx, 900); err != nil {
		t.Fatal(err)
	}
	if err := first.take(ctx, 200); !errors.Is(err, errNoRoom) {
		t.Errorf("got %v", err)
	}
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- second.take(ctx, 600) }()
	}
	waiting := func(n int) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			b.mu.Lock()
			got := b.waiting.Len()
			b.mu.Unlock()
			if got == n {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d wait, want %d", got, n)
			}
		}
	}
	waiting(2)
	// Nobody overtakes but who holds something.
	late, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	if err := third.take(late, 1); !errors.Is(err, errBusy) {
		t.Errorf("got %v", err)
	}
	stop()
	if err := first.take(ctx, 50); err != nil {
		t.Errorf("got %v", err)
	}
	first.close()
	granted := 0
	for range 2 {
		if err := <-results; err == nil {
			granted++
		} else if !errors.Is(err, errNoRoom) {
			t.Errorf("got %v", err)
		}
	}
	if granted != 1 || second.holds() != 600 {
		t.Errorf("%d granted, %d held", granted, second.holds())
	}
	if err := third.take(ctx, 400); err != nil {
		t.Errorf("got %v", err)
	}
	second.close()
	third.close()
	if b.free != 1000 {
		t.Errorf("%d free", b.free)
	}
}

// Any number of lists that want more than there is come to their ends, and give
// everything back.
func TestBudgetNeverLocksUp(t *testing.T) {
	b := NewBudget(0)
	b.free = 100
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var lists sync.WaitGroup
	for range 16 {
		lists.Go(func() {
			for range 50 {
				s := b.share(100)
				var regions sync.WaitGroup
				for range 4 {
					regions.Go(func() {
						for range 3 {
							if err := s.take(ctx, 1+rand.Int64N(60)); errors.Is(err, errBusy) {
								t.Error("waited in vain")
							}
						}
					})
				}
				regions.Wait()
				s.close()
			}
		})
	}
	lists.Wait()
	if b.free != 100 || b.waiting.Len() != 0 {
		t.Errorf("%d free, %d wait", b.free, b.waiting.Len())
	}
}
