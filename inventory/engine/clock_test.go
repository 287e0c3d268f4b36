package engine

import (
	"testing"
	"time"
)

// The monotonic clock of a suspended machine stops; the one on the wall does not.
func TestElapsedIsByTheFasterClock(t *testing.T) {
	now := time.Now()
	if got := elapsed(now, now.Add(time.Second)); got != time.Second {
		t.Errorf("%v", got)
	}
	awoken := now.Round(0).Add(time.Hour) // no monotonic reading
	if got := elapsed(now, awoken); got < time.Hour {
		t.Errorf("%v", got)
	}
}

func TestASlowAnswerDoesNotSetTheClock(t *testing.T) {
	t.Parallel()
	c := &clock{}
	asked := 0
	err := c.ask(func(now *int64) error {
		if asked++; asked == 1 {
			time.Sleep(clockError + 10*time.Millisecond)
		}
		*now = int64(asked)
		return nil
	})
	if err != nil || asked != 2 || c.now().Sub(Moment(2)) > clockError {
		t.Errorf("it was asked %d times, and the time is %v: %v", asked, c.now(), err)
	}
}
