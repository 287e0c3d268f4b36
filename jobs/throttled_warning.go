package jobs

import (
	"context"
	"time"

	"go.uber.org/zap"

	"portico/internal/timing"
)

const (
	warnEvery      = time.Minute
	longestOutage  = 2 * time.Second
	shortestOutage = 100 * time.Millisecond
)

// throttledWarning logs a lasting failure: when it begins, then once in a while, and
// when it is over.
type throttledWarning struct {
	log      *zap.Logger
	what     string
	failures int
	logged   time.Time
}

// after logs the error of a try, if it is due, and returns how much longer to wait before the next.
func (w *throttledWarning) after(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	if err == nil {
		if w.failures > 0 {
			w.log.Info("resolved: " + w.what)
		}
		w.failures = 0
		return 0
	}
	if w.failures++; w.failures == 1 || time.Since(w.logged) > warnEvery {
		w.logged = time.Now()
		w.log.Warn(w.what, zap.Error(err))
	}
	return timing.Backoff(2*shortestOutage, longestOutage, w.failures)
}
