package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/probe"
	"portico/regions"
)

// Uncovered is a subscription with regions that were not listed in full. Before a resource is
// created there, the regions that may hold it are probed. While one of them does not answer,
// nothing can be created, in any region.
type Uncovered struct {
	Subscription inventory.Subscription
	Regions      []UncoveredRegion // by name
	// Since is the time since which the subscription is not covered.
	Since time.Time
	// Restored: it ended with a restore of the store.
	Restored bool
	// RegionalTypes is the number of types that clients create on their own, in a region.
	RegionalTypes int
	// Job is the sweep that covers the subscription; the zero Job if there is none.
	Job jobrow.Job
}

// UncoveredRegion is a region that has not been listed in full in a subscription.
type UncoveredRegion struct {
	Region string
	Lists  int // the number of types whose lists are missing
	// Types are the full names of the types whose creation, in any region, requires a probe of
	// this one; none if the subscription allows no creations. Silent are the types among them
	// whose last probe the region did not answer.
	Types, Unreachable []string
	Reason             string // of the latest failure; "" if there was none
}

const (
	// mostUncovered bounds the subscriptions that one search returns.
	mostUncovered      = 1000
	subscriptionsAPage = 500
	// jobsRead bounds the jobs whose reports are read for the regions that do not answer.
	jobsRead = 200
)

// covers remembers which subscriptions are covered throughout, by their version: coverage
// ends only with a subscription, with a region that leaves the map, or with a restore.
type covers struct {
	mu  sync.Mutex
	all map[string]int64
}

func (c *covers) has(sub inventory.Subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	version, known := c.all[sub.ID]
	return known && version == sub.Version
}

func (c *covers) add(sub inventory.Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]int64{}
	}
	c.all[sub.ID] = sub.Version
}

// Uncovered lists subscriptions with regions that have not been listed in full, in the order of
// their ids, after a given one: at most limit, and never more than 1000.
func (s *Sweeper) Uncovered(ctx context.Context, after string, limit int) ([]Uncovered, error) {
	look, err := s.newSearch(ctx)
	if err != nil {
		return nil, err
	}
	var found []Uncovered
	for limit = min(limit, mostUncovered); ; {
		page, err := s.Prober.Store.Coverage.UncoveredSubscriptions(ctx, after, subscriptionsAPage)
		if err != nil {
			return nil, fmt.Errorf("list the subscriptions that are not listed in full: %w", err)
		}
		for _, sub := range page {
			after = sub.ID
			one, err := look.uncoveredAt(ctx, sub)
			if err != nil {
				return nil, err
			}
			if len(one.Regions) == 0 {
				continue
			}
			if found = append(found, one); len(found) == limit {
				return found, nil
			}
		}
		if len(page) < subscriptionsAPage {
			return found, nil
		}
	}
}

// UncoveredIn returns the regions in which one subscription has not been listed in full. It has no
// regions if there are none, or no such subscription.
func (s *Sweeper) UncoveredIn(ctx context.Context, id string) (found Uncovered, err error) {
	sub, err := s.Prober.Store.Subscription(ctx, id)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return found, nil
	case err != nil || sub.Covered || sub.State == inventory.Deleted:
		return found, err
	}
	look, err := s.newSearch(ctx)
	if err != nil {
		return found, err
	}
	return look.uncoveredAt(ctx, sub)
}

// placeName names the types of a provider in a region.
type placeName struct{ region, provider string }

// placeState is the last known state of a place, from the reports of sweeps.
type placeState struct {
	at     time.Time
	silent bool
	reason string
}

// uncoveredSearch is one search for regions that are not covered.
type uncoveredSearch struct {
	*Sweeper
	types  []*regions.ResourceType
	places map[placeName]placeState
	// regional is the number of types that clients create on their own, in a region.
	regional int
}

// newSearch reads from the sweeps under way which places do not answer.
func (s *Sweeper) newSearch(ctx context.Context) (*uncoveredSearch, error) {
	l := &uncoveredSearch{Sweeper: s, types: tracked(s.Prober.Map), places: map[placeName]placeState{}}
	for _, t := range l.types {
		if !belowTracked(t) && t.Routing == regions.Regional {
			l.regional++
		}
	}
	open, err := s.Prober.Store.Jobs.ListOpen(ctx, Job, jobsRead)
	for _, job := range open {
		if p, unreadable := readPayload(job.Payload); unreadable == nil {
			l.addReport(p.missing())
		}
	}
	return l, err
}

func (l *uncoveredSearch) addReport(missing []UnlistedPlace) {
	for _, at := range missing {
		name := placeName{at.Region, at.Provider}
		if at.At.After(l.places[name].at) {
			l.places[name] = placeState{at.At, at.Silent, at.Reason}
		}
	}
}

