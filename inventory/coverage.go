package inventory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

const (
	putCoverage = `INSERT INTO coverage (subscription, type, region, swept) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, type, region) DO UPDATE SET swept = excluded.swept`
	selectCoverage = `SELECT region FROM coverage WHERE subscription = ? AND type = ? ORDER BY region`
	coverageOf     = `SELECT type, region, swept FROM coverage WHERE subscription = ? ORDER BY type, region`
	// listUncovered leaves out Deleted subscriptions, which no sweep visits.
	listUncovered = `SELECT ` + subscriptionColumns + ` FROM subscriptions
		WHERE covered = 0 AND state <> ? AND subscription > ? ORDER BY subscription LIMIT ?`
)

// Coverage has the methods for regions where sweeps have seen all resources of a type.
type Coverage struct{ store *Store }

// Uncovered returns the regions, out of the given ones, where the index may lack
// resources of the type: the absence of a row there does not prove the absence of a
// resource. In a covered subscription, and after a complete sweep, there are none; in an
// unknown subscription it returns all.
func (coverage *Coverage) Uncovered(ctx context.Context, sub, typ string, regions []string) ([]string, error) {
	from := coverage.store.engine.Read(ctx)
	switch known, err := loadSubscription(from, selectSubscription, sub); {
	case errors.Is(err, ErrNotFound):
		return slices.Clone(regions), nil
	case err != nil:
		return nil, err
	case known.Covered:
		return nil, nil
	}
	covered, err := engine.Collect(from, engine.ScanOne[string], selectCoverage, arm.Fold(sub), arm.Fold(typ))
	if err != nil {
		return nil, err
	}
	var uncovered []string
	for _, region := range regions {
		if !slices.Contains(covered, region) {
			uncovered = append(uncovered, region)
		}
	}
	return uncovered, nil
}

// UncoveredSubscriptions lists, by id, the subscriptions that were not created covered and
// are not Deleted. Sweeps may have covered all their regions since; see
// [Coverage.SweptRegions].
func (coverage *Coverage) UncoveredSubscriptions(ctx context.Context, after string, limit int) ([]Subscription, error) {
	return engine.Collect(coverage.store.engine.Read(ctx), scanSubscription, listUncovered, Deleted, arm.Fold(after), engine.LimitArg(limit))
}

// SweptRegion is a region where a sweep has listed all resources of a type, so that the
// absence of a row proves the absence of a resource.
type SweptRegion struct {
	Type   string // folded
	Region string
	Swept  time.Time // when the list began
}

// SweptRegions lists the swept regions of a subscription by type and region.
func (coverage *Coverage) SweptRegions(ctx context.Context, sub string) ([]SweptRegion, error) {
	return engine.Collect(coverage.store.engine.Read(ctx), func(scan engine.Scanner) (c SweptRegion, err error) {
		var swept int64
		err = scan(&c.Type, &c.Region, &swept)
		c.Swept = engine.TimeOf(swept)
		return c, err
	}, coverageOf, arm.Fold(sub))
}

// MayHold returns, sorted, the regions that may hold resources of the type in a group or,
// if group is empty, in the whole subscription: the regions with rows in any phase, and
// the given regions that are uncovered; see [Coverage.Uncovered]. held reports whether
// there are any rows. The result is consistent, because a sweep creates its rows before it
// covers a region.
//
// It takes one query, and another one if there are rows in regions that were not given.
func (coverage *Coverage) MayHold(ctx context.Context, sub, group, typ string, given []string) (regions []string, held bool, err error) {
	from, group := coverage.store.engine.Read(ctx), arm.Fold(group)
	// The empty name sorts before all others, so the step from it finds the first region
	// that holds any.
	names := append([]string{""}, given...)
	for {
		statement, args := mayHold(arm.Fold(sub), group, arm.Fold(typ), names)
		answers, err := engine.Collect(from, scanRegionAnswer(group), statement, args...)
		if err != nil {
			return nil, false, err
		}
		var found []string
		for _, a := range answers {
			if a.next != "" && !slices.Contains(names, a.next) && !slices.Contains(found, a.next) {
				found = append(found, a.next)
			}
		}
		if len(found) > 0 {
			names = append(names, found...)
			continue
		}
		for _, a := range answers {
			held = held || a.held
			if a.held || !a.covered && slices.Contains(given, a.region) {
				regions = append(regions, a.region)
			}
		}
		slices.Sort(regions)
		return slices.Compact(regions), held, nil
	}
}

