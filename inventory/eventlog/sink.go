package eventlog

import (
	"context"
	"fmt"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// SinkJob is the kind of the jobs that deliver events. Each sink has one, and its name is
// the job's subject.
const SinkJob = "sink"

// Sinks stores the progress of event sinks, by their names.
type Sinks struct{ database *transaction.Database }

// NewSinks returns the sinks of a database.
func NewSinks(d *transaction.Database) *Sinks { return &Sinks{database: d} }

// SinkEventState is the state of an event that a sink has not accepted. The numbers are
// stored.
type SinkEventState uint8

// The states of such events. The holder of the sink's job changes the events that it
// retries, operators the ones that were given up.
const (
	SinkRetrying SinkEventState = iota
	SinkDead
	// SinkReplayed: an operator has scheduled a given-up event for another try.
	SinkReplayed

	sinkEventStates = 3
)

// SinkEvent is an event that a sink has not accepted. Its payload is in the event log, until
// the event is deleted there.
type SinkEvent struct {
	Sink         string
	Subscription string // folded; of the event
	Number       int64
	Key          string // folded; of the resource
	State        SinkEventState
	Attempts     int64
	Since        time.Time // of the first attempt
	Due          time.Time // for the next one
	Status       int       // of the last answer, 0 for none
	Failure      string    // why it was not accepted, in one word
	Reason       string    // why an operator gave it up; empty: none did
	Changed      time.Time
}

const (
	sinkEventColumns = `subscription, sink, number, key, state, attempts, since, due, status, failure, reason, changed`
	putSinkEvent     = `INSERT INTO sink_events (` + sinkEventColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, sink, number) DO UPDATE SET state = excluded.state, attempts = excluded.attempts, since = excluded.since,
		due = excluded.due, status = excluded.status, failure = excluded.failure, reason = excluded.reason, changed = excluded.changed`
	deleteSinkEvent   = `DELETE FROM sink_events WHERE subscription = ? AND sink = ? AND number = ?`
	deleteDeadSinkOne = deleteSinkEvent + ` AND state = ?`
	replaySinkEvent   = `UPDATE sink_events SET state = ?, attempts = 0, since = ?, due = ?, reason = '', changed = ? ` +
		`WHERE subscription = ? AND sink = ? AND number = ? AND state = ?`
	listSinkEvents    = `SELECT ` + sinkEventColumns + ` FROM sink_events WHERE sink = ? AND state = ? AND number > ? ORDER BY number LIMIT ?`
	selectSinkEvent   = `SELECT ` + sinkEventColumns + ` FROM sink_events WHERE subscription = ? AND sink = ? AND number = ?`
	countSinkEvents   = `SELECT state, COUNT(*) FROM sink_events WHERE sink = ? GROUP BY state`
	anySinkEvents     = `SELECT subscription, number FROM sink_events WHERE sink = ? LIMIT ?`
	forgottenSinkDead = `SELECT subscription, number FROM sink_events WHERE sink = ? AND state = ? AND number < ?
		AND NOT EXISTS (SELECT 1 FROM events WHERE events.subscription = sink_events.subscription AND events.number = sink_events.number) ` +
		`ORDER BY number LIMIT ?`
)

// sinkEventsAtOnce bounds the events of a sink that one write changes.
const sinkEventsAtOnce = 1000

func scanSinkEvent(scan engine.Scanner) (e SinkEvent, err error) {
	var since, due, changed int64
	err = scan(&e.Subscription, &e.Sink, &e.Number, &e.Key, &e.State, &e.Attempts, &since, &due, &e.Status, &e.Failure, &e.Reason, &changed)
	e.Since, e.Due, e.Changed = engine.TimeOf(since), engine.TimeOf(due), engine.TimeOf(changed)
	return e, err
}

// SinkChanges is the progress that the holder of a sink's job records at once.
type SinkChanges struct {
	Payload  string      // of the job
	Kept     []SinkEvent // events that the sink has not accepted
	Settled  []SinkEvent // events that it has accepted by now
	Answered []SinkOrder // the orders that caused these changes, with their answers
}

// Save records a sink's progress. The write is durable if an order was answered; if other
// progress is lost, deliveries are only repeated. The error is jobrow.ErrLeaseLost if
// another replica holds the job, and engine.ErrNotFound if an order was withdrawn meanwhile;
// nothing is recorded then.
func (s *Sinks) Save(ctx context.Context, j *jobrow.Job, c SinkChanges) error {
	durability := engine.Unflushed
	if len(c.Answered) > 0 {
		durability = engine.Flushed
	}
	held := *j // the write may outlive this call
	err := s.database.Write(ctx, durability, jobrow.Locks(j.Subscription, j.Subject), func(t *transaction.Tx) error {
		if err := held.Save(t.Tx, c.Payload); err != nil {
			return fmt.Errorf("save the job of a sink: %w", err)
		}
		for _, o := range c.Answered {
			if err := o.recordAnswer(t); err != nil {
				return err
			}
		}
		for _, e := range c.Kept {
			err := t.Later(putSinkEvent, e.Subscription, held.Subject, e.Number, e.Key, e.State, e.Attempts,
				engine.Micros(e.Since), engine.Micros(e.Due), e.Status, e.Failure, e.Reason, engine.Micros(t.Now))
			if err != nil {
				return fmt.Errorf("save an event of a sink: %w", err)
			}
		}
		for _, e := range c.Settled {
			if err := t.Later(deleteSinkEvent, e.Subscription, held.Subject, e.Number); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && c.Payload != "" {
		j.Payload = c.Payload
	}
	return err
}

// Events lists the events of a state after a number, in the order of their numbers.
func (s *Sinks) Events(ctx context.Context, sink string, state SinkEventState, after int64, limit int) ([]SinkEvent, error) {
	return engine.Collect(s.database.Read(ctx), scanSinkEvent, listSinkEvents, sink, state, after, engine.LimitArg(limit))
}

// Event returns an event that a sink has not accepted, given its number, or
// engine.ErrNotFound.
func (s *Sinks) Event(ctx context.Context, sub, sink string, number int64) (SinkEvent, error) {
	e, err := scanSinkEvent(s.database.Read(ctx).One(selectSinkEvent, arm.Fold(sub), sink, number))
	return e, engine.OrNotFound(err)
}

// Count counts the events that a sink has not accepted, by their states.
func (s *Sinks) Count(ctx context.Context, sink string) (counts [sinkEventStates]int, err error) {
	return counts, s.database.Read(ctx).Each(func(scan engine.Scanner) error {
		var state SinkEventState
		var n int
		if err := scan(&state, &n); err != nil {
			return err
		}
		if int(state) < len(counts) {
			counts[state] = n
		}
		return nil
	}, countSinkEvents, sink)
}

// Replay schedules given-up events for another try, and returns how many: the event with
// the number or, for 0, the first ones, up to a bound.
func (s *Sinks) Replay(ctx context.Context, sink string, number int64) (int, error) {
	return s.changeDead(ctx, sink, number, sinkEventsAtOnce, func(t *transaction.Tx, e SinkEvent) (int64, error) {
		now := engine.Micros(t.Now)
		return t.Exec(replaySinkEvent, SinkReplayed, now, now, now, e.Subscription, sink, e.Number, SinkDead)
	})
}

// DeleteDead deletes the given-up event with a number, and reports whether there was one.
func (s *Sinks) DeleteDead(ctx context.Context, sink string, number int64) (bool, error) {
	n, err := s.changeDead(ctx, sink, number, 1, func(t *transaction.Tx, e SinkEvent) (int64, error) {
		return t.Exec(deleteDeadSinkOne, e.Subscription, sink, e.Number, SinkDead)
	})
	return n > 0, err
}

func (s *Sinks) changeDead(ctx context.Context, sink string, number int64, limit int, change func(*transaction.Tx, SinkEvent) (int64, error)) (int, error) {
	after := number - 1
	if number == 0 {
		after = 0
	} else {
		limit = 1
	}
	dead, err := s.Events(ctx, sink, SinkDead, after, limit)
	if err != nil || len(dead) == 0 || number != 0 && dead[0].Number != number {
		return 0, err
	}
	return transaction.Commit(ctx, s.database, engine.Flushed, jobrow.Locks("", sink), func(t *transaction.Tx) (int, error) {
		changed := 0
		for _, e := range dead {
			n, err := change(t, e)
			if err != nil {
				return 0, err
			}
			changed += int(n)
		}
		return changed, nil
	})
}

// ForgetDead deletes given-up events before a number that are no longer in the event log,
// because their payload is lost.
func (s *Sinks) ForgetDead(ctx context.Context, sink string, before int64) (int, error) {
	return s.deleteSinkEvents(ctx, sink, forgottenSinkDead, sink, SinkDead, before, sinkEventsAtOnce)
}

// Forget deletes a bounded number of a sink's events and, once there are no more, its orders.
// It reports whether it has deleted everything.
func (s *Sinks) Forget(ctx context.Context, sink string) (all bool, err error) {
	n, err := s.deleteSinkEvents(ctx, sink, anySinkEvents, sink, sinkEventsAtOnce)
	if err != nil || n == sinkEventsAtOnce {
		return false, err
	}
	return true, s.database.Write(ctx, engine.Unflushed, jobrow.Locks(noSubscription, sink), func(t *transaction.Tx) error {
		return t.Later(deleteSinkOrders, noSubscription, sink)
	})
}

func (s *Sinks) deleteSinkEvents(ctx context.Context, sink, which string, args ...any) (int, error) {
	found, err := engine.Collect(s.database.Read(ctx), func(scan engine.Scanner) (e SinkEvent, err error) {
		err = scan(&e.Subscription, &e.Number)
		return e, err
	}, which, args...)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return len(found), s.database.Write(ctx, engine.Unflushed, jobrow.Locks("", sink), func(t *transaction.Tx) error {
		for _, e := range found {
			if err := t.Later(deleteSinkEvent, e.Subscription, sink, e.Number); err != nil {
				return err
			}
		}
		return nil
	})
}

// SinkStep is what an operator orders for an event that a sink has not accepted. The
// numbers are stored.
type SinkStep uint8

// The steps.
const (
	AskSink    SinkStep = iota // try the event now
	GiveUpSink                 // give the event up now
)

// SinkOrder is an order of an operator for the holder of the sink's job.
type SinkOrder struct {
	Sink    string
	ID      [16]byte
	Number  int64 // of the event; 0 for all waiting ones
	Step    SinkStep
	Reason  string
	Ordered time.Time
	// Answer is the holder's answer, in one word; empty: none yet. Behind is the number
	// of an event of the same resource that has to be delivered before this one.
	Answer string
	Behind int64
}

// mostSinkOrders bounds the orders that a holder reads at once.
const mostSinkOrders = 256

const (
	sinkOrderColumns = `sink, id, number, step, reason, ordered, answer, behind`
	putSinkOrder     = `INSERT INTO sink_orders (subscription, ` + sinkOrderColumns +
		`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription, sink, id) DO NOTHING`
	listSinkOrders   = `SELECT ` + sinkOrderColumns + ` FROM sink_orders WHERE subscription = ? AND sink = ? ORDER BY id LIMIT ?`
	selectSinkOrder  = `SELECT ` + sinkOrderColumns + ` FROM sink_orders WHERE subscription = ? AND sink = ? AND id = ?`
	answerSinkOrder  = `UPDATE sink_orders SET answer = ?, behind = ? WHERE subscription = ? AND sink = ? AND id = ?`
	deleteSinkOrders = `DELETE FROM sink_orders WHERE subscription = ? AND sink = ?`
	deleteSinkOrder  = deleteSinkOrders + ` AND id = ?`
)

// noSubscription is the subscription of records that belong to a sink itself.
const noSubscription = ""

func scanSinkOrder(scan engine.Scanner) (o SinkOrder, err error) {
	var id []byte
	var ordered int64
	err = scan(&o.Sink, &id, &o.Number, &o.Step, &o.Reason, &ordered, &o.Answer, &o.Behind)
	copy(o.ID[:], id)
	o.Ordered = engine.TimeOf(ordered)
	return o, err
}

// PutOrder leaves an order for the holder of the sink's job, and returns it as it is
// stored.
func (s *Sinks) PutOrder(ctx context.Context, o SinkOrder) (SinkOrder, error) {
	return transaction.Commit(ctx, s.database, engine.Unflushed, jobrow.Locks(noSubscription, o.Sink), func(t *transaction.Tx) (SinkOrder, error) {
		ordered := o
		ordered.ID, ordered.Ordered = engine.NewID(), t.Now
		return ordered, t.Later(putSinkOrder, noSubscription, o.Sink, ordered.ID[:], o.Number, o.Step, o.Reason, engine.Micros(t.Now), "", 0)
	})
}

// Orders lists the orders of a sink, including answered ones.
func (s *Sinks) Orders(ctx context.Context, sink string) ([]SinkOrder, error) {
	return engine.Collect(s.database.Read(ctx), scanSinkOrder, listSinkOrders, noSubscription, sink, mostSinkOrders)
}

// Order returns an order with its answer, or engine.ErrNotFound if it was withdrawn.
func (s *Sinks) Order(ctx context.Context, sink string, id [16]byte) (SinkOrder, error) {
	o, err := scanSinkOrder(s.database.Read(ctx).One(selectSinkOrder, noSubscription, sink, id[:]))
	return o, engine.OrNotFound(err)
}

// WithdrawOrder deletes an order and returns its last state. No holder executes it from
// then on. The error is engine.ErrNotFound if there is none.
func (s *Sinks) WithdrawOrder(ctx context.Context, sink string, id [16]byte) (SinkOrder, error) {
	return transaction.Commit(ctx, s.database, engine.Unflushed, jobrow.Locks(noSubscription, sink), func(t *transaction.Tx) (SinkOrder, error) {
		o, err := scanSinkOrder(t.One(selectSinkOrder+engine.ForUpdate, noSubscription, sink, id[:]))
		if err != nil {
			return o, engine.OrNotFound(err)
		}
		return o, t.Later(deleteSinkOrder, noSubscription, sink, id[:])
	})
}

// recordAnswer records a holder's answer to an order, in the transaction that records the
// resulting changes. If the order was withdrawn meanwhile, it returns engine.ErrNotFound, so
// that the changes are not recorded either.
func (o *SinkOrder) recordAnswer(t *transaction.Tx) error {
	n, err := t.Exec(answerSinkOrder, o.Answer, o.Behind, noSubscription, o.Sink, o.ID[:])
	if err == nil && n == 0 {
		return engine.ErrNotFound
	}
	return err
}
