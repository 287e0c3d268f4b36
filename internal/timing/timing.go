// Package timing measures elapsed time on a machine that may be suspended, or
// whose clock may be set. It also compares times, paces retries, and watches
// many things with one timer.
package timing

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Elapsed returns the larger of the monotonic and the wall-clock difference: a
// suspended machine stops the one, a set clock moves the other.
func Elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// mostDoublings keeps a pause from overflowing.
const mostDoublings = 10

// Backoff returns the pause after a number of failures in a row: first after
// one, then twice as long after each, up to longest.
func Backoff(first, longest time.Duration, failures int) time.Duration {
	return min(longest, first<<min(max(failures-1, 0), mostDoublings))
}

// Jitter returns a random pause between half of the given one and the whole.
func Jitter(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2+1) }

// Sleep waits for a pause, or until ctx ends.
func Sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// RetryAfter parses an answer's Retry-After, in seconds or as a date. The pause is
// not negative and otherwise not bounded; ok is false if there is none that parses.
func RetryAfter(h http.Header, now time.Time) (pause time.Duration, ok bool) {
	sent := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.Atoi(sent); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second, true
	}
	at, err := http.ParseTime(sent)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}
