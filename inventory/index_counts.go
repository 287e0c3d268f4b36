package inventory

import (
	"context"

	"portico/inventory/engine"
	"portico/inventory/index"
)

const (
	countRows = `SELECT subscription, key, phase, verify FROM resources WHERE (subscription, key) > (?, ?) ORDER BY subscription, key LIMIT ?`
	// openIntents counts the open writes of all subscriptions.
	openIntents = `SELECT COUNT(*) FROM intents`
)

// IndexCounts counts the rows of the index, a bounded number at a time. The zero
// value begins a count.
type IndexCounts struct {
	// Rows are the rows by phase, Flagged those that wait for verification.
	Rows    [index.Deleting + 1]int64
	Flagged int64

	subscription, key string // of the last row that was counted
}

// CountIndex continues a count by at most rows rows, and reports whether it is
// complete. Changes meanwhile may be counted or not.
func (s *Store) CountIndex(ctx context.Context, c *IndexCounts, rows int) (done bool, err error) {
	n := 0
	part := *c
	err = s.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		var phase index.Phase
		var verify bool
		if err := scan(&part.subscription, &part.key, &phase, &verify); err != nil {
			return err
		}
		n++
		if int(phase) < len(part.Rows) {
			part.Rows[phase]++
		}
		if verify {
			part.Flagged++
		}
		return nil
	}, countRows, c.subscription, c.key, engine.AtMost(rows))
	if err != nil {
		return false, err
	}
	*c = part
	return n < rows, nil
}

// CountIntents counts the open writes: under way, or ended with an unknown outcome
// until their time is over.
func (s *Store) CountIntents(ctx context.Context) (n int64, err error) {
	err = s.engine.Read(ctx).One(openIntents)(&n)
	return n, err
}
