package timing

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A watch looks at what it has, whatever was removed, and rests while it has nothing.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks [4]atomic.Int32
		w := Watch[int]{Every: time.Second, Look: func(of int, _ time.Time) { looks[of].Add(1) }}
		var places [4]Watched[int]
		pass := func(want ...int32) {
			t.Helper()
			time.Sleep(time.Second + time.Millisecond)
			synctest.Wait()
			for i := range looks {
				if got := looks[i].Swap(0); got != want[i] {
					t.Errorf("%d looks at %d, want %d", got, i, want[i])
				}
			}
		}
		for i := range places {
			w.Add(&places[i], i)
		}
		pass(1, 1, 1, 1)
		w.Remove(&places[2]) // from between others
		pass(1, 1, 0, 1)
		w.Remove(&places[0]) // the last one
		w.Remove(&places[3]) // the first one
		pass(0, 1, 0, 0)
		w.Remove(&places[1])
		pass(0, 0, 0, 0)
		if w.due {
			t.Error("an empty watch does not rest")
		}
		w.Add(&places[0], 0)
		pass(1, 0, 0, 0)
		w.Each(func(of int) {
			if of != 0 {
				t.Errorf("%d is watched", of)
			}
		})
		w.Remove(&places[0])
	})
}
