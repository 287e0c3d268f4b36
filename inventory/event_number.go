package inventory

import (
	"context"
	"time"

	"portico/inventory/engine"
)

// Events are numbered after their commit, by one transaction at a time: the row of the
// last number is locked by whoever numbers. So nothing ever appears behind a reader who
// goes by numbers. A number that is drawn before the commit would not do: a transaction
// that drew an early one may commit late.
const (
	selectEventNumbers = `SELECT last, first FROM event_numbers WHERE subscription = ?`
	lockEventNumbers   = selectEventNumbers + engine.ForUpdate
	unnumberedEvents   = `SELECT subscription, id, at, key, told FROM unnumbered_events ORDER BY at, id LIMIT ?`
	anyUnnumbered      = `SELECT EXISTS (SELECT 1 FROM unnumbered_events)`
	insertEvent        = `INSERT INTO events (` + eventColumns + `) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (subscription, number) DO NOTHING`
	deleteUnnumbered   = `DELETE FROM unnumbered_events WHERE subscription = ? AND id = ?`
	raiseEventNumber   = `UPDATE event_numbers SET last = ? WHERE subscription = ?`
	raiseFirstEvent    = `UPDATE event_numbers SET first = ? WHERE subscription = ?`
	oldestEvents       = `SELECT subscription, number, at FROM events WHERE number >= ? ORDER BY number LIMIT ?`
	deleteEvent        = `DELETE FROM events WHERE subscription = ? AND number = ?`
)

// NumberEvents numbers at most limit of the events that have been committed, and returns
// how many. Of one resource the earlier change gets the lower number.
func (s *Store) NumberEvents(ctx context.Context, limit int) (int, error) {
	waiting := false
	if err := s.read(ctx).One(anyUnnumbered)(&waiting); err != nil || !waiting {
		return 0, err
	}
	return commit(ctx, s, engine.Unflushed, recordLocks(""), func(t *tx) (int, error) {
		var last, first int64
		if err := t.One(lockEventNumbers, "")(&last, &first); err != nil {
			return 0, err
		}
		// A statement of its own, behind the lock: it sees all that was committed by then.
		rows, err := engine.Collect(t, scanUnnumbered, unnumberedEvents, engine.AtMost(limit))
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		for i, r := range rows {
			if err := t.ChangeOne(insertEvent, r.subscription, last+int64(i)+1, r.id[:], r.at, r.key, r.told); err != nil {
				return 0, err
			}
			if err := t.ChangeOne(deleteUnnumbered, r.subscription, r.id[:]); err != nil {
				return 0, err
			}
		}
		return len(rows), t.ChangeOne(raiseEventNumber, last+int64(len(rows)), "")
	})
}

func scanUnnumbered(scan engine.Scanner) (r eventRow, err error) {
	var id []byte
	err = scan(&r.subscription, &id, &r.at, &r.key, &r.told)
	copy(r.id[:], id)
	return r, err
}

// ForgetEvents deletes at most limit events that are too old or too many, and returns how
// many. It numbers what is left to be numbered first, so that also what nobody reads ends.
func (s *Store) ForgetEvents(ctx context.Context, limit int) (int, error) {
	if n, err := s.NumberEvents(ctx, limit); err != nil || n >= limit {
		return n, err
	}
	return commit(ctx, s, engine.Unflushed, recordLocks(""), func(t *tx) (int, error) {
		var last, first int64
		if err := t.One(lockEventNumbers, "")(&last, &first); err != nil {
			return 0, err
		}
		rows, err := engine.Collect(t, scanOldEvent, oldestEvents, first, engine.AtMost(limit))
		if err != nil {
			return 0, err
		}
		deleted := 0
		for _, r := range rows {
			if !s.options.outlived(t.Now.Sub(engine.Moment(r.at)), last-r.number+1) {
				break
			}
			if err := t.ChangeOne(deleteEvent, r.subscription, r.number); err != nil {
				return 0, err
			}
			first = r.number + 1
			deleted++
		}
		if deleted == 0 {
			return 0, nil
		}
		return deleted, t.ChangeOne(raiseFirstEvent, first, "")
	})
}

// outlived reports whether an event of an age, that is the nth from the last, is no longer
// kept.
func (o Options) outlived(age time.Duration, nth int64) bool {
	return o.EventAge > 0 && age > o.EventAge || o.MostEvents > 0 && nth > int64(o.MostEvents)
}

func scanOldEvent(scan engine.Scanner) (r eventRow, err error) {
	err = scan(&r.subscription, &r.number, &r.at)
	return r, err
}
