package limits

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConcurrencyIsBounded(t *testing.T) {
	const bound = 3
	c := NewConcurrency(bound, bound, nil)
	var inside, most atomic.Int64
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			if err := c.Acquire(context.Background(), ""); err != nil {
				t.Error(err)
				return
			}
			defer c.Release("")
			n := inside.Add(1)
			defer inside.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(time.Millisecond)
		})
	}
	wait.Wait()
	if most.Load() != bound {
		t.Errorf("%d at a time, want %d", most.Load(), bound)
	}
}

func TestAcquireEndsWithItsCaller(t *testing.T) {
	c := NewConcurrency(0, 0, nil)
	if err := c.Acquire(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := c.Acquire(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c.Release("")
	if err := c.Acquire(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a slot for a caller who has gone: %v", err)
	}
	if err := c.Acquire(context.Background(), ""); err != nil {
		t.Error(err)
	}
	c.Release("")
}

func TestRetriesAreAShareOfRequests(t *testing.T) {
	var b RetryBudget
	start := time.Unix(1_000_000, 0)
	// Everything fails, a thousand times a second: every request would be
	// retried.
	retries, requests := 0, 0
	for ms := range 60_000 {
		now := start.Add(time.Duration(ms) * time.Millisecond)
		b.Request(now)
		requests++
		if b.Retry(now) {
			retries++
		}
	}
	if retries > requests/5 || retries < requests/6 {
		t.Errorf("%d retries of %d requests", retries, requests)
	}
	// The memory of it lasts as long as the window, and no longer.
	later := start.Add(60*time.Second + retryWindow*time.Second)
	allowed := 0
	for range 100 {
		if b.Retry(later) {
			allowed++
		}
	}
	if allowed != minRetries {
		t.Errorf("%d retries without requests, want %d", allowed, minRetries)
	}
}

// Whatever comes when, a retry is allowed by what the last ten seconds held.
func TestRetryBudgetSlides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b RetryBudget
		requests, retries := map[int64]int{}, map[int64]int{}
		now := rapid.Int64Range(-30, 30).Draw(t, "start")
		inWindow := func(of map[int64]int) (n int) {
			for second := now - retryWindow + 1; second <= now; second++ {
				n += of[second]
			}
			return n
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.Int64Range(0, 12).Draw(t, "pass")
			for range rapid.IntRange(0, 200).Draw(t, "requests") {
				b.Request(time.Unix(now, 0))
				requests[now]++
			}
			for range rapid.IntRange(0, 50).Draw(t, "retries") {
				want := inWindow(retries) < max(minRetries, inWindow(requests)/requestsPerRetry)
				if got := b.Retry(time.Unix(now, 0)); got != want {
					t.Fatalf("%v after %d retries of %d requests", got, inWindow(retries), inWindow(requests))
				}
				if want {
					retries[now]++
				}
			}
		}
	})
}
