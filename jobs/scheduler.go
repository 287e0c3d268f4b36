package jobs

import (
	"context"
	"maps"
	"slices"
	"time"
)

// scheduler polls the store, with one query for all kinds, for kinds that have due jobs,
// and nudges their workers.
type scheduler struct{ *Runner }

func (s *scheduler) run(ctx context.Context) {
	warning := throttledWarning{log: s.Log, what: notClaimed}
	kinds := slices.Sorted(maps.Keys(s.workers))
	repeat(ctx, s.pace(), func() time.Duration {
		due, err := s.dueKinds(ctx, kinds)
		for _, kind := range due {
			s.Nudge(kind)
		}
		return s.pace() + warning.after(ctx, err)
	})
}

func (s *scheduler) dueKinds(ctx context.Context, kinds []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Lease)
	defer cancel()
	return s.Store.Jobs.DueKinds(ctx, kinds)
}