// regionAnswer reports whether a region has rows of a type, and whether it is covered. next
// is the next region by name with rows in any group.
type regionAnswer struct {
	region, next  string
	held, covered bool
}

func scanRegionAnswer(group string) func(engine.Scanner) (regionAnswer, error) {
	return func(scan engine.Scanner) (a regionAnswer, err error) {
		var first sql.NullString // group from the wanted one on
		err = scan(&a.region, &first, &a.covered, &a.next)
		a.held = first.Valid && (group == "" || first.String == group)
		return a, err
	}
}

// askRegion answers for each region by single steps in indexes, however many rows there
// are. It selects the first row because for EXISTS an engine may scan the table until it
// finds one.
const askRegion = `SELECT column1,
	(SELECT resource_group FROM resources WHERE subscription = ? AND type = ? AND region = column1 AND resource_group >= ? ORDER BY resource_group LIMIT 1),
	COALESCE((SELECT 1 FROM subscriptions WHERE subscription = ? AND covered = 1),
		(SELECT 1 FROM coverage WHERE subscription = ? AND type = ? AND region = column1), 0),
	COALESCE((SELECT region FROM resources WHERE subscription = ? AND type = ? AND region > column1 ORDER BY region LIMIT 1), '')
	FROM (VALUES (?)`

func mayHold(sub, group, typ string, regions []string) (statement string, args []any) {
	args = []any{sub, typ, group, sub, sub, typ, sub, typ}
	for _, region := range regions {
		args = append(args, region)
	}
	return askRegion + strings.Repeat(`, (?)`, len(regions)-1) + `) AS asked`, args
}

// Cover records that the index knows all resources of a type that a region held at the
// time swept, when its list began by the store's clock.
func (coverage *Coverage) Cover(ctx context.Context, sub, typ, region string, swept time.Time) error {
	return coverage.store.write(ctx, engine.Flushed, transaction.RecordLocks(sub), func(t *tx) error {
		return t.Later(putCoverage, arm.Fold(sub), arm.Fold(typ), region, engine.Micros(swept))
	})
}

const (
	countRows = `SELECT subscription, key, phase, verify FROM resources WHERE (subscription, key) > (?, ?) ORDER BY subscription, key LIMIT ?`
	// openIntents counts the open writes of all subscriptions.
	openIntents = `SELECT COUNT(*) FROM intents`
)

// IndexCounts counts the rows of the index, a bounded number at a time. The zero value
// starts a count.
type IndexCounts struct {
	// Rows counts the rows by phase, Flagged the rows that wait for verification.
	Rows    [index.Deleting + 1]int64
	Flagged int64

	subscription, key string // of the last row that was counted
}

// CountIndex continues a count by up to the given number of rows, and reports whether the
// count is complete. The count may or may not include changes made meanwhile.
func (s *Store) CountIndex(ctx context.Context, c *IndexCounts, rows int) (done bool, err error) {
	n := 0
	part := *c
	err = s.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		var phase index.Phase
		var verify bool
		if err := scan(&part.subscription, &part.key, &phase, &verify); err != nil {
			return err
		}
		n++
		if int(phase) < len(part.Rows) {
			part.Rows[phase]++
		}
		if verify {
			part.Flagged++
		}
		return nil
	}, countRows, c.subscription, c.key, engine.LimitArg(rows))
	if err != nil {
		return false, err
	}
	*c = part
	return n < rows, nil
}

// CountIntents counts the open writes: those under way, and those with an unknown outcome
// until their time is over.
func (s *Store) CountIntents(ctx context.Context) (n int64, err error) {
	err = s.engine.Read(ctx).One(openIntents)(&n)
	return n, err
}
