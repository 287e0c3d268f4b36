package jobs

import (
	"context"
	"time"

	"portico/inventory/tags"
)

// The values of tags are compared with the resources a part at a time, within a fiftieth
// of one connection's time. If some values are unknown yet, it may take a fifth: then
// the values of a million tags that an earlier version wrote are known within the hour.
const (
	checkShare = 50
	mendShare  = 5
	checkPause = time.Second     // at least, between two parts that mend nothing
	checkEvery = time.Hour       // at least, between two comparisons
	checkTime  = 5 * time.Second // for one part
)

// checkTags compares the values of tags repeatedly until ctx ends.
func (r *Runner) checkTags(ctx context.Context) {
	var check tags.Check
	repeat(ctx, r.pace(), func() time.Duration {
		started, before := time.Now(), check.Mended
		done, err := r.checkPart(ctx, &check)
		pause := max(checkPause, checkShare*time.Since(started))
		if check.Mended > before {
			pause = mendShare * time.Since(started)
		}
		switch {
		case err != nil: // runHousekeeping warns of a store that is down
			pause = max(pause, countEvery)
		case done:
			check, pause = tags.Check{}, checkEvery
		}
		return pause
	})
}

func (r *Runner) checkPart(ctx context.Context, check *tags.Check) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return r.Store.Tags.Continue(ctx, check)
}
