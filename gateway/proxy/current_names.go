package proxy

import (
	"context"
	"errors"

	"portico/inventory"
	"portico/operations/move"
)

// withCurrentNames returns an operation with the current names of its resource, which
// may have moved to another group since the operation was accepted.
func (p *Proxy) withCurrentNames(ctx context.Context, o inventory.Operation) (inventory.Operation, error) {
	if o.Resource == "" {
		return o, nil
	}
	row, err := p.Store.Resource(ctx, o.Subscription, o.Resource)
	if err == nil && !row.Created.After(o.Created) || err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return o, err
	}
	for since := o.Created; ; {
		moves, err := p.Store.MovesFrom(ctx, o.Resource)
		if err != nil {
			return o, err
		}
		left := false
		for _, job := range moves {
			payload, err := move.ReadPayload(job)
			if err != nil {
				return o, err
			}
			moved, with := payload.Moved(inventory.Resource{Key: o.Resource, ID: o.Origin})
			if before := !payload.Ended.IsZero() && payload.Ended.Before(since); with && !before {
				o.Subscription, o.Resource, o.Origin = moved.Subscription, moved.Key, moved.ID
				left, since = true, payload.Ended
				break
			}
		}
		if !left || since.IsZero() { // a move in progress is the last one
			return o, nil
		}
	}
}
