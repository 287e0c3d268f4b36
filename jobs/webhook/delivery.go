package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"portico/events"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/eventlog"
	"portico/jobs"
	"portico/limits"
	"portico/tracing/spans"
)

const (
	readAtOnce = 256
	// saveEvery is the least time between two records of progress. Unrecorded deliveries are
	// repeated after a kill.
	saveEvery = 500 * time.Millisecond
	// severalResources is the number of resources that fail in a row before the
	// receiver counts as away.
	severalResources = 3
	// awayProbe is the longest pause between two attempts at a receiver that is away,
	// unless it asks for a longer one: a new event may be for another part of it.
	awayProbe = 30 * time.Second
)

// delivery is the work of a job's holder.
type delivery struct {
	*Deliverer
	sink     *Sink
	receiver *receiver
	claim    *jobs.Claim
	state    state
	queue    *queue
	dead     int // dead letters, by this holder's count

	sending int // messages
	results chan sent
	// failing has the resources that failed since an event was taken, and pauses counts the
	// failures of the receiver as a whole since then.
	failing map[string]struct{}
	pauses  int
	paused  time.Time // until then nothing is sent

	answered []eventlog.SinkOrder // orders whose results the next save records

	nextRead time.Time // for the next read of the event log
	nextTick time.Time // for the next read of operators' changes
	saved    time.Time
	before   SinkStatus // as it was saved
}

// sent is the outcome of a message.
type sent struct {
	items   []*item
	missing []*item // no longer kept in the event log
	outcome Outcome
	err     error
}

func (d *Deliverer) newDelivery(s *Sink, claim *jobs.Claim, from state) *delivery {
	return &delivery{
		Deliverer: d, sink: s, receiver: newReceiver(s), claim: claim, state: from, before: from.Progress,
		queue: newQueue(from.Progress.Cursor, s.Retrying), results: make(chan sent, s.Concurrency), failing: map[string]struct{}{},
	}
}

// hasRoom reports whether to read more events, while there are some left to send.
func (x *delivery) hasRoom() bool {
	return len(x.queue.window) < max(readAtOnce/2, 2*x.sink.Batch*x.sink.Concurrency)
}

// run delivers until ctx ends or another configuration takes over.
func (x *delivery) run(ctx context.Context) error {
	defer x.receiver.close()
	if err := x.restore(ctx); err != nil {
		return err
	}
	sending, stop := context.WithCancel(ctx)
	err := x.loop(ctx, sending)
	if err != nil || ctx.Err() != nil {
		stop()
	}
	for x.sending > 0 { // each within the sink's timeout
		x.settle(<-x.results)
	}
	stop()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobs.RecordTime)
	defer cancel()
	return errors.Join(err, x.save(bounded))
}

// restore reads the events that were left behind.
func (x *delivery) restore(ctx context.Context) error {
	counts, err := x.Store.Sinks.Count(ctx, x.sink.Name)
	if err != nil {
		return err
	}
	x.dead = counts[eventlog.SinkDead]
	for after := int64(0); ; {
		rows, err := x.Store.Sinks.Events(ctx, x.sink.Name, eventlog.SinkRetrying, after, readAtOnce)
		if err != nil {
			return fmt.Errorf("read the events that are tried again: %w", err)
		}
		for _, row := range rows {
			x.queue.restore(row)
			after = row.Number
		}
		if len(rows) < readAtOnce {
			return nil
		}
	}
}

func (x *delivery) loop(ctx, sending context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := x.Store.Now()
		if err := x.readMore(ctx, now); err != nil {
			return err
		}
		x.sendDue(sending, now)
		if x.saved.Add(saveEvery).Before(now) {
			if err := x.save(ctx); err != nil {
				return err
			}
			x.saved = now
		}
		timer.Reset(max(0, x.wake().Sub(x.Store.Now())))
		select {
		case <-ctx.Done():
			return nil
		case <-x.replaced:
			return nil
		case result := <-x.results:
			x.settle(result)
		case <-timer.C:
		}
	}
}

