package polling

import (
	"testing"
	"time"
)

// An operation is polled soon after it began, and ever more seldom while it goes on.
func TestPausesGrowWithTheAge(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{
		-time.Hour: time.Second, 0: time.Second, 4 * time.Second: time.Second, 8 * time.Second: 2 * time.Second,
		40 * time.Second: 10 * time.Second, time.Minute: 15 * time.Second, 24 * time.Hour: 15 * time.Second,
	} {
		if got := pauseAt(age); got != want {
			t.Errorf("after %s: %s, want %s", age, got, want)
		}
	}
}
