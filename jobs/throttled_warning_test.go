package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// A store that is down is neither asked nor warned of without a pause.
func TestThrottledWarning(t *testing.T) {
	core, logged := observer.New(zapcore.DebugLevel)
	c := throttledWarning{log: zap.New(core), what: "it is down"}
	down := errors.New("down")
	var waited time.Duration
	for range 50 {
		pause := c.after(t.Context(), down)
		if pause < shortestOutage || pause > longestOutage {
			t.Fatalf("a pause of %v", pause)
		}
		waited += pause
	}
	if logged.Len() != 1 || waited < 50*time.Second {
		t.Errorf("%d messages, %v", logged.Len(), waited)
	}
	c.logged = c.logged.Add(-warnEvery)
	c.after(t.Context(), down)
	if logged.Len() != 2 {
		t.Error("it is not logged again after a while")
	}
	if first, second := c.after(t.Context(), nil), c.after(t.Context(), nil); first != 0 || second != 0 || logged.Len() != 3 {
		t.Error("its end is not logged once")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if c.after(ended, down) != 0 || logged.Len() != 3 {
		t.Error("the end of the runner is no fault of the store")
	}
}

func TestPausesGrowWithinBounds(t *testing.T) {
	r := Runner{Options: Options{Floor: 10 * time.Millisecond}}
	for attempts := range int64(80) {
		pause := r.pauseAfter(attempts)
		if pause < r.Floor || pause > 60*r.Floor {
			t.Errorf("%v after %d attempts", pause, attempts)
		}
		if attempts > 8 && pause < 30*r.Floor {
			t.Errorf("only %v after %d attempts", pause, attempts)
		}
	}
	r.Floor = time.Hour
	if pause := r.pauseAfter(3); pause != time.Hour {
		t.Errorf("%v, with a floor of an hour", pause)
	}
}
