package limits

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

func TestReservationStaysWithinItsLimit(t *testing.T) {
	b := NewMemory(1000, 1000, nil)
	s := b.Reservation("one", 300)
	ctx := context.Background()
	if err := s.Grow(ctx, 300); err != nil {
		t.Error(err)
	}
	if err := s.Grow(ctx, MemorySlack+1); !errors.Is(err, ErrNoRoom) || s.Size() != 300 {
		t.Errorf("beyond its own bound: %v", err)
	}
	s.Shrink(100)
	s.ForceGrow(5)
	if s.Size() != 205 || b.budget.free != 1000+MemorySlack-205 {
		t.Errorf("%d held, %d free", s.Size(), b.budget.free)
	}
	s.Close()
	if s.Size() != 0 || b.budget.free != 1000+MemorySlack {
		t.Errorf("%d held, %d free", s.Size(), b.budget.free)
	}
}

// Who holds something does not wait; who holds nothing does, and his others go
// without once he has got something.
func TestOnlyEmptyReservationsWait(t *testing.T) {
	b := NewMemory(1000, 1000, nil)
	b.budget.free = 1000
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	first, second, third := b.Reservation("one", 1000), b.Reservation("one", 1000), b.Reservation("one", 1000)
	if err := first.Grow(ctx, 900); err != nil {
		t.Fatal(err)
	}
	if err := first.Grow(ctx, 200); !errors.Is(err, ErrNoRoom) {
		t.Errorf("got %v", err)
	}
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- second.Grow(ctx, 600) }()
	}
	waiting := func(n int) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			b.budget.mu.Lock()
			got := 0
			if a := b.budget.accounts["one"]; a != nil {
				got = a.waiting.Len()
			}
			b.budget.mu.Unlock()
			if got == n {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d wait, want %d", got, n)
			}
		}
	}
	waiting(2)
	// No one overtakes but who holds something.
	late, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	if err := third.Grow(late, 1); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	stop()
	if err := first.Grow(ctx, 50); err != nil {
		t.Errorf("got %v", err)
	}
	first.Close()
	granted := 0
	for range 2 {
		if err := <-results; err == nil {
			granted++
		} else if !errors.Is(err, ErrNoRoom) {
			t.Errorf("got %v", err)
		}
	}
	if granted != 1 || second.Size() != 600 {
		t.Errorf("%d granted, %d held", granted, second.Size())
	}
	if err := third.Grow(ctx, 400); err != nil {
		t.Errorf("got %v", err)
	}
	second.Close()
	third.Close()
	if b.budget.free != 1000 {
		t.Errorf("%d free", b.budget.free)
	}
}

// Any number of holders that want more than there is come to their ends, and give
// everything back.
func TestMemoryNeverLocksUp(t *testing.T) {
	b := NewMemory(0, 0, nil)
	b.budget.free = 100
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var holders sync.WaitGroup
	for range 16 {
		holders.Go(func() {
			for range 50 {
				s := b.Reservation("one", 100)
				var parts sync.WaitGroup
				for range 4 {
					parts.Go(func() {
						for range 3 {
							if err := s.Grow(ctx, 1+rand.Int64N(60)); errors.Is(err, ErrBusy) {
								t.Error("waited in vain")
							}
						}
					})
				}
				parts.Wait()
				s.Close()
			}
		})
	}
	holders.Wait()
	if b.budget.free != 100 || len(b.budget.accounts) != 0 {
		t.Errorf("%d free, %d remembered", b.budget.free, len(b.budget.accounts))
	}
}
