package timing

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostDoublings keeps a pause from overflowing.
const mostDoublings = 10

// Backoff is the pause after a number of failures in a row: first after one, then
// twice as long after each, up to longest.
func Backoff(first, longest time.Duration, failures int) time.Duration {
	return min(longest, first<<min(max(failures-1, 0), mostDoublings))
}

// Jitter is a random pause between the half of one and the whole.
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
