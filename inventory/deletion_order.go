package inventory

import (
	"context"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// TypeOrder says that resources of one type could not be deleted while resources of
// another existed: a hint for later deletions, and nothing else.
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
	// typeOrderAge is how long an order counts after it was seen last. Deletions keep
	// to an order, so one that holds is hardly ever seen again; but nobody would notice
	// that it holds no longer.
	typeOrderAge = 30 * 24 * time.Hour
)

func scanTypeOrder(scan engine.Scanner) (o TypeOrder, err error) {
	var seen int64
	err = scan(&o.Before, &o.After, &seen)
	o.Seen = engine.Moment(seen)
	return o, err
}

// TypeOrders lists the orders learnt in a subscription, the newest first.
func (s *Store) TypeOrders(ctx context.Context, sub string) ([]TypeOrder, error) {
	horizon := s.engine.Now().Add(-typeOrderAge)
	return engine.Collect(s.engine.Read(ctx), scanTypeOrder, listTypeOrder, arm.Fold(sub), engine.Micros(horizon), mostTypeOrders)
}

// LearnTypeOrders adds orders, and forgets what is too old or too much; Seen is the
// store's.
func (s *Store) LearnTypeOrders(ctx context.Context, sub string, learnt []TypeOrder) error {
	return s.write(ctx, engine.Unflushed, transaction.RecordLocks(sub), func(t *tx) error {
		for _, o := range learnt[:min(len(learnt), mostTypeOrders)] {
			if err := t.Later(putTypeOrder, arm.Fold(sub), arm.Fold(o.After), arm.Fold(o.Before), engine.Micros(t.Now)); err != nil {
				return err
			}
		}
		kept, err := engine.Collect(t, scanTypeOrder, listTypeOrder, arm.Fold(sub), engine.Micros(t.Now.Add(-typeOrderAge)), mostTypeOrders+1)
		if err != nil {
			return err
		}
		horizon := t.Now.Add(-typeOrderAge)
		if len(kept) > mostTypeOrders {
			horizon = kept[mostTypeOrders].Seen
		}
		return t.Later(forgetTypeOrder, arm.Fold(sub), engine.Micros(horizon))
	})
}