// wake returns when there is something to do if nothing comes in.
func (x *delivery) wake() time.Time {
	next, unsaved := x.nextTick, x.unsaved()
	if x.hasRoom() {
		next = timing.Earlier(next, x.nextRead)
	}
	if unsaved {
		next = timing.Earlier(next, x.saved.Add(saveEvery+time.Millisecond))
	}
	if due, waits := x.queue.due(); waits && x.sending < x.concurrency() {
		next = timing.Earlier(next, timing.Later(due, x.paused))
	}
	return next
}

// wants reports whether the sink is sent an event.
func (x *delivery) wants(ctx context.Context, e *events.Event) (wanted bool, err error) {
	concerns := len(x.sink.Subscriptions) == 0
	for _, sub := range x.sink.Subscriptions {
		if concerns, err = x.Store.Scopes.Concerns(ctx, e, sub); concerns || err != nil {
			break
		}
	}
	return concerns && x.sink.wants(e), err
}

// readMore reads the event log, and operators' changes.
func (x *delivery) readMore(ctx context.Context, now time.Time) error {
	if !x.nextTick.After(now) {
		x.nextTick = now.Add(x.Interval)
		if err := errors.Join(x.recountDead(ctx), x.restoreReplayed(ctx)); err != nil {
			return err
		}
		if err := x.executeOrders(ctx, now); err != nil {
			return err
		}
	}
	if x.nextRead.After(now) || !x.hasRoom() {
		return nil
	}
	x.nextRead = now.Add(x.Interval)
	if _, err := x.Store.Events.Number(ctx, readAtOnce); err != nil {
		return fmt.Errorf("number new events: %w", err)
	}
	_, last, err := x.Store.Events.Numbers(ctx)
	if err != nil {
		return fmt.Errorf("read where the events end: %w", err)
	}
	found, err := x.Store.Events.KeptAfter(ctx, x.queue.read, readAtOnce)
	if err != nil {
		return fmt.Errorf("read the next events: %w", err)
	}
	missing := int64(0)
	for _, e := range found {
		wanted, err := x.wants(ctx, &e)
		if err != nil { // it is read again
			return errors.Join(err, x.recordMissed(ctx, missing))
		}
		missing += e.Number - x.queue.read - 1
		x.queue.read = e.Number
		if wanted {
			x.queue.add(&e)
		}
	}
	if len(found) == 0 && last > x.queue.read {
		missing, x.queue.read = last-x.queue.read, last
	}
	if len(found) == readAtOnce {
		x.nextRead = now
	}
	return x.recordMissed(ctx, missing)
}

// recordMissed counts and logs events that were forgotten before they were read.
func (x *delivery) recordMissed(ctx context.Context, n int64) error {
	if n == 0 {
		return nil
	}
	x.countForgotten(n)
	_, err := x.Store.Sinks.ForgetDead(ctx, x.sink.Name, x.queue.read)
	return err
}

func (x *delivery) countForgotten(n int64) {
	x.state.Progress.Forgotten += n
	x.metrics.forgotten.WithLabelValues(x.sink.Name).Add(float64(n))
	x.Log.Error("events were removed before they could be sent to a sink: they exceeded events.retention or events.most",
		zap.String("sink", x.sink.Name), zap.Int64("events", n))
}

// recountDead finds out whether operators deleted dead letters, so that there is room again.
func (x *delivery) recountDead(ctx context.Context) error {
	if x.dead < x.sink.Dead {
		return nil
	}
	if err := x.save(ctx); err != nil { // so that the count includes all
		return err
	}
	counts, err := x.Store.Sinks.Count(ctx, x.sink.Name)
	x.dead = counts[eventlog.SinkDead]
	return err
}

// restoreReplayed restores the events that operators want to be tried again.
func (x *delivery) restoreReplayed(ctx context.Context) error {
	room := min(x.queue.mostKept-x.queue.kept, readAtOnce)
	if room <= 0 {
		return nil
	}
	rows, err := x.Store.Sinks.Events(ctx, x.sink.Name, eventlog.SinkReplayed, 0, room)
	if err != nil || len(rows) == 0 {
		return err
	}
	for _, row := range rows {
		row.Since, row.Due = time.Time{}, time.Time{}
		x.queue.replay(row)
	}
	x.dead = max(0, x.dead-len(rows))
	return x.save(ctx) // so that the next read does not return them again
}

