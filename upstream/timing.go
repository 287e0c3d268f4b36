package upstream

import (
	"context"
	"sync"
	"time"
)

// Timing measures the time that a request waited for providers, during which
// at least one of its calls was in flight. The zero value is ready for use.
// It is safe for concurrent use.
type Timing struct {
	outer *Timing // of the enclosing request

	mu      sync.Mutex
	calls   int
	open    int
	since   time.Time
	total   time.Duration
	address string
}

// TimingKey is the key of the *[Timing] in a context that measures the calls made with
// the context.
type TimingKey struct{}

// Within makes the timing in ctx, which belongs to an enclosing request,
// measure the calls of t as well.
func (t *Timing) Within(ctx context.Context) { t.outer = timingOf(ctx) }

func timingOf(ctx context.Context) *Timing {
	t, _ := ctx.Value(TimingKey{}).(*Timing)
	return t
}

// Total returns the time so far, the number of calls, and host and port of the
// latest.
func (t *Timing) Total() (total time.Duration, calls int, address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	total = t.total
	if t.open > 0 {
		total += time.Since(t.since)
	}
	return total, t.calls, t.address
}

func (t *Timing) call(address string) {
	for ; t != nil; t = t.outer {
		t.mu.Lock()
		t.calls, t.address = t.calls+1, address
		t.mu.Unlock()
	}
}

func (t *Timing) begin(now time.Time) {
	for ; t != nil; t = t.outer {
		t.mu.Lock()
		if t.open++; t.open == 1 {
			t.since = now
		}
		t.mu.Unlock()
	}
}

func (t *Timing) end(now time.Time) {
	for ; t != nil; t = t.outer {
		t.mu.Lock()
		if t.open--; t.open == 0 {
			t.total += now.Sub(t.since)
		}
		t.mu.Unlock()
	}
}
