package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/internal/plural"
	"portico/internal/timing"
	"portico/jobs/sweep"
)

const (
	// mostUncovered bounds the subscriptions that are examined for unlisted regions.
	mostUncovered = 1000
	// mostNamed bounds the subscriptions, regions or types that one sentence names.
	mostNamed = 3
)

// creations finds subscriptions whose new resources depend on regions that were not listed.
// Subscriptions with the same regions and types are one problem.
func (s Sources) creations(ctx context.Context, f *finding) error {
	return s.findCreations(ctx, f, s.Store.Now())
}

func (s Sources) findCreations(ctx context.Context, f *finding, now time.Time) error {
	found, err := s.Sweeps.Uncovered(ctx, "", mostUncovered)
	if err != nil {
		return fmt.Errorf("find resources without a row: %w", err)
	}
	var groups []*creations
	for _, sub := range found {
		c := creationsOf(sub)
		if len(c.regions) == 0 {
			continue
		}
		i := slices.IndexFunc(groups, func(g *creations) bool { return g.key() == c.key() })
		if i < 0 {
			i, groups = len(groups), append(groups, &c)
		} else {
			groups[i].since = timing.Earlier(groups[i].since, c.since)
		}
		groups[i].ids = append(groups[i].ids, sub.Subscription.ID)
		groups[i].names = append(groups[i].names, cmp.Or(sub.Subscription.DisplayName, sub.Subscription.ID))
	}
	for _, g := range groups {
		f.add(g.problem(now, f.causeIn(g.regions)))
	}
	return nil
}

// creations is a group of subscriptions whose new resources depend on the same regions.
type creations struct {
	ids, names     []string // of the subscriptions
	blocked        bool     // the regions do not answer
	regions, types []string // no types means all regional types
	restored       bool
	since          time.Time
}

// creationsOf returns what new resources in a subscription depend on: the regions that do not
// answer or, if all answer, the regions that are asked first.
func creationsOf(sub sweep.Uncovered) creations {
	c := creations{restored: sub.Restored, since: sub.Since}
	c.blocked = slices.ContainsFunc(sub.Regions, func(r sweep.UncoveredRegion) bool { return len(r.Unreachable) > 0 })
	for _, r := range sub.Regions {
		types := r.Types
		if c.blocked {
			types = r.Unreachable
		}
		if len(types) > 0 {
			c.regions, c.types = append(c.regions, r.Region), append(c.types, types...)
		}
	}
	slices.Sort(c.types)
	if c.types = slices.Compact(c.types); !slices.Contains(c.regions, arm.GlobalLocation) && len(c.types) == sub.RegionalTypes {
		c.types = nil
	}
	return c
}

func (c *creations) key() string { return fmt.Sprint(c.blocked, c.restored, c.regions, c.types) }

func (c *creations) problem(now time.Time, cause string) api.Problem {
	p := api.Problem{Code: api.RegionsUnlisted, CausedBy: cause, Since: since(c.since), Count: len(c.ids)}
	if len(c.ids) == 1 {
		p.Subject = "/subscriptions/" + c.ids[0]
	}
	where, what := nameList(c.names, "subscription", "subscriptions"), "resources"
	if len(c.types) > 0 {
		what += " of " + nameList(c.types, "type", "types")
	}
	regions, have := nameList(c.regions, "region", "regions"), "has"
	if len(c.regions) > 1 {
		have = "have"
	}
	when := "yet"
	if c.restored {
		when = "since the restore"
	}
	unlisted := fmt.Sprintf("%s not been listed %s, %s", have, when, inWords(now.Sub(c.since)))
	if c.blocked {
		p.Code, p.Summary = api.CreationsHeld, fmt.Sprintf("New %s in %s cannot be created: %s %s.", what, where, regions, unlisted)
		return p
	}
	p.Summary = fmt.Sprintf("New %s in %s are created only after asking %s, which %s.", what, where, regions, unlisted)
	return p
}

// nameList joins at most mostNamed names, and the number of further ones, with commas and
// "and".
func nameList(names []string, one, many string) string {
	last := len(names) - 1
	switch {
	case len(names) > mostNamed:
		more := len(names) - mostNamed
		return strings.Join(names[:mostNamed], ", ") + " and " + plural.Count(more, "more "+one, "more "+many)
	case last == 0:
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// inWords returns a duration in its largest unit.
func inWords(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/day)
}
