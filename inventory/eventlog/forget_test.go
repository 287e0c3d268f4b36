package eventlog

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What is too much is taken from those that have most, and leaves them alike.
func TestLevel(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		n      int64
		want   []int64
	}{
		{nil, 5, []int64{}},
		{[]int64{10}, 3, []int64{3}},
		{[]int64{10, 4}, 3, []int64{3}},
		{[]int64{10, 9}, 3, []int64{2, 1}},
		{[]int64{5, 5, 5}, 2, []int64{1, 1, 0}},
		{[]int64{2, 1}, 9, []int64{2, 1}},
	} {
		if got := cutToLevel(c.counts, c.n); !slices.Equal(got, c.want) {
			t.Errorf("of %v, %d are taken as %v, want %v", c.counts, c.n, got, c.want)
		}
	}
	for range 10_000 {
		counts := make([]int64, 1+rand.IntN(6))
		all := int64(0)
		for i := range counts {
			counts[i] = 1 + rand.Int64N(20)
			all += counts[i]
		}
		slices.Sort(counts)
		slices.Reverse(counts)
		n := 1 + rand.Int64N(all+3)
		taken := cutToLevel(counts, n)
		left, sum := slices.Clone(counts), int64(0)
		for i, take := range taken {
			left[i], sum = left[i]-take, sum+take
		}
		highest := slices.Max(left)
		for i, l := range left {
			if l < 0 || i < len(taken) && taken[i] > 0 && l < highest-1 {
				t.Fatalf("of %v, %d are taken as %v", counts, n, taken)
			}
		}
		if sum != min(n, all) {
			t.Fatalf("of %v, %d are taken as %v, %d", counts, n, taken, sum)
		}
	}
}
