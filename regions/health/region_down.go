package health

import (
	"fmt"
	"math"
	"time"
)

// Down is the error of an endpoint without a reachable address: nothing is sent.
type Down struct {
	Region     string
	RetryAfter time.Duration // until the next trial: 1 to 60 seconds
}

func (d *Down) Error() string {
	return fmt.Sprintf("no address in %s can be reached; the next trial is due within %v", d.Region, d.RetryAfter)
}

// Bounds of the Retry-After for clients.
const (
	minRetryAfter = time.Second
	maxRetryAfter = time.Minute
)

// Check returns nil if an address can be called, else a *[Down].
func (s *Set) Check(now time.Duration) error {
	v := s.current(now)
	if len(v.usable) > 0 || len(v.trials) > 0 || len(v.unconfirmed) > 0 || len(v.drained) > 0 {
		return nil
	}
	return s.downError(v, now)
}

func (s *Set) downError(v *snapshot, now time.Duration) error {
	after := minRetryAfter // a trial is running
	if v.nextTrial != math.MaxInt64 {
		after = v.nextTrial - now
	}
	after = (after + time.Second - 1).Truncate(time.Second)
	return &Down{s.Region, max(minRetryAfter, min(after, maxRetryAfter))}
}
