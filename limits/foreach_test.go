package limits

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

func TestForEach(t *testing.T) {
	var inside, most atomic.Int64
	done := make([]bool, 20)
	ForEach(3, len(done), func(i int) {
		n := inside.Add(1)
		defer inside.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		done[i] = true
	})
	for i, d := range done {
		if !d {
			t.Errorf("%d was left out", i)
		}
	}
	if most.Load() > 3 {
		t.Errorf("%d at a time", most.Load())
	}
	ForEach(1, 0, func(int) { t.Error("there was nothing to do") })
}

// What panics takes its caller along, when the others have ended, and no more.
func TestForEachPanics(t *testing.T) {
	broken := errors.New("broken")
	var ended atomic.Int64
	defer func() {
		err, ok := recover().(error)
		if !ok || !errors.Is(err, broken) || !strings.Contains(err.Error(), "TestForEachPanics") {
			t.Errorf("it ended with %v", err)
		}
		if ended.Load() != 9 {
			t.Errorf("%d others have ended", ended.Load())
		}
	}()
	ForEach(2, 10, func(i int) {
		if i == 4 {
			panic(broken)
		}
		ended.Add(1)
	})
	t.Error("it returned")
}
