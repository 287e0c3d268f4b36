package inventory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
)

const (
	rowsOfRegion    = `SELECT subscription, resource_group, key FROM resources WHERE subscription = ? AND type = ? AND region = ? LIMIT ?`
	intentsOfRegion = `SELECT subscription, resource_group, key FROM intents WHERE subscription = ? AND region = ? AND kind <> ? LIMIT ?`
	intentsAt       = `SELECT id FROM intents WHERE subscription = ? AND key = ? AND region = ? AND kind <> ?`
)

// types lists the types of a subscription's rows in the region, nested types before their
// parents.
func (r *retiring) types(ctx context.Context, sub string) (types []string, err error) {
	from := r.engine.Read(ctx)
	for at := (WrittenRegion{}); ; {
		at, err = scanWrittenRegion(from.One(nextPlaceOfRows, sub, at.Type, at.Region))
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return nil, err
		}
		if at.Region == r.region {
			types = append(types, at.Type)
		}
	}
	slices.SortStableFunc(types, func(a, b string) int { return cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")) })
	return types, nil
}

// forgetRows removes the rows in the region. It removes nested resources first, because
// removing a parent would flag them for verification.
func (r *retiring) forgetRows(ctx context.Context, sub string) error {
	types, err := r.types(ctx, sub)
	if err != nil {
		return err
	}
	for _, typ := range types {
		err := r.eachMember(ctx, func(limit int) ([]member, error) {
			return engine.Collect(r.engine.Read(ctx), scanMember, rowsOfRegion, sub, typ, r.region, limit)
		}, r.forgetRow)
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetIntents ends the writes to the region that have no row there: writes to strays, and
// to resources that the index does not know.
func (r *retiring) forgetIntents(ctx context.Context, sub string) error {
	return r.eachMember(ctx, func(limit int) ([]member, error) {
		return engine.Collect(r.engine.Read(ctx), scanMember, intentsOfRegion, sub, r.region, index.Move, limit)
	}, r.forgetIntentsAt)
}

// retiredRow counts the deleted records of one resource.
type retiredRow struct {
	rows, intents int
	// kept reports that a move has the resource under way.
	kept bool
}

// eachMember deletes the members that next returns, page by page, until only those that
// must stay are left.
func (r *retiring) eachMember(ctx context.Context, next func(limit int) ([]member, error), forget func(*tx, member) (retiredRow, error)) error {
	kept := map[member]bool{}
	for {
		found, err := next(engine.PieceSize + len(kept))
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(m member) bool { return kept[m] })
		if len(found) == 0 {
			return nil
		}
		slices.SortFunc(found, member.compare)
		found = slices.Compact(found)
		done, err := commit(ctx, r.Store, engine.Unflushed, engine.LockSet{}, func(t *tx) ([]retiredRow, error) {
			done := make([]retiredRow, len(found))
			for i, m := range found {
				var err error
				if done[i], err = forget(t, m); err != nil {
					return nil, err
				}
			}
			return done, nil
		})
		if err != nil {
			return err
		}
		for i, d := range done {
			r.found.Rows += d.rows
			r.found.Intents += d.intents
			if d.kept {
				kept[found[i]] = true
			}
		}
	}
}

// forgetRow removes a row in the region with all its records.
func (r *retiring) forgetRow(t *tx, m member) (retiredRow, error) {
	h, err := lockResource(t, m.subscription, m.key)
	switch {
	case err != nil:
		return retiredRow{}, err
	case h.row == nil || h.row.Region != r.region:
		return retiredRow{}, nil
	case slices.ContainsFunc(h.open, func(in index.Intent) bool { return in.Kind == index.Move }):
		return retiredRow{kept: true}, nil
	}
	if err := t.recordGone(h.row, events.Retired); err != nil {
		return retiredRow{}, err
	}
	return retiredRow{rows: 1, intents: len(h.open)}, h.store(t, index.State{}, index.Actions{Tombstone: true, Orphaned: true})
}

// forgetIntentsAt ends the writes to the region under one ID. If that ID has a row in
// another region, earlier GETs of it no longer count.
func (r *retiring) forgetIntentsAt(t *tx, m member) (retiredRow, error) {
	h, err := lockResource(t, m.subscription, m.key)
	if err != nil {
		return retiredRow{}, err
	}
	ended, err := engine.Collect(t, scanID, intentsAt, m.subscription, m.key, r.region, index.Move)
	if err != nil {
		return retiredRow{}, err
	}
	after := h.state()
	after.Open = slices.DeleteFunc(slices.Clone(after.Open), func(in index.Intent) bool { return slices.Contains(ended, in.ID) })
	if after.Row != nil {
		after.Row.Generation = engine.NewID()
	}
	return retiredRow{intents: len(ended)}, h.store(t, after, index.Actions{})
}

func scanID(scan engine.Scanner) (id [16]byte, err error) {
	var stored []byte
	err = scan(&stored)
	copy(id[:], stored)
	return id, err
}
