package operations

import (
	"context"

	"portico/inventory"
)

// subscriptionsAtOnce is how many subscriptions are read at a time.
const subscriptionsAtOnce = 500

// round is one going through all subscriptions, in the order of their ids. Where
// it is cut short, as its time is over or one of them fails, the next call goes on
// with that one: it comes to its end also where all take longer than one call has.
type round struct {
	after string // the last one that is done
	ended bool
}

func (r *round) visit(ctx context.Context, store *inventory.Store, each func(inventory.Subscription) error) error {
	for !r.ended {
		page, err := store.AllSubscriptions(ctx, r.after, subscriptionsAtOnce)
		if err != nil {
			return err
		}
		for _, sub := range page {
			if err := each(sub); err != nil {
				return err
			}
			r.after = sub.ID
		}
		r.ended = len(page) < subscriptionsAtOnce
	}
	return nil
}
