package load

import (
	"math"
	"slices"
	"time"
)

// percentile is the least of the times that so much of them, 0 to 1, do not exceed: the
// nearest rank. It sorts them.
func percentile(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	rank := int(math.Ceil(share * float64(len(times))))
	return times[min(max(rank, 1), len(times))-1]
}