// concurrency returns how many messages may be under way: one if the receiver is away.
func (x *delivery) concurrency() int {
	if x.away() {
		return 1
	}
	return x.sink.Concurrency
}

func (x *delivery) away() bool { return !x.state.Progress.AwaySince.IsZero() }

// sendDue sends the due events, within the limits of the sink.
func (x *delivery) sendDue(ctx context.Context, now time.Time) {
	for x.sending < x.concurrency() && !x.paused.After(now) {
		limit := x.sink.Batch
		if x.away() {
			limit = 1
		}
		items := x.queue.takeDue(now, limit)
		if len(items) == 0 {
			return
		}
		x.sending++
		go func() { x.results <- x.send(ctx, items) }()
	}
}

// send sends a message. A panic becomes an error, which does not count against the receiver.
func (x *delivery) send(ctx context.Context, items []*item) (result sent) {
	span := x.Tracer.Begin(spans.Delivery, "deliver "+x.sink.Name)
	defer func() { endSpan(span, result) }()
	ctx = spans.NewContext(ctx, span)
	if p := limits.CatchPanic(func() { result = x.sendAll(ctx, items) }); p != nil {
		x.Log.Error("panic", zap.String("sink", x.sink.Name), zap.Error(p))
		return sent{items: items, err: p}
	}
	return result
}

// endSpan ends a message's span with the outcome of the message.
func endSpan(span *spans.Span, result sent) {
	span.Number(spans.Events, len(result.items)-len(result.missing))
	if result.outcome.Status > 0 {
		span.Number(spans.Status, result.outcome.Status)
	}
	span.Text(spans.Outcome, result.outcome.Name)
	if result.outcome.Name != outcomeDelivered {
		span.Fail("")
	}
	span.End()
}

// sendAll reads the events that are no longer in memory from the event log, and sends a
// message.
func (x *delivery) sendAll(ctx context.Context, items []*item) sent {
	result := sent{items: items}
	var message []events.CloudEvent
	for _, i := range items {
		event := i.event
		if event == nil {
			found, err := x.Store.Events.Event(ctx, i.number)
			if errors.Is(err, inventory.ErrNotFound) {
				result.missing = append(result.missing, i)
				continue
			}
			if err != nil {
				result.err = err
				return result
			}
			event = &found
		}
		message = append(message, event.CloudEvent())
	}
	if len(message) > 0 {
		result.outcome, result.err = x.receiver.deliver(ctx, message)
	}
	if result.outcome.Name != outcomeDelivered && result.err == nil {
		result.err = ctx.Err() // does not count against the receiver
	}
	return result
}

// settle applies the outcome of a message.
func (x *delivery) settle(result sent) {
	x.sending--
	now := x.Store.Now()
	for _, i := range result.missing {
		x.queue.drop(i)
		x.countForgotten(1)
	}
	switch {
	case result.err != nil: // not the receiver's fault
		for _, i := range result.items {
			i.due = now.Add(x.Interval)
		}
	case result.outcome.Name == "": // nothing was left to be sent
	case result.outcome.Name == outcomeDelivered:
		x.onDelivered(result, now)
	default:
		x.onFailed(result, now)
	}
	x.queue.endSending(result.items)
}

func (x *delivery) onDelivered(result sent, now time.Time) {
	progress := &x.state.Progress
	x.metrics.attempts.WithLabelValues(x.sink.Name, outcomeDelivered).Inc()
	for _, i := range result.items {
		if !i.done {
			x.queue.drop(i)
			progress.Delivered++
			x.metrics.delivered.WithLabelValues(x.sink.Name).Inc()
		}
	}
	if x.away() {
		x.Log.Info("a sink accepts events again", zap.String("sink", x.sink.Name), zap.Duration("away", now.Sub(progress.AwaySince)))
	}
	progress.LastSuccess, progress.AwaySince = now, time.Time{}
	clear(x.failing)
	x.pauses = 0
}

