package eventlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// Events are numbered after their commit, by one transaction at a time, which locks the
// row of the last number. So a reader that follows the numbers misses none. It could if
// numbers were drawn before the commit, because a transaction with a low number may commit
// late. Numbers are on disk before any reader gets them: otherwise a crash of the database
// could make it assign them again, to events that readers would then miss.
const (
	selectFeed         = `SELECT feed FROM event_numbers WHERE subscription = ?`
	selectEventNumbers = `SELECT last, first, oldest, kept FROM event_numbers WHERE subscription = ?`
	lockEventNumbers   = selectEventNumbers + engine.ForUpdate
	putEventNumbers    = `UPDATE event_numbers SET last = ?, first = ?, oldest = ?, kept = ? WHERE subscription = ?`
	anyUnnumbered      = `SELECT EXISTS (SELECT 1 FROM unnumbered_events)`
	nextUnnumbered     = `SELECT at, count FROM unnumbered_events ORDER BY at LIMIT ?`
	removeUnnumbered   = `DELETE FROM unnumbered_events WHERE at <= ? RETURNING subscription, at, count, recorded`
	insertEvent        = `INSERT INTO events (subscription, number, place, id, at, key, payload) VALUES (?, ?, ?, ?, ?, ?, ?) ` +
		`ON CONFLICT (subscription, number) DO NOTHING`
	addKept = `INSERT INTO event_counts (subscription, kept) VALUES (?, ?)
		ON CONFLICT (subscription) DO UPDATE SET kept = event_counts.kept + excluded.kept`
)

// eventNumbers describes the numbers in use.
type eventNumbers struct {
	last   int64 // the highest number
	first  int64 // from it on no event has been deleted
	oldest int64 // before it all events have been deleted
	kept   int64 // the number of kept events
}

func readEventNumbers(from engine.Source, statement string) (n eventNumbers, err error) {
	err = from.One(statement, "")(&n.last, &n.first, &n.oldest, &n.kept)
	return n, err
}

func (numbers *eventNumbers) store(t *transaction.Tx) error {
	return t.ChangeOne(putEventNumbers, numbers.last, numbers.first, numbers.oldest, numbers.kept, "")
}

// numberedAtOnce limits roughly how many events one transaction numbers: on an engine with
// one writer all other writes wait for it.
const numberedAtOnce = 200

// Number numbers about limit committed events, and returns how many. Of two changes of one
// resource the earlier one gets the lower number.
func (l *Log) Number(ctx context.Context, limit int) (numbered int, err error) {
	for numbered < limit {
		waiting := false
		if err := l.database.Read(ctx).One(anyUnnumbered)(&waiting); err != nil || !waiting {
			return numbered, err
		}
		room := min(numberedAtOnce, limit-numbered) // the transaction may outlive this call
		n, err := transaction.Commit(ctx, l.database, engine.Flushed, transaction.RecordLocks(""),
			func(t *transaction.Tx) (int, error) { return numberSome(t, room) })
		if numbered += n; err != nil || n == 0 {
			return numbered, err
		}
	}
	return numbered, nil
}

func numberSome(t *transaction.Tx, limit int) (int, error) {
	numbers, err := readEventNumbers(t, lockEventNumbers)
	if err != nil {
		return 0, err
	}
	rows, err := removeEarliest(t, limit)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	before, of := numbers.last, map[string]int64{}
	var numbered [][]any
	for _, row := range rows {
		split, err := transaction.SplitRecorded(row.text, row.n)
		if err != nil {
			return 0, fmt.Errorf("split a recorded transaction: %w", err)
		}
		for _, e := range split {
			numbers.last++
			numbered = append(numbered, []any{row.subscription, numbers.last, numbers.last, e.ID[:], row.at, e.Key, e.Payload})
			of[row.subscription]++
		}
	}
	if err := t.CreateRows(insertEvent, numbered); err != nil {
		return 0, fmt.Errorf("insert numbered events: %w", err)
	}
	for sub, n := range of {
		if err := t.ChangeOne(addKept, sub, n); err != nil {
			return 0, fmt.Errorf("count kept events: %w", err)
		}
	}
	numbers.kept += numbers.last - before
	return int(numbers.last - before), numbers.store(t)
}

type unnumberedRow struct {
	subscription string
	at           int64
	n            int
	text         []byte
}

// removeEarliest removes the rows of about limit of the earliest events, and returns them
// in order. It runs under the lock of the numbers, so it sees everything that was committed
// before.
func removeEarliest(t *transaction.Tx, limit int) ([]unnumberedRow, error) {
	until, n := int64(0), 0
	err := t.Each(func(scan engine.Scanner) error {
		var at int64
		var of int
		if err := scan(&at, &of); err != nil {
			return err
		}
		if n < limit {
			until, n = at, n+of
		}
		return nil
	}, nextUnnumbered, limit)
	if err != nil || n == 0 {
		return nil, err
	}
	rows, err := engine.Collect(t.Returning(), scanUnnumbered, removeUnnumbered, until)
	slices.SortStableFunc(rows, func(a, b unnumberedRow) int { return cmp.Compare(a.at, b.at) })
	return rows, err
}

func scanUnnumbered(scan engine.Scanner) (r unnumberedRow, err error) {
	err = scan(&r.subscription, &r.at, &r.n, &r.text)
	return r, err
}
