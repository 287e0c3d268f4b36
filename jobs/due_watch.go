package jobs

import (
	"context"
	"maps"
	"slices"
	"time"
)

// watchDue polls the store until ctx ends, with one query for all kinds, for kinds that
// have due jobs, and nudges the workers of these.
func (r *Runner) watchDue(ctx context.Context) {
	warning := throttledWarning{log: r.Log, what: notClaimed}
	kinds := slices.Sorted(maps.Keys(r.workers))
	repeat(ctx, r.pace(), func() time.Duration {
		due, err := r.dueKinds(ctx, kinds)
		for _, kind := range due {
			r.Nudge(kind)
		}
		return r.pace() + warning.after(ctx, err)
	})
}

func (r *Runner) dueKinds(ctx context.Context, kinds []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Lease)
	defer cancel()
	return r.Store.Jobs.DueKinds(ctx, kinds)
}
