package plural

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 regions", 1: "1 region", 2: "2 regions"} {
		if got := Count(n, "region", "regions"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
