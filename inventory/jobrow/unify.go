package jobrow

import (
	"context"
	"slices"

	"portico/inventory/engine"
)

const (
	spreadJobs = `SELECT subscription, id FROM jobs WHERE shard > ? ORDER BY shard, kind, due LIMIT ?`
	unifyJob   = `UPDATE jobs SET shard = ? WHERE subscription = ? AND id = ? AND shard > ?`
)

// Unify moves at most limit open jobs to the one shard that claims look at, and
// returns how many it moved. An earlier release made them in others, and may still
// make some on another replica, which finds them here as well.
func (r *Rows) Unify(ctx context.Context, limit int) (int, error) {
	spread, err := engine.Collect(r.engine.Read(ctx), scanKey, spreadJobs, openShard, engine.AtMost(limit))
	if err != nil {
		return 0, err
	}
	slices.SortFunc(spread, jobKey.compare)
	return engine.InPieces(ctx, r.engine, spread, func(u engine.Unit, piece []jobKey) (int, error) {
		for _, k := range piece {
			if err := u.Base().Later(unifyJob, openShard, k.subscription, k.id, openShard); err != nil {
				return 0, err
			}
		}
		return len(piece), nil
	})
}
