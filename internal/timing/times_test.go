package timing

import (
	"testing"
	"time"
)

// The clock of a suspended machine stops; the one on the wall does not.
func TestElapsed(t *testing.T) {
	now := time.Now()
	if got := Elapsed(now, now.Add(time.Second)); got != time.Second {
		t.Errorf("%v", got)
	}
	awoken := now.Round(0).Add(time.Hour) // no monotonic reading
	if got := Elapsed(now, awoken); got < time.Hour {
		t.Errorf("%v", got)
	}
}
