package engine

import (
	"testing"
	"time"
)

func TestASlowAnswerDoesNotSetTheClock(t *testing.T) {
	t.Parallel()
	c := &clock{}
	calls := 0
	err := c.syncWith(func(now *int64) error {
		if calls++; calls == 1 {
			time.Sleep(clockError + 10*time.Millisecond)
		}
		*now = int64(calls)
		return nil
	})
	if err != nil || calls != 2 || c.now().Sub(TimeOf(2)) > clockError {
		t.Errorf("it was asked %d times, and the time is %v: %v", calls, c.now(), err)
	}
}
