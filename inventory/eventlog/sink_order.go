package eventlog

import (
	"context"
	"time"

	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// SinkStep is what an operator orders of an event that a sink has not taken. The numbers
// are stored.
type SinkStep uint8

// The steps.
const (
	AskSink    SinkStep = iota // it is tried now
	GiveUpSink                 // it is given up now
)

// SinkOrder is an order of an operator, for whoever holds the sink's job.
type SinkOrder struct {
	Sink    string
	ID      [16]byte
	Number  int64 // of the event; 0 for all that wait
	Step    SinkStep
	Reason  string
	Ordered time.Time
	// Answer is what the holder said, in one word; empty: nothing yet. Behind is the
	// number of an event of the same resource that has to go first.
	Answer string
	Behind int64
}

// mostSinkOrders bounds the orders that a holder reads at once.
const mostSinkOrders = 256

const (
	sinkOrderColumns = `sink, id, number, step, reason, ordered, answer, behind`
	putSinkOrder     = `INSERT INTO sink_orders (subscription, ` + sinkOrderColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription, sink, id) DO NOTHING`
	listSinkOrders   = `SELECT ` + sinkOrderColumns + ` FROM sink_orders WHERE subscription = ? AND sink = ? ORDER BY id LIMIT ?`
	selectSinkOrder  = `SELECT ` + sinkOrderColumns + ` FROM sink_orders WHERE subscription = ? AND sink = ? AND id = ?`
	answerSinkOrder  = `UPDATE sink_orders SET answer = ?, behind = ? WHERE subscription = ? AND sink = ? AND id = ?`
	deleteSinkOrders = `DELETE FROM sink_orders WHERE subscription = ? AND sink = ?`
	deleteSinkOrder  = deleteSinkOrders + ` AND id = ?`
)

// ofNone is the subscription of what belongs to a sink as a whole.
const ofNone = ""

func scanSinkOrder(scan engine.Scanner) (o SinkOrder, err error) {
	var id []byte
	var ordered int64
	err = scan(&o.Sink, &id, &o.Number, &o.Step, &o.Reason, &ordered, &o.Answer, &o.Behind)
	copy(o.ID[:], id)
	o.Ordered = engine.Moment(ordered)
	return o, err
}

// PutOrder leaves an order for whoever holds the sink's job, and returns it as it is
// known from then on.
func (s *Sinks) PutOrder(ctx context.Context, o SinkOrder) (SinkOrder, error) {
	return transaction.Commit(ctx, s.database, engine.Unflushed, jobrow.Locks(ofNone, o.Sink), func(t *transaction.Tx) (SinkOrder, error) {
		ordered := o
		ordered.ID, ordered.Ordered = engine.NewID(), t.Now
		return ordered, t.Later(putSinkOrder, ofNone, o.Sink, ordered.ID[:], o.Number, o.Step, o.Reason, engine.Micros(t.Now), "", 0)
	})
}

// Orders lists the orders of a sink, those that were answered among them.
func (s *Sinks) Orders(ctx context.Context, sink string) ([]SinkOrder, error) {
	return engine.Collect(s.database.Read(ctx), scanSinkOrder, listSinkOrders, ofNone, sink, mostSinkOrders)
}

// Order returns an order with its answer; engine.ErrNotFound where it was withdrawn.
func (s *Sinks) Order(ctx context.Context, sink string, id [16]byte) (SinkOrder, error) {
	o, err := scanSinkOrder(s.database.Read(ctx).One(selectSinkOrder, ofNone, sink, id[:]))
	return o, engine.OrNotFound(err)
}

// WithdrawOrder removes an order, and returns it as it was at last: no holder takes it
// from then on. engine.ErrNotFound where there is none.
func (s *Sinks) WithdrawOrder(ctx context.Context, sink string, id [16]byte) (SinkOrder, error) {
	return transaction.Commit(ctx, s.database, engine.Unflushed, jobrow.Locks(ofNone, sink), func(t *transaction.Tx) (SinkOrder, error) {
		o, err := scanSinkOrder(t.One(selectSinkOrder+engine.ForUpdate, ofNone, sink, id[:]))
		if err != nil {
			return o, engine.OrNotFound(err)
		}
		return o, t.Later(deleteSinkOrder, ofNone, sink, id[:])
	})
}

// answer records what a holder has said to an order, in the transaction that records what
// it has done. An order that was withdrawn meanwhile is answered engine.ErrNotFound, so that what
// was to be done is not recorded either.
func (o *SinkOrder) answer(t *transaction.Tx) error {
	n, err := t.Exec(answerSinkOrder, o.Answer, o.Behind, ofNone, o.Sink, o.ID[:])
	if err == nil && n == 0 {
		return engine.ErrNotFound
	}
	return err
}
