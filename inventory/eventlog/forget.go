package eventlog

import (
	"context"
	"fmt"
	"time"

	"portico/inventory/engine"
	"portico/inventory/transaction"
)

const (
	oldestEvents   = `SELECT subscription, number, at FROM events WHERE place >= ? ORDER BY place LIMIT ?`
	oldestEventsOf = `SELECT subscription, number, at FROM events WHERE subscription = ? ORDER BY number LIMIT ?`
	deleteEvents   = `DELETE FROM events WHERE subscription = ? AND number <= ?`
	largestKept    = `SELECT subscription, kept FROM event_counts ORDER BY kept DESC LIMIT ?`
	subtractKept   = `UPDATE event_counts SET kept = kept - ? WHERE subscription = ?`
	dropKept       = `DELETE FROM event_counts WHERE subscription = ? AND kept <= 0`
)

// Forget deletes at most limit numbered events that are too old or too many, and returns
// how many.
func (l *Log) Forget(ctx context.Context, limit int) (int, error) {
	return transaction.Commit(ctx, l.database, engine.Unflushed, transaction.RecordLocks(""),
		func(t *transaction.Tx) (int, error) { return l.forget(t, limit) })
}

func (l *Log) forget(t *transaction.Tx, limit int) (int, error) {
	numbers, err := readEventNumbers(t, lockEventNumbers)
	if err != nil {
		return 0, err
	}
	kept := numbers.kept
	if err := l.forgetOld(t, &numbers, limit); err != nil {
		return 0, err
	}
	if most := int64(l.maxEvents); most > 0 && numbers.kept > most {
		if err := forgetExcess(t, &numbers, min(numbers.kept-most, int64(limit)-(kept-numbers.kept))); err != nil {
			return 0, err
		}
	}
	if numbers.kept == kept {
		return 0, nil
	}
	return int(kept - numbers.kept), numbers.store(t)
}

// forgetOld deletes at most limit events older than the maximum age.
func (l *Log) forgetOld(t *transaction.Tx, numbers *eventNumbers, limit int) error {
	age := l.maxAge
	if age <= 0 {
		return nil
	}
	rows, err := engine.Collect(t, scanOldEvent, oldestEvents, numbers.oldest, engine.LimitArg(limit))
	if err != nil {
		return fmt.Errorf("read the oldest events: %w", err)
	}
	last, of := int64(0), map[string]bool{}
	for _, r := range rows {
		if t.Now.Sub(engine.TimeOf(r.at)) <= age {
			break
		}
		last, of[r.subscription] = r.number, true
	}
	for sub := range of {
		if err := numbers.delete(t, sub, last); err != nil {
			return err
		}
	}
	numbers.oldest = max(numbers.oldest, last+1)
	return nil
}

// largestAtOnce bounds the subscriptions that one call of forgetExcess deletes events of.
const largestAtOnce = 100

// forgetExcess deletes n events, the oldest ones of the subscriptions that have most, so that
// a busy subscription does not shorten the history of others.
func forgetExcess(t *transaction.Tx, numbers *eventNumbers, n int64) error {
	if n <= 0 {
		return nil
	}
	var subs []string
	var kept []int64
	err := t.Each(func(scan engine.Scanner) error {
		var sub string
		var n int64
		err := scan(&sub, &n)
		subs, kept = append(subs, sub), append(kept, n)
		return err
	}, largestKept, largestAtOnce)
	if err != nil {
		return fmt.Errorf("read the largest event counts: %w", err)
	}
	for i, n := range cutToLevel(kept, n) {
		rows, err := engine.Collect(t, scanOldEvent, oldestEventsOf, subs[i], n)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			if err := numbers.delete(t, subs[i], rows[len(rows)-1].number); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutToLevel takes n from counts, sorted from the highest, by cutting them to a common level. It
// returns the part taken from each count above the level.
func cutToLevel(counts []int64, n int64) []int64 {
	above, givers := int64(0), 0 // the sum of the counts above the level, and their number
	for givers < len(counts) && above-int64(givers)*counts[givers] < n {
		above += counts[givers]
		givers++
	}
	taken := make([]int64, givers)
	for i := range taken {
		// The remainder is shared among the remaining counts, the larger part first.
		left := int64(givers - i)
		rest := max(0, (above-n)/left)
		taken[i] = min(counts[i], max(0, counts[i]-rest), n)
		above, n = above-counts[i], n-taken[i]
	}
	return taken
}

func (numbers *eventNumbers) delete(t *transaction.Tx, sub string, last int64) error {
	deleted, err := t.Exec(deleteEvents, sub, last)
	if err != nil {
		return fmt.Errorf("delete events: %w", err)
	}
	numbers.kept -= deleted
	numbers.first = max(numbers.first, last+1)
	if err := t.Later(subtractKept, deleted, sub); err != nil {
		return err
	}
	return t.Later(dropKept, sub)
}

type oldEvent struct {
	subscription string
	number, at   int64
}

func scanOldEvent(scan engine.Scanner) (e oldEvent, err error) {
	err = scan(&e.subscription, &e.number, &e.at)
	return e, err
}

// Counts holds the numbers of stored events.
type Counts struct {
	// Kept counts the numbered events.
	Kept int64
	// Waiting counts the events that are not numbered yet, in a limited number of
	// transactions; see [Log.Count]. Oldest is how long the first of them has waited.
	Waiting int64
	Oldest  time.Duration
}

// mostWaiting bounds the transactions whose waiting events Count counts.
const mostWaiting = 10_000

const waitingEvents = `SELECT COALESCE(SUM(count), 0), COALESCE(MIN(at), 0) FROM (SELECT count, at FROM unnumbered_events ORDER BY at LIMIT ?) AS earliest`

// Count counts events. Its cost is bounded, because it counts the waiting events of only a
// limited number of transactions, the first ones.
func (l *Log) Count(ctx context.Context) (c Counts, err error) {
	numbers, err := readEventNumbers(l.database.Read(ctx), selectEventNumbers)
	if err != nil {
		return c, err
	}
	var earliest int64
	if err := l.database.Read(ctx).One(waitingEvents, mostWaiting)(&c.Waiting, &earliest); err != nil {
		return c, fmt.Errorf("count waiting events: %w", err)
	}
	if c.Kept = numbers.kept; c.Waiting > 0 {
		c.Oldest = max(0, l.database.Now().Sub(engine.TimeOf(earliest)))
	}
	return c, nil
}
