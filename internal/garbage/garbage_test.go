package garbage

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

const mib = 1 << 20

// The less is live the more garbage may lie beside it, but never more than both the
// headroom and what is live.
func TestPercentFallsAsLiveMemoryGrows(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 400}, {8 * mib, 400}, {16 * mib, 400}, {32 * mib, 200}, {64 * mib, 100}, {1024 * mib, 100}} {
		got := percentFor(c.live, 64*mib)
		if got != c.want {
			t.Errorf("%d MiB live: %d%%, want %d%%", c.live/mib, got, c.want)
		}
		if garbage := c.live / 100 * uint64(got); garbage > max(64*mib, c.live) {
			t.Errorf("%d MiB live: %d MiB of garbage", c.live/mib, garbage/mib)
		}
	}
}

func percentNow() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// The percentage follows live memory while the process runs, until the end.
func TestPercentFollowsLiveMemory(t *testing.T) {
	none := func(string) string { return "" }
	before := percentNow()
	_, stop := Start(Options{Headroom: 64 * mib, Share: 0.9, Getenv: none})
	collected := func(what string, holds func(percent int) bool) {
		t.Helper()
		harness.Await(t, time.Minute, what, func() bool { runtime.GC(); return holds(percentNow()) })
	}
	collected("a high percentage", func(p int) bool { return p == mostPercent })
	held := make([][]byte, 100)
	for i := range held {
		held[i] = make([]byte, mib)
	}
	collected("a low one", func(p int) bool { return p == leastPercent })
	runtime.KeepAlive(held)
	clear(held)
	collected("a high one again", func(p int) bool { return p == mostPercent })
	stop()
	for range 3 {
		runtime.GC()
	}
	if percentNow() != before {
		t.Errorf("%d%% at the end, %d%% before", percentNow(), before)
	}
}

// Memory is given back once a burst is followed by rest, and where much is known to be
// free; never while there is work, and not again for what giving back takes.
func TestMemoryIsGivenBackAfterABurst(t *testing.T) {
	const busy, idle = restTick, restTick / 100
	rests := int(restsAfter / restTick)
	for name, c := range map[string]struct {
		spent []time.Duration // in each tick; 0: as many idle ones as it takes to rest
		state memory
		want  int
	}{
		"a burst and rest":                {[]time.Duration{busy, 0}, memory{mapped: 300 * mib}, 1},
		"two bursts":                      {[]time.Duration{busy, 0, busy, 0, 0}, memory{mapped: 300 * mib}, 3},
		"rest that goes on":               {append([]time.Duration{busy}, make([]time.Duration, 20)...), memory{mapped: 300 * mib}, afterABurst},
		"work without an end":             {slices.Repeat([]time.Duration{busy, idle, idle}, 20), memory{mapped: 300 * mib, idle: 200 * mib}, 0},
		"a burst that left little":        {[]time.Duration{busy, 0, 0}, memory{mapped: 30 * mib}, 0},
		"much that is free without burst": {[]time.Duration{busy, 0, 0}, memory{mapped: 30 * mib, idle: 20 * mib}, 1},
	} {
		used, given := time.Duration(0), 0
		r := &rest{next: restsAfter, used: func() time.Duration { return used }, state: func() memory { return c.state }}
		r.free = func() {
			given++
			used += busy // which is no burst
			c.state.idle = 0
		}
		for _, spent := range c.spent {
			n := 1
			if spent == 0 {
				n, spent = rests, idle
			}
			for range n {
				used += spent
				r.tick(restTick)
			}
		}
		if given != c.want {
			t.Errorf("%s: memory was given back %d times, want %d", name, given, c.want)
		}
	}
}

// What is free, and what was allocated since the last collection, is known; after memory
// was given back there is little of either.
func TestWhatIsFreeIsKnown(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	pool := sync.Pool{}
	held := make([][]byte, 64)
	for i := range held {
		held[i] = make([]byte, mib)
	}
	pool.Put(&held)
	before := readMemory()
	GiveBack()
	after := readMemory()
	runtime.KeepAlive(&pool)
	if before.mapped < 64*mib || before.idle < 32*mib {
		t.Errorf("of 64 MiB of garbage %d are known, of %d that are mapped", before.idle/mib, before.mapped/mib)
	}
	if after.idle > 16*mib || after.mapped > before.mapped-32*mib {
		t.Errorf("%d MiB were mapped, %d are, of which %d are free", before.mapped/mib, after.mapped/mib, after.idle/mib)
	}
}

// What the environment says is left alone.
func TestTheEnvironmentWins(t *testing.T) {
	percent, limit := percentNow(), debug.SetMemoryLimit(-1)
	set, stop := Start(Options{Headroom: 64 * mib, Share: 0.9, Getenv: func(string) string { return "50" }})
	defer stop()
	runtime.GC()
	if percentNow() != percent || debug.SetMemoryLimit(-1) != limit || set != 0 {
		t.Errorf("%d%%, limit %d, %d", percentNow(), debug.SetMemoryLimit(-1), set)
	}
}

// The least bound of all groups above the process counts, of either version.
func TestContainerMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none":                  {nil, math.MaxInt64},
		"second version":        {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1000\n"}, 1000},
		"in a container":        {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2000\n"}, 2000},
		"path from the outside": {map[string]string{"proc/self/cgroup": "0::/kube/pod\n", "sys/fs/cgroup/memory.max": "2000\n"}, 2000},
		"first version":         {map[string]string{"proc/self/cgroup": "5:cpu:/x\n4:memory:/x\n0::/\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 3000},
		"no bound":              {map[string]string{"proc/self/cgroup": "4:memory:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n"}, math.MaxInt64},
		"not to be read":        {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "much\n"}, math.MaxInt64},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			full := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := containerMemory(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
