package jobs

import (
	"context"
	"fmt"
	"math"
	"time"

	"portico/internal/timing"
	"portico/inventory"
)

// subscriptionsAtOnce is the number of subscriptions in one read.
const subscriptionsAtOnce = 500

// SubscriptionScan visits all subscriptions once, in the order of their ids. A scan
// that is cut short, by its time or by a failure, continues with the same subscription
// at the next call, so that it ends even if one call has no time for all.
type SubscriptionScan struct {
	after string // the last subscription that was visited
	ended bool
}

// Ended reports whether all subscriptions were visited.
func (s *SubscriptionScan) Ended() bool { return s.ended }

// scanTime bounds a scan's share of a round of housekeeping.
const scanTime = 3 * time.Second

// Visit continues the scan until an error.
func (s *SubscriptionScan) Visit(ctx context.Context, store *inventory.Store, each func(inventory.Subscription) error) error {
	return s.visit(ctx, store, math.MaxInt64, each)
}

// VisitSome continues a scan that writes. It may end early and leave the rest for the next call,
// so that a long scan neither exceeds the round's time nor takes all of it.
func (s *SubscriptionScan) VisitSome(ctx context.Context, store *inventory.Store, each func(inventory.Subscription) error) error {
	return s.visit(ctx, store, scanTime, each)
}

// visit ends between two subscriptions of a page once the time is over.
func (s *SubscriptionScan) visit(ctx context.Context, store *inventory.Store, within time.Duration, each func(inventory.Subscription) error) error {
	started := time.Now()
	for !s.ended {
		page, err := store.AllSubscriptions(ctx, s.after, subscriptionsAtOnce)
		if err != nil {
			return fmt.Errorf("list subscriptions: %w", err)
		}
		for i, sub := range page {
			if err := each(sub); err != nil {
				return err
			}
			s.after = sub.ID
			if i < len(page)-1 && timing.Elapsed(started, time.Now()) >= within {
				return nil
			}
		}
		s.ended = len(page) < subscriptionsAtOnce
	}
	return nil
}
