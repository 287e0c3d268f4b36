package gateway

import (
	"context"
	"errors"

	"portico/inventory"
	"portico/operations/move"
)

// present is an operation with the names that its resource has by now: that may
// have moved to another group since it was accepted.
func (g *Gateway) present(ctx context.Context, o inventory.Operation) (inventory.Operation, error) {
	if o.Resource == "" {
		return o, nil
	}
	row, err := g.store.Resource(ctx, o.Subscription, o.Resource)
	if err == nil && !row.Created.After(o.Created) || err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return o, err
	}
	for since := o.Created; ; {
		moves, err := g.store.MovesFrom(ctx, o.Resource)
		if err != nil {
			return o, err
		}
		left := false
		for _, job := range moves {
			p, err := move.ReadPayload(job)
			if err != nil {
				return o, err
			}
			moved, with := p.Moved(inventory.Resource{Key: o.Resource, ID: o.Origin})
			if before := !p.Ended.IsZero() && p.Ended.Before(since); with && !before {
				o.Subscription, o.Resource, o.Origin = moved.Subscription, moved.Key, moved.ID
				left, since = true, p.Ended
				break
			}
		}
		if !left || since.IsZero() { // a move that goes on has nothing come after it
			return o, nil
		}
	}
}
