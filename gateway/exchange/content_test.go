package exchange

import "testing"

// Content has memory as it arrives, and no more than a byte beyond its end.
func TestMemoryOfContent(t *testing.T) {
	for _, c := range []struct {
		size, limit int64
		want        []int64
	}{
		{0, 4 << 20, []int64{1}},
		{100, 4 << 20, []int64{101}},
		{firstMemory - 1, 4 << 20, []int64{firstMemory}},
		{3*firstMemory + 5, 4 << 20, []int64{firstMemory, 2 * firstMemory, 3*firstMemory + 6}},
		{-1, 4 * firstMemory, []int64{firstMemory, 2 * firstMemory, 4 * firstMemory, 4*firstMemory + 1}},
		{-1, 100, []int64{101}},
	} {
		has := int64(0)
		for _, want := range c.want {
			if has = moreMemory(has, c.size, c.limit); has != want {
				t.Errorf("%d of %d: %d, want %d", c.size, c.limit, has, want)
			}
		}
	}
}

func TestMegabytes(t *testing.T) {
	for n, want := range map[int64]string{4 << 20: "4 MB", 1 << 20: "1 MB", 1<<20 + 1: "1048577 bytes", 1000: "1000 bytes"} {
		if got := megabytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
