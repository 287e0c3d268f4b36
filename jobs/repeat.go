package jobs

import (
	"context"
	"time"
)

// repeat calls part again and again until ctx ends, after a first pause and then after
// those that it returns.
func repeat(ctx context.Context, first time.Duration, part func() time.Duration) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(part())
	}
}
