package admin

import (
	"context"
	"fmt"
	"math"
	"strings"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/jobs/sweep"
)

// Positions in the list of doubts, which has unlisted regions first and then resources: after
// one unlisted region, or after all of them. Positions among resources are the store's.
const (
	afterUnlisted = "unlisted/" // a subscription, a slash, a region
	afterRegions  = "regions"
)

// unlistedDoubts returns at most limit regions that were not listed in full in a subscription,
// or in any if it is "", after a position. next is the position after them, or "" if there are
// no more.
func (l *listener) unlistedDoubts(ctx context.Context, subscription, after string, limit int) (doubts []api.Doubt, next string, err error) {
	sub, region, _ := strings.Cut(strings.TrimPrefix(after, afterUnlisted), "/")
	if after != "" && !arm.ValidGUID(sub) {
		return nil, "", inventory.ErrInvalidCursor
	}
	var found []sweep.Uncovered
	if one := max(sub, subscription); one != "" {
		at, err := l.Sweeps.UncoveredIn(ctx, one)
		if err != nil {
			return nil, "", err
		}
		found = append(found, at)
	}
	if subscription == "" {
		others, err := l.Sweeps.Uncovered(ctx, sub, min(limit+1, math.MaxInt32))
		if err != nil {
			return nil, "", fmt.Errorf("find resources without a row: %w", err)
		}
		found = append(found, others...)
	}
	for _, at := range found {
		for _, r := range at.Regions {
			if at.Subscription.ID == sub && r.Region <= region {
				continue
			}
			if len(doubts) == limit {
				return doubts, next, nil
			}
			doubts, next = append(doubts, l.unlistedDoubt(at, r)), afterUnlisted+at.Subscription.ID+"/"+r.Region
		}
	}
	return doubts, "", nil
}

// unlistedDoubt describes a region that was not listed in full in a subscription.
func (l *listener) unlistedDoubt(at sweep.Uncovered, r sweep.UncoveredRegion) api.Doubt {
	w := api.Waiting{Reason: api.RegionUnlisted, Region: r.Region, Since: at.Since, LastOutcome: r.Reason}
	w.Message = "The region has not been listed completely yet, so the index may lack some of its resources."
	if at.Restored {
		w.Message = "The region has not been listed completely since the store was restored, so the index may lack some of its resources."
	}
	switch {
	case len(r.Unreachable) > 0:
		w.Message += " It did not answer the latest call. Until it does, no resource can be created in the subscription that might already exist " +
			"there."
	case len(r.Types) > 0:
		w.Message += " It is asked before a resource is created in the subscription, in any region."
	}
	w.Command = "portico sweep --subscription " + at.Subscription.ID
	if job := at.Job; job.Kind != "" && !job.State.Ended() {
		w.Job, w.Command = job.Name(), command("jobs", "show", job.Name())
		if job.Owner == "" {
			w.Next = &job.Due
		}
	}
	return api.Doubt{ID: "/subscriptions/" + at.Subscription.ID, Region: r.Region, Flags: []string{}, Why: []api.Waiting{w}}
}
