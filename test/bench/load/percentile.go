package load

import (
	"math"
	"slices"
	"time"
)

// percentile returns a percentile, share 0 to 1, by the nearest rank. It sorts the times.
func percentile(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	rank := int(math.Ceil(share * float64(len(times))))
	return times[min(max(rank, 1), len(times))-1]
}
