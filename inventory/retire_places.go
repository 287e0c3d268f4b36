package inventory

import (
	"bytes"
	"context"
	"slices"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

const (
	writtenOfRegion = `SELECT resource_group, incarnation, type FROM written_regions
		WHERE subscription = ? AND region = ? AND (resource_group, incarnation, type) > (?, ?, ?) ORDER BY resource_group, incarnation, type LIMIT ?`
	deleteWrittenRegion = `DELETE FROM written_regions WHERE subscription = ? AND resource_group = ? AND incarnation = ? AND type = ? AND region = ?`
	deleteCoverage      = `DELETE FROM coverage WHERE subscription = ? AND region = ?`
	straysOfRegion      = `SELECT key FROM strays WHERE subscription = ? AND region = ? AND key > ? ORDER BY key LIMIT ?`
	fencesOfRegion      = `SELECT DISTINCT key FROM fences WHERE subscription = ? AND region = ? AND key > ? ORDER BY key LIMIT ?`
	dropFences          = `DELETE FROM fences WHERE subscription = ? AND key = ? AND region = ?`
	movingStray         = `SELECT EXISTS (SELECT 1 FROM intents WHERE subscription = ? AND key = ? AND region = ? AND kind = ?)`
	operationsOfRegion  = `SELECT token FROM operations WHERE subscription = ? AND region = ? AND token > ? ORDER BY token LIMIT ?`
	dropOperation       = `DELETE FROM operations WHERE subscription = ? AND token = ? AND region = ?`
	noticesUnderWay     = `SELECT id, subject FROM jobs WHERE subscription = ? AND kind = ? AND shard >= 0`
	deleteRegionsAbsent = `DELETE FROM absent_endpoints WHERE subscription = ? AND region = ?`
)

// pageOfRegion bounds the records of one read.
const pageOfRegion = 10 * engine.PieceSize

// forgetPages deletes the records that next returns, page by page in the order of their
// keys, and returns how many it deleted.
func forgetPages[T any](ctx context.Context, s *Store, next func(after T) ([]T, error), forget func(*tx, T) (bool, error)) (forgotten int, err error) {
	for after := *new(T); ; {
		page, err := next(after)
		if err != nil {
			return forgotten, err
		}
		n, err := engine.InPieces(ctx, s.engine, page, func(t *tx, piece []T) (n int, err error) {
			for _, one := range piece {
				gone, err := forget(t, one)
				if err != nil {
					return 0, err
				}
				if gone {
					n++
				}
			}
			return n, nil
		})
		if forgotten += n; err != nil || len(page) < pageOfRegion {
			return forgotten, err
		}
		after = page[len(page)-1]
	}
}

// forgetWrittenRegions deletes the written regions of groups, so that the deletions of
// these groups no longer look in the region.
func (r *retiring) forgetWrittenRegions(ctx context.Context, sub string) error {
	type touch struct {
		group, typ  string
		incarnation [16]byte
	}
	scan := func(scan engine.Scanner) (at touch, err error) {
		var incarnation []byte
		err = scan(&at.group, &incarnation, &at.typ)
		copy(at.incarnation[:], incarnation)
		return at, err
	}
	n, err := forgetPages(ctx, r.Store, func(after touch) ([]touch, error) {
		return engine.Collect(r.engine.Read(ctx), scan, writtenOfRegion, sub, r.region, after.group, after.incarnation[:], after.typ, pageOfRegion)
	}, func(t *tx, at touch) (bool, error) {
		n, err := t.Exec(deleteWrittenRegion, sub, at.group, at.incarnation[:], at.typ, r.region)
		return n > 0, err
	})
	r.found.WrittenRegions += n
	return err
}

func (r *retiring) forgetCoverage(ctx context.Context, sub string) error {
	there := 0
	if err := r.engine.Read(ctx).One(countRegionCoverage, sub, r.region)(&there); err != nil || there == 0 {
		return err
	}
	n, err := commit(ctx, r.Store, engine.Unflushed, transaction.RecordLocks(sub), func(t *tx) (int, error) {
		n, err := t.Exec(deleteCoverage, sub, r.region)
		return int(n), err
	})
	r.found.Coverage += n
	return err
}

func (r *retiring) forgetStrays(ctx context.Context, sub string) error {
	n, err := forgetPages(ctx, r.Store, func(after string) ([]string, error) {
		return engine.Collect(r.engine.Read(ctx), engine.ScanOne[string], straysOfRegion, sub, r.region, after, pageOfRegion)
	}, func(t *tx, key string) (bool, error) {
		moving := false
		if err := t.One(movingStray, sub, key, r.region, index.Move)(&moving); err != nil || moving {
			return false, err
		}
		n, err := t.Exec(deleteStray, sub, r.region, key)
		return n > 0, err
	})
	r.found.Strays += n
	return err
}

// forgetKeyed deletes the region's records of one table by their keys.
func (r *retiring) forgetKeyed(ctx context.Context, sub, list, remove string) (int, error) {
	return forgetPages(ctx, r.Store, func(after string) ([]string, error) {
		return engine.Collect(r.engine.Read(ctx), engine.ScanOne[string], list, sub, r.region, after, pageOfRegion)
	}, func(t *tx, key string) (bool, error) {
		n, err := t.Exec(remove, sub, key, r.region)
		return n > 0, err
	})
}

// forgetFences deletes the fences of writes to the region. The jobs that watch them find
// that they are gone.
func (r *retiring) forgetFences(ctx context.Context, sub string) error {
	n, err := r.forgetKeyed(ctx, sub, fencesOfRegion, dropFences)
	r.found.Fences += n
	return err
}

// forgetOperations deletes the polling URLs of the region.
func (r *retiring) forgetOperations(ctx context.Context, sub string) error {
	n, err := r.forgetKeyed(ctx, sub, operationsOfRegion, dropOperation)
	r.found.Operations += n
	return err
}

// notices returns the ids of the jobs that notify endpoints in the region.
func (r *retiring) notices(from engine.Source, sub string) (ids [][16]byte, err error) {
	err = from.Each(func(scan engine.Scanner) error {
		var (
			id      []byte
			subject string
		)
		if err := scan(&id, &subject); err != nil {
			return err
		}
		if a, ok := parseTarget(subject); ok && r.serves(a) {
			ids = append(ids, [16]byte(id))
		}
		return nil
	}, noticesUnderWay, sub, NoticeJob)
	slices.SortFunc(ids, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) }) // the order in which claims lock them
	return ids, err
}

