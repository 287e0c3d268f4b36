package garbage

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

func percentNow() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// held keeps memory live, or makes it garbage.
var held [][]byte

func hold(t *testing.T, size int) {
	t.Helper()
	t.Cleanup(func() { held = nil })
	held = nil
	for range size / mib {
		held = append(held, make([]byte, mib))
	}
}

// pacing paces garbage until the test ends. A tick has been dealt with once the next but one
// begins.
func pacing(t *testing.T, headroom int64) (tick func()) {
	t.Helper()
	before := debug.SetGCPercent(-1)
	ticks := make(chan time.Time)
	stop := begin(headroom, ticks)
	t.Cleanup(func() {
		stop()
		debug.SetGCPercent(before)
	})
	return func() { ticks <- time.Time{} }
}

// The less is live the more garbage may lie beside it, but never more than both the
// headroom and what is live.
func TestPercentFollowsLiveMemory(t *testing.T) {
	tick := pacing(t, 64*mib)
	for _, c := range []struct{ live, least, most int }{{0, 400, 400}, {20, 180, 330}, {100, 100, 100}, {0, 400, 400}} {
		hold(t, c.live*mib)
		runtime.GC()
		tick()
		tick()
		if got := percentNow(); got < c.least || got > c.most {
			t.Errorf("%d MiB live: %d%%, want from %d%% to %d%%", c.live, got, c.least, c.most)
		}
	}
}

// Memory is given back once the process rests after a burst, and once for each; never
// while there is work, nor for little.
func TestMemoryIsGivenBackAtRest(t *testing.T) {
	const burst, work, little = 64, 10, 1 // work may be seen in two parts
	rest := make([]int, restTicks+1)      // the last one begins when memory has been given back
	for name, c := range map[string]struct {
		allocated []int // MiB in each tick
		want      uint64
	}{
		"a burst and rest":    {append([]int{burst}, rest...), 1},
		"rest that goes on":   {slices.Concat([]int{burst}, rest, rest, rest, rest), 1},
		"two bursts":          {slices.Concat([]int{burst}, rest, []int{burst}, rest), 2},
		"a burst interrupted": {slices.Concat([]int{burst}, rest[3:], []int{burst}, rest[3:]), 0},
		"work without an end": {slices.Repeat([]int{work, 0, little, 0}, 20), 0},
		"little":              {slices.Concat([]int{little}, rest, []int{little}, rest, rest), 0},
	} {
		t.Run(name, func(t *testing.T) {
			tick := pacing(t, 64*mib)
			for range restTicks + 2 { // what was allocated before
				tick()
			}
			held = nil
			runtime.GC()
			forced, mapped := given(), mappedNow()
			for _, size := range c.allocated {
				hold(t, size*mib)
				held = nil
				tick()
			}
			tick()
			if got := (given() - forced) / 2; got != c.want { // each collects twice
				t.Errorf("memory was given back %d times, want %d", got, c.want)
			}
			if left := mappedNow(); c.want > 0 && left > mapped+burst/2*mib {
				t.Errorf("%d MiB are mapped, %d before", left/mib, mapped/mib)
			}
		})
	}
}

func given() uint64 { return read("/gc/cycles/forced:gc-cycles") }

func mappedNow() uint64 {
	return read("/memory/classes/total:bytes") - read("/memory/classes/heap/released:bytes")
}

func read(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// What the environment says is left alone.
func TestTheEnvironmentWins(t *testing.T) {
	t.Setenv("GOGC", "50")
	t.Setenv("GOMEMLIMIT", "1GiB")
	percent, limit := percentNow(), debug.SetMemoryLimit(-1)
	synctest.Test(t, func(t *testing.T) {
		set, stop, err := Start(64*mib, 0.9)
		defer stop()
		time.Sleep(10 * tick)
		if percentNow() != percent || debug.SetMemoryLimit(-1) != limit || set != limit || err != nil {
			t.Errorf("%d%%, limit %d; %d, %v", percentNow(), debug.SetMemoryLimit(-1), set, err)
		}
	})
}

// Who ends the pacing has Go's own percentage back, and no goroutine left.
func TestPacingEnds(t *testing.T) {
	ticks := make(chan time.Time)
	stop := begin(64*mib, ticks)
	ticks <- time.Time{}
	stop()
	if got := percentNow(); got != 100 {
		t.Errorf("%d%%", got)
	}
	select {
	case ticks <- time.Time{}:
		t.Error("it still takes ticks")
	default:
	}
}
