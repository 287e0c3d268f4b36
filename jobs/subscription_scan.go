package jobs

import (
	"context"

	"portico/inventory"
)

// subscriptionsAtOnce is the number of subscriptions in one read.
const subscriptionsAtOnce = 500

// SubscriptionScan visits all subscriptions once, in the order of their ids. A scan
// that is cut short, by its time or by a failure, continues with the same subscription
// at the next call, so that it ends even if one call has no time for all.
type SubscriptionScan struct {
	after string // the last one that is done
	ended bool
}

// Ended reports whether all subscriptions were visited.
func (s *SubscriptionScan) Ended() bool { return s.ended }

// Visit continues the scan until an error.
func (s *SubscriptionScan) Visit(ctx context.Context, store *inventory.Store, each func(inventory.Subscription) error) error {
	for !s.ended {
		page, err := store.AllSubscriptions(ctx, s.after, subscriptionsAtOnce)
		if err != nil {
			return err
		}
		for _, sub := range page {
			if err := each(sub); err != nil {
				return err
			}
			s.after = sub.ID
		}
		s.ended = len(page) < subscriptionsAtOnce
	}
	return nil
}