func (r *retiring) serves(a NotificationTarget) bool { return a.Region == r.region }

// wasNotified reports whether an endpoint in the region was notified of a subscription, or
// will be.
func (r *retiring) wasNotified(ctx context.Context, sub string) (bool, error) {
	from := r.engine.Read(ctx)
	absent := 0
	if err := from.One(countRegionAbsent, sub, r.region)(&absent); err != nil || absent > 0 {
		return absent > 0, err
	}
	known, err := loadTargets(from, sub)
	if err != nil || slices.ContainsFunc(known, r.serves) {
		return err == nil, err
	}
	notices, err := r.notices(from, sub)
	return len(notices) > 0, err
}

// forgetNotices ends all notifications in the region, which do not resume if the region
// comes back. The erasing of a subscription that waited for them goes on.
func (r *retiring) forgetNotices(ctx context.Context, sub string) error {
	if knows, err := r.wasNotified(ctx, sub); err != nil || !knows {
		return err
	}
	n, err := commit(ctx, r.Store, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) (int, error) {
		current, err := loadSubscription(t, lockSubscription, sub)
		if err != nil {
			return 0, err
		}
		absent, err := t.Exec(deleteRegionsAbsent, sub, r.region)
		if err != nil {
			return 0, err
		}
		known, err := loadTargets(t, sub)
		if err != nil {
			return 0, err
		}
		if err := slices.DeleteFunc(known, r.serves).put(t, sub); err != nil {
			return 0, err
		}
		notices, err := r.notices(t, sub)
		if err != nil {
			return 0, err
		}
		for _, id := range notices {
			if err := jobrow.Delete(t.Base(), sub, id); err != nil {
				return 0, err
			}
		}
		if len(notices) > 0 {
			err = t.resumeErasure(current)
		}
		return int(absent) + len(notices), err
	})
	r.found.Notices += n
	return err
}

const (
	deletingGroups = `SELECT ` + groupColumns + ` FROM resource_groups WHERE subscription = ? AND state = ? ORDER BY key`
	// These report whether a group has or had anything in the region.
	writtenInRegion = `SELECT EXISTS (SELECT 1 FROM written_regions WHERE subscription = ? AND resource_group = ? AND region = ?)`
	rowsInRegion    = `SELECT EXISTS (SELECT 1 FROM resources WHERE subscription = ? AND resource_group = ? AND region = ?)`
	straysInRegion  = `SELECT EXISTS (SELECT 1 FROM strays WHERE subscription = ? AND resource_group = ? AND region = ?)`
)

// waitingGroups returns the groups of a subscription that are being deleted and have
// something in the region, and counts them.
func (r *retiring) waitingGroups(ctx context.Context, sub string) (waiting []Group, err error) {
	from := r.engine.Read(ctx)
	groups, err := engine.Collect(from, scanGroup, deletingGroups, sub, index.GroupDeleting)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		waits := false
		for _, statement := range [...]string{writtenInRegion, rowsInRegion, straysInRegion} {
			if waits {
				break
			}
			if err := from.One(statement, sub, g.Key, r.region)(&waits); err != nil {
				return nil, err
			}
		}
		if !waits {
			continue
		}
		waiting = append(waiting, g)
		if r.found.Groups++; len(r.found.Waiting) < waitingShown {
			r.found.Waiting = append(r.found.Waiting, GroupName{Subscription: sub, Name: g.Name})
		}
	}
	return waiting, nil
}

// resumeDeletions makes the deletions of groups due.
func (r *retiring) resumeDeletions(ctx context.Context, groups []Group) error {
	_, err := engine.InPieces(ctx, r.engine, groups, func(t *tx, piece []Group) (int, error) {
		for _, g := range piece {
			if err := jobrow.RunSooner(t.Base(), g.Subscription, g.Generation, t.Now); err != nil {
				return 0, err
			}
		}
		return len(piece), nil
	})
	return err
}
