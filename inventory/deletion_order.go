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
	listTypeOrder = `SELECT before_type, after_type, seen FROM deletion_order WHERE subscription = ? ORDER BY after_type, before_type LIMIT ?`
	putTypeOrder  = `INSERT INTO deletion_order (subscription, after_type, before_type, seen) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, after_type, before_type) DO UPDATE SET seen = excluded.seen`

	// mostTypeOrders bounds what is read; there are far fewer pairs of types.
	mostTypeOrders = 10_000
)

// TypeOrders lists what has been learnt in a subscription.
func (s *Store) TypeOrders(ctx context.Context, sub string) ([]TypeOrder, error) {
	return collect(s.read(ctx), func(scan scanner) (o TypeOrder, err error) {
		var seen int64
		err = scan(&o.Before, &o.After, &seen)
		o.Seen = moment(seen)
		return o, err
	}, listTypeOrder, arm.Fold(sub), mostTypeOrders)
}

// LearnTypeOrders adds to what has been learnt; Seen is the store's.
func (s *Store) LearnTypeOrders(ctx context.Context, sub string, learnt []TypeOrder) error {
	return s.writer.do(ctx, unflushed, aboutSubscription(sub), func(t *tx) error {
		for _, o := range learnt {
			if err := t.later(putTypeOrder, arm.Fold(sub), arm.Fold(o.After), arm.Fold(o.Before), micros(t.now)); err != nil {
				return err
			}
		}
		return nil
	})
}
