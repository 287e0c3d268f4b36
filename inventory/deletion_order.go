package inventory

import (
	"context"
	"time"

	"portico/arm"
)

// TypeOrder says that resources of one type were refused while resources of
// another stood: a hint by which later deletions go, and nothing else.
type TypeOrder struct {
	Before, After string // folded full types
	Seen          time.Time
}

const (
	listTypeOrder = `SELECT before_type, after_type, seen FROM deletion_order WHERE subscription = ? AND seen > ?
		ORDER BY seen DESC, after_type, before_type LIMIT ?`
	putTypeOrder = `INSERT INTO deletion_order (subscription, after_type, before_type, seen) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, after_type, before_type) DO UPDATE SET seen = excluded.seen`
	forgetTypeOrder = `DELETE FROM deletion_order WHERE subscription = ? AND seen <= ?`

	// mostTypeOrders bounds what is kept of a subscription.
	mostTypeOrders = 1000
	// typeOrderAge is how long an order counts after it was seen last. One that
	// holds is hardly ever seen again, for it is kept to; but nobody would notice
	// that it holds no longer.
	typeOrderAge = 30 * 24 * time.Hour
)

func scanTypeOrder(scan scanner) (o TypeOrder, err error) {
	var seen int64
	err = scan(&o.Before, &o.After, &seen)
	o.Seen = moment(seen)
	return o, err
}

// TypeOrders lists what has been learnt in a subscription, the newest first.
func (s *Store) TypeOrders(ctx context.Context, sub string) ([]TypeOrder, error) {
	horizon := s.dialect.now().Add(-typeOrderAge)
	return collect(s.read(ctx), scanTypeOrder, listTypeOrder, arm.Fold(sub), micros(horizon), mostTypeOrders)
}

// LearnTypeOrders adds to what has been learnt, and forgets what is too old or
// too much; Seen is the store's.
func (s *Store) LearnTypeOrders(ctx context.Context, sub string, learnt []TypeOrder) error {
	return s.writer.do(ctx, unflushed, aboutSubscription(sub), func(t *tx) error {
		for _, o := range learnt[:min(len(learnt), mostTypeOrders)] {
			if err := t.later(putTypeOrder, arm.Fold(sub), arm.Fold(o.After), arm.Fold(o.Before), micros(t.now)); err != nil {
				return err
			}
		}
		kept, err := collect(t, scanTypeOrder, listTypeOrder, arm.Fold(sub), micros(t.now.Add(-typeOrderAge)), mostTypeOrders+1)
		if err != nil {
			return err
		}
		horizon := t.now.Add(-typeOrderAge)
		if len(kept) > mostTypeOrders {
			horizon = kept[mostTypeOrders].Seen
		}
		return t.later(forgetTypeOrder, arm.Fold(sub), micros(horizon))
	})
}
