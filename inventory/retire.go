package inventory

import (
	"context"
	"fmt"
	"time"

	"portico/inventory/engine"
	"portico/inventory/index"
)

// Retirement counts the store's records of a region that is gone for good.
type Retirement struct {
	Rows, Intents, Fences, WrittenRegions, Coverage, Strays, Operations int
	Notices                                                             int // under way, or for absent endpoints
	// Moving counts the IDs in the region that a move has under way: their records stay
	// until it ends.
	Moving int
	// Waiting has the first groups that are being deleted and have something in the region,
	// by subscription and key; Groups counts all.
	Waiting []GroupName
	Groups  int
}

// waitingShown bounds Retirement.Waiting.
const waitingShown = 100

// CallsUnderWayError refuses to retire a region while calls to it may be running: the
// replica that sent them may still have the region in its map.
type CallsUnderWayError struct {
	Region string
	Until  time.Time // when the last call has ended
}

func (e *CallsUnderWayError) Error() string {
	return fmt.Sprintf("inventory: calls to %s may be under way until %s", e.Region, e.Until.UTC().Format(time.RFC3339))
}

// Retirement counts the store's records of a region.
func (s *Store) Retirement(ctx context.Context, region string) (Retirement, error) {
	r := &retiring{Store: s, region: region}
	err := s.eachSubscription(ctx, func(sub Subscription) error { return r.count(ctx, sub.ID) })
	return r.found, err
}

// RetireRegion deletes the records of a region that the map no longer has and that will
// never be called again: its rows with their tags, locks and jobs, open writes, written
// regions, coverage, strays, polling URLs, and notices. It returns how many it deleted.
// Deletions of groups that waited for the region go on.
//
// It goes through all subscriptions in many short transactions. After an interruption
// another call deletes the rest. If a call to the region may be running, it deletes nothing
// and returns *CallsUnderWayError.
func (s *Store) RetireRegion(ctx context.Context, region string) (Retirement, error) {
	r := &retiring{Store: s, region: region}
	if err := s.eachSubscription(ctx, func(sub Subscription) error { return r.checkNoCalls(ctx, sub.ID) }); err != nil {
		return r.found, err
	}
	err := s.eachSubscription(ctx, func(sub Subscription) error { return r.forgetIn(ctx, sub) })
	if err == nil && s.Drains.Is(region) {
		err = s.Drains.End(ctx, region)
	}
	return r.found, err
}

// subscriptionsAtOnce bounds the subscriptions of one read.
const subscriptionsAtOnce = 500

func (s *Store) eachSubscription(ctx context.Context, visit func(Subscription) error) error {
	for after := ""; ; {
		page, err := s.AllSubscriptions(ctx, after, subscriptionsAtOnce)
		if err != nil {
			return err
		}
		for _, sub := range page {
			if err := visit(sub); err != nil {
				return err
			}
			after = sub.ID
		}
		if len(page) < subscriptionsAtOnce {
			return nil
		}
	}
}

// retiring is the retirement of a region under way.
type retiring struct {
	*Store
	region string
	found  Retirement
}

const (
	lastCallIn = `SELECT COALESCE(MAX(not_after), 0) FROM intents WHERE subscription = ? AND region = ? AND kind <> ? AND call_ended = 0`

	countRegionRows       = `SELECT COUNT(*) FROM resources WHERE subscription = ? AND type = ? AND region = ?`
	countRegionIntents    = `SELECT COUNT(*) FROM intents WHERE subscription = ? AND region = ? AND kind <> ?`
	countRegionMoves      = `SELECT COUNT(*) FROM intents WHERE subscription = ? AND region = ? AND kind = ?`
	countRegionFences     = `SELECT COUNT(*) FROM fences WHERE subscription = ? AND region = ?`
	countRegionWritten    = `SELECT COUNT(*) FROM written_regions WHERE subscription = ? AND region = ?`
	countRegionCoverage   = `SELECT COUNT(*) FROM coverage WHERE subscription = ? AND region = ?`
	countRegionStrays     = `SELECT COUNT(*) FROM strays WHERE subscription = ? AND region = ?`
	countRegionOperations = `SELECT COUNT(*) FROM operations WHERE subscription = ? AND region = ?`
	countRegionAbsent     = `SELECT COUNT(*) FROM absent_endpoints WHERE subscription = ? AND region = ?`
)

// checkNoCalls returns *CallsUnderWayError unless every call to the region has ended.
func (r *retiring) checkNoCalls(ctx context.Context, sub string) error {
	var last int64
	if err := r.engine.Read(ctx).One(lastCallIn, sub, r.region, index.Move)(&last); err != nil {
		return err
	}
	if last > engine.Micros(r.engine.Now()) {
		return &CallsUnderWayError{Region: r.region, Until: engine.TimeOf(last)}
	}
	return nil
}

func (r *retiring) count(ctx context.Context, sub string) error {
	from := r.engine.Read(ctx)
	if _, err := r.waitingGroups(ctx, sub); err != nil {
		return err
	}
	types, err := r.types(ctx, sub)
	if err != nil {
		return err
	}
	add := func(to *int, statement string, args ...any) error {
		n := 0
		err := from.One(statement, args...)(&n)
		*to += n
		return err
	}
	for _, typ := range types {
		if err := add(&r.found.Rows, countRegionRows, sub, typ, r.region); err != nil {
			return err
		}
	}
	for _, of := range []struct {
		to        *int
		statement string
	}{
		{&r.found.WrittenRegions, countRegionWritten}, {&r.found.Coverage, countRegionCoverage}, {&r.found.Strays, countRegionStrays},
		{&r.found.Operations, countRegionOperations}, {&r.found.Fences, countRegionFences}, {&r.found.Notices, countRegionAbsent},
	} {
		if err := add(of.to, of.statement, sub, r.region); err != nil {
			return err
		}
	}
	notices, err := r.notices(from, sub)
	if err != nil {
		return err
	}
	r.found.Notices += len(notices)
	if err := add(&r.found.Intents, countRegionIntents, sub, r.region, index.Move); err != nil {
		return err
	}
	return add(&r.found.Moving, countRegionMoves, sub, r.region, index.Move)
}

// forgetIn deletes the region's records in one subscription, and then makes the waiting
// deletions due.
func (r *retiring) forgetIn(ctx context.Context, sub Subscription) error {
	waiting, err := r.waitingGroups(ctx, sub.ID)
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, string) error{
		r.forgetRows, r.forgetIntents, r.forgetFences, r.forgetStrays, r.forgetWrittenRegions, r.forgetCoverage, r.forgetOperations, r.forgetNotices,
	} {
		if err := part(ctx, sub.ID); err != nil {
			return err
		}
	}
	moving := 0
	if err := r.engine.Read(ctx).One(countRegionMoves, sub.ID, r.region, index.Move)(&moving); err != nil {
		return err
	}
	r.found.Moving += moving
	return r.resumeDeletions(ctx, waiting)
}