// belowTracked reports whether a type's instances are created in the region of a parent.
func belowTracked(t *regions.ResourceType) bool {
	for above := t.Parent; above != nil; above = above.Parent {
		if above.Kind == regions.Tracked {
			return true
		}
	}
	return false
}

// uncoveredAt returns the uncovered regions of one subscription.
func (l *uncoveredSearch) uncoveredAt(ctx context.Context, sub inventory.Subscription) (found Uncovered, err error) {
	if l.covers.has(sub) {
		return found, nil
	}
	coverage, err := l.Prober.Store.Coverage.SweptRegions(ctx, sub.ID)
	if err != nil {
		return found, fmt.Errorf("read the coverage of a subscription: %w", err)
	}
	job, err := l.Prober.Store.Jobs.Get(ctx, sub.ID, jobrow.ID(Job, Order{Subscription: sub.ID, Uncovered: true}.subject()))
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return found, err
	}
	if p, unreadable := readPayload(job.Payload); unreadable == nil {
		l.addReport(p.missing())
	}
	found = Uncovered{Subscription: sub, RegionalTypes: l.regional, Job: job}
	unlistable := false
	for _, t := range l.types {
		for _, region := range t.EffectiveRegions() {
			if slices.ContainsFunc(coverage, func(c inventory.SweptRegion) bool { return c.Type == t.Key && c.Region == region }) {
				continue
			}
			unlistable = unlistable || listsOf(t) == 0
			l.add(&found, t, region, coverage)
		}
	}
	if len(found.Regions) == 0 && !unlistable {
		l.covers.add(sub)
	}
	slices.SortFunc(found.Regions, func(a, b UncoveredRegion) int { return strings.Compare(a.Region, b.Region) })
	found.Since, found.Restored = l.since(sub, job, coverage)
	return found, nil
}

// add adds a region where a type is not covered. Types that no sweep can list count only
// while the region is silent.
func (l *uncoveredSearch) add(found *Uncovered, t *regions.ResourceType, region string, coverage []inventory.SweptRegion) {
	heard := l.lastState(t, region, coverage)
	if listsOf(t) == 0 && (!heard.silent || belowTracked(t)) {
		return
	}
	i := slices.IndexFunc(found.Regions, func(r UncoveredRegion) bool { return r.Region == region })
	if i < 0 {
		i = len(found.Regions)
		found.Regions = append(found.Regions, UncoveredRegion{Region: region})
	}
	r := &found.Regions[i]
	r.Lists++
	if r.Reason == "" {
		r.Reason = heard.reason
	}
	if state := found.Subscription.State; belowTracked(t) || state == inventory.Warned || state == inventory.Disabled {
		return
	}
	r.Types = append(r.Types, t.FullName)
	if heard.silent {
		r.Unreachable, r.Reason = append(r.Unreachable, t.FullName), heard.reason
	}
}

// lastState returns the last known state of the endpoint that has a type in a region: from the
// report of a sweep, from a search for a resource, or from the coverage there.
func (l *uncoveredSearch) lastState(t *regions.ResourceType, region string, coverage []inventory.SweptRegion) placeState {
	last := l.places[placeName{region, t.Provider.Namespace}]
	for _, c := range coverage {
		if of := l.Prober.Map.Type(c.Type); c.Region == region && of != nil && of.Provider == t.Provider && c.Swept.After(last.at) {
			last = placeState{at: c.Swept}
		}
	}
	if l.Searches == nil {
		return last
	}
	if search := l.Searches.LastReply(t.Endpoint(region)); search.At.After(last.at) {
		last = placeState{at: search.At, silent: !search.Answered}
		if last.silent {
			last.reason = "it did not say whether a resource exists there"
		}
	}
	return last
}

// Searches returns the result of the last search for a single resource at an endpoint.
type Searches interface {
	LastReply(e *regions.Endpoint) probe.LastReply
}

// since returns the time since which a subscription is not covered, and whether that is due to a
// restore. If a part of it was covered before its present sweep was ordered, a region or a type
// was added to the map then.
func (l *uncoveredSearch) since(sub inventory.Subscription, job jobrow.Job, coverage []inventory.SweptRegion) (since time.Time, restored bool) {
	since, at := sub.Created, l.Prober.Store.Events.Restored()
	if at.After(since) {
		since, restored = at, true
	}
	before := slices.ContainsFunc(coverage, func(c inventory.SweptRegion) bool { return c.Swept.Before(job.Created) })
	if before && job.Created.After(since) {
		return job.Created, false
	}
	return since, restored
}
