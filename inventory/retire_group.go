package inventory

import (
	"context"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

const (
	deletingGroups = `SELECT ` + groupColumns + ` FROM resource_groups WHERE subscription = ? AND state = ? ORDER BY key`
	// These report whether a group has, or ever had, anything there.
	writtenInRegion = `SELECT EXISTS (SELECT 1 FROM touched WHERE subscription = ? AND grp = ? AND region = ?)`
	rowsInRegion    = `SELECT EXISTS (SELECT 1 FROM resources WHERE subscription = ? AND grp = ? AND region = ?)`
	straysInRegion  = `SELECT EXISTS (SELECT 1 FROM strays WHERE subscription = ? AND grp = ? AND region = ?)`
)

// waiting returns the groups of a subscription that are being deleted and have
// something in the region, and counts them.
func (r *retiring) waiting(ctx context.Context, sub string) (waiting []Group, err error) {
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

// resume makes the deletions of groups due at once.
func (r *retiring) resume(ctx context.Context, groups []Group) error {
	_, err := engine.InPieces(ctx, r.engine, groups, func(t *tx, piece []Group) (int, error) {
		for _, g := range piece {
			if err := jobrow.BringForward(t.Base(), g.Subscription, g.Generation, t.Now); err != nil {
				return 0, err
			}
		}
		return len(piece), nil
	})
	return err
}