func (x *delivery) onFailed(result sent, now time.Time) {
	x.metrics.attempts.WithLabelValues(x.sink.Name, result.outcome.Name).Inc()
	progress := &x.state.Progress
	progress.LastFailure, progress.Failure, progress.Status, progress.Event = now, result.outcome.Name, result.outcome.Status, 0
	if len(result.items) > 1 && result.outcome.Name == outcomeRefused {
		// The answer does not name the refused event, so each is sent alone, at once.
		for _, i := range result.items {
			i.alone = true
		}
		return
	}
	progress.Event = result.items[0].number
	x.failing[result.items[0].line.name] = struct{}{}
	if result.outcome.concernsAll() || len(x.failing) >= severalResources {
		x.pause(result.outcome, now)
	}
	x.failAll(result.items, result.outcome, now)
}

// pause marks the receiver as away.
func (x *delivery) pause(o Outcome, now time.Time) {
	if !x.away() {
		x.state.Progress.AwaySince = now
		x.Log.Warn("a sink accepts no events", zap.String("sink", x.sink.Name), zap.String("outcome", o.Name), zap.Int("status", o.Status))
	}
	x.pauses++
	pause := timing.Jitter(timing.Backoff(2*x.sink.Backoff, min(x.sink.MaxBackoff, awayProbe), x.pauses))
	x.paused = now.Add(max(pause, min(o.RetryAfter, x.sink.MaxBackoff)))
}

// failAll counts a failure against the first item of each line: the others only wait for
// it.
func (x *delivery) failAll(items []*item, o Outcome, now time.Time) {
	for _, i := range items {
		i.alone = true
		if i.done || i != i.line.head() {
			continue
		}
		if i.attempts++; i.since.IsZero() {
			i.since = now
		}
		i.status, i.failure = o.Status, o.Name
		i.due = now.Add(timing.Jitter(timing.Backoff(2*x.sink.Backoff, x.sink.MaxBackoff, i.attempts)))
		switch {
		case x.isDead(i, now):
			x.giveUp(i)
		case !x.away():
			x.queue.keepLine(i.line)
			if i.kept {
				x.queue.changed[i] = eventlog.SinkRetrying
			}
		case i.kept:
			x.queue.changed[i] = eventlog.SinkRetrying
		}
	}
}

// isDead reports whether an event is given up. That requires that the receiver has taken another
// event since the first attempt, as the fault may else be the receiver's; or that the event was
// refused for long enough.
func (x *delivery) isDead(i *item, now time.Time) bool {
	refused, late := i.failure == outcomeRefused, now.Sub(i.since) > x.sink.GiveUpAfter
	takesOthers := x.state.Progress.LastSuccess.After(i.since)
	return x.dead < x.sink.Dead && (refused && late || takesOthers && (refused || late))
}

func (x *delivery) giveUp(i *item) {
	x.Log.Warn("an event was given up", zap.String("sink", x.sink.Name), zap.Int64("event", i.number), zap.Int("attempts", i.attempts),
		zap.String("outcome", i.failure), zap.Int("status", i.status))
	x.dead++
	x.queue.giveUp(i)
}

func (x *delivery) unsaved() bool {
	x.state.Progress.Cursor = x.queue.cursor()
	return x.state.Progress != x.before || len(x.queue.changed) > 0 || len(x.queue.settled) > 0 || len(x.answered) > 0
}

// save records the sink's progress.
func (x *delivery) save(ctx context.Context) error {
	if !x.unsaved() {
		return nil
	}
	kept := make([]eventlog.SinkEvent, 0, len(x.queue.changed))
	for i, state := range x.queue.changed {
		kept = append(kept, i.row(state))
	}
	changes := eventlog.SinkChanges{Payload: x.state.payload(), Kept: kept, Settled: x.queue.settled, Answered: x.answered}
	if err := x.Store.Sinks.Save(ctx, &x.claim.Job, changes); err != nil {
		return fmt.Errorf("save what became of events: %w", err)
	}
	x.queue.onSaved()
	x.answered = nil
	x.before = x.state.Progress
	return nil
}
