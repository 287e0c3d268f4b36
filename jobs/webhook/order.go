package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/eventlog"
)

const (
	// orderTime is how long an order waits for the holder of the sink's job, which reads
	// orders once an interval.
	orderTime = 15 * time.Second
	// orderPace is the pause between two reads of its answer.
	orderPace = 50 * time.Millisecond
)

// ErrNotTaken means that no holder of the sink's job executed an order in time.
var ErrNotTaken = errors.New("webhook: no one who delivers has taken the order")

// Order is an operator's order about events that a sink has not taken.
type Order struct {
	Event  int64 // the number of an event; 0: all that wait, which can only be tried
	Step   eventlog.SinkStep
	Reason string // why the event is given up
}

// OrderResult is the result that the holder of a sink's job gives an order.
type OrderResult string

// The results. They are stored.
const (
	Taken   OrderResult = "taken"   // it was done
	Sending OrderResult = "sending" // the event is on its way just now: nothing was done
	Behind  OrderResult = "behind"  // an earlier event of its resource has to go first
	Untried OrderResult = "untried" // it never failed
	Full    OrderResult = "full"    // there is no room for another dead letter
	Unknown OrderResult = "unknown" // it does not wait
)

// BehindError refuses to give up an event that waits for an earlier one of its resource.
type BehindError struct{ First int64 }

func (e *BehindError) Error() string {
	return fmt.Sprintf("webhook: event %d has to go first", e.First)
}

// Order gives an order to the holder of a sink's job, on any replica, and returns its result:
// Taken or Sending, or Behind if the holder tried the first event of the resource
// instead of this one. After an error, *[BehindError] or ErrNotTaken, nothing was done.
func (d *Deliverer) Order(ctx context.Context, s *Sink, o Order) (OrderResult, error) {
	left, err := d.Store.Sinks.PutOrder(ctx, eventlog.SinkOrder{Sink: s.Name, Number: o.Event, Step: o.Step, Reason: o.Reason})
	if err != nil {
		return "", fmt.Errorf("record the order of an operator: %w", err)
	}
	awaited, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	for timing.Sleep(awaited, orderPace) == nil {
		if now, err := d.Store.Sinks.Order(awaited, s.Name, left.ID); err != nil || now.Answer != "" {
			break
		}
	}
	// The order is withdrawn in any case, and its last state counts.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), orderTime)
	defer cancel()
	known, err := d.Store.Sinks.WithdrawOrder(last, s.Name, left.ID)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return "", ErrNotTaken
	case err != nil:
		return "", fmt.Errorf("withdraw the order of an operator: %w", err)
	case known.Answer == "":
		return "", ErrNotTaken
	case OrderResult(known.Answer) == Behind && o.Step == eventlog.GiveUpSink:
		return Behind, &BehindError{known.Behind}
	}
	return OrderResult(known.Answer), nil
}

// executeOrders executes operators' orders. It answers them in the transaction that records
// the results, which only the holder of the job can commit.
func (x *delivery) executeOrders(ctx context.Context, now time.Time) error {
	orders, err := x.Store.Sinks.Orders(ctx, x.sink.Name)
	if err != nil {
		return fmt.Errorf("read the orders of operators: %w", err)
	}
	for _, o := range orders {
		switch {
		case now.Sub(o.Ordered) > 2*orderTime: // the operator's request is gone
			if _, err := x.Store.Sinks.WithdrawOrder(ctx, x.sink.Name, o.ID); err != nil && !errors.Is(err, inventory.ErrNotFound) {
				return err
			}
		case o.Answer == "":
			answer := x.execute(&o, now)
			o.Answer = string(answer)
			x.answered = append(x.answered, o)
		}
	}
	if len(x.answered) == 0 {
		return nil
	}
	return x.save(ctx)
}

// execute executes an order, if that is possible now.
func (x *delivery) execute(o *eventlog.SinkOrder, now time.Time) OrderResult {
	if o.Number == 0 && o.Step == eventlog.AskSink {
		x.queue.trigger(now)
		x.paused = now
		return Taken
	}
	i := x.queue.find(o.Number)
	switch {
	case i == nil:
		return Unknown
	case i.line.sending > 0:
		return Sending
	case i != i.line.head():
		o.Behind = i.line.head().number
	}
	if o.Step == eventlog.AskSink {
		i.line.head().due = now
		x.queue.schedule(i.line)
		x.paused = now
		if o.Behind > 0 {
			return Behind
		}
		return Taken
	}
	switch {
	case o.Behind > 0:
		return Behind
	case i.attempts == 0:
		return Untried
	case x.dead >= x.sink.Dead:
		return Full
	}
	i.reason = o.Reason
	x.Log.Warn("an operator gave up an event", zap.String("sink", x.sink.Name), zap.Int64("event", i.number),
		zap.Int("attempts", i.attempts), zap.String("outcome", i.failure), zap.Int("status", i.status))
	x.dead++
	x.queue.giveUpIdle(i)
	x.paused = now // later events may be taken
	return Taken
}
