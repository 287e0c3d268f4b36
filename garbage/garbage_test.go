package garbage

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
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
