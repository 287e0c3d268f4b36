package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory/eventlog"
	"portico/jobs/webhook"
)

// orderRetry is the Retry-After if no replica took an order in time.
const orderRetry = 5 * time.Second

// stuckSink finds one event that a sink has not taken, or all of them.
func (l unsticker) stuckSink(name, event, reason string) (*stuck, error) {
	s, err := l.sinkNamed(name)
	if err != nil {
		return nil, err
	}
	if event == "" {
		const one = "For a sink, giveUp and forget need an event. The list of retried events has it, and the sink shows the event that failed last."
		return &stuck{
			name: "sink/" + s.Name, giveUp: unsupported(one), forget: unsupported(one),
			ask: func(ctx context.Context) (api.Unstuck, error) { return l.retryNow(ctx, s, 0) },
		}, nil
	}
	number, err := eventNumber(event)
	if err != nil {
		return nil, arm.NewError(arm.InvalidRequestContent, "event must be a sequence number").WithTarget("event")
	}
	return &stuck{
		name:   "sink/" + s.Name + "/" + eventID(number),
		ask:    func(ctx context.Context) (api.Unstuck, error) { return l.retryNow(ctx, s, number) },
		giveUp: func(ctx context.Context) (api.Unstuck, error) { return l.giveUpEvent(ctx, s, number, reason) },
		forget: func(ctx context.Context) (api.Unstuck, error) {
			return api.Unstuck{Outcome: "The dead letter was deleted."}, l.forgetDead(ctx, s, number)
		},
	}, nil
}

// orderDryRun is the result of a dry run: only the replica that delivers to the sink knows
// what an order would do.
var orderDryRun = api.Unstuck{Outcome: "The replica that delivers to the sink would be notified, and report the outcome."}

// retryNow orders the delivery of one event now or, with number 0, of all that wait.
func (l unsticker) retryNow(ctx context.Context, s *webhook.Sink, number int64) (done api.Unstuck, err error) {
	if l.dry {
		return orderDryRun, nil
	}
	answer, err := l.Sinks.Order(ctx, s, webhook.Order{Event: number, Step: eventlog.AskSink})
	if err != nil {
		return done, sinkRefusal(err)
	}
	switch answer {
	case webhook.Taken:
		done.Outcome = "Waiting events are retried now."
	case webhook.Sending:
		done.Outcome = "The event is being sent right now."
	case webhook.Behind:
		done.Outcome = "The first waiting event of the same resource is retried now; this event follows it."
	default:
		return done, l.notWaiting(ctx, s, number)
	}
	return done, nil
}

// giveUpEvent turns an event into a dead letter.
func (l unsticker) giveUpEvent(ctx context.Context, s *webhook.Sink, number int64, reason string) (done api.Unstuck, err error) {
	if l.dry {
		return orderDryRun, nil
	}
	answer, err := l.Sinks.Order(ctx, s, webhook.Order{Event: number, Step: eventlog.GiveUpSink, Reason: reason})
	if err != nil {
		return done, sinkRefusal(err)
	}
	var text string
	switch answer {
	case webhook.Taken:
		return api.Unstuck{Outcome: "The event is now a dead letter: it can be replayed or forgotten. Events that waited for it are retried."}, nil
	case webhook.Sending:
		text = "The event is being sent right now: wait for the outcome."
	case webhook.Untried:
		text = "The event was never sent to the receiver: ask first."
	case webhook.Full:
		text = "The sink has the maximum number of dead letters: replay or forget some."
	default:
		return done, l.notWaiting(ctx, s, number)
	}
	return done, arm.NewError(arm.Conflict).WithMessage("%s", text)
}

// notWaiting returns the error for an event that does not wait.
func (l unsticker) notWaiting(ctx context.Context, s *webhook.Sink, number int64) error {
	dead, err := l.Store.Sinks.Events(ctx, s.Name, eventlog.SinkDead, number-1, 1)
	switch {
	case err != nil:
		return fmt.Errorf("read the dead letters of a sink: %w", err)
	case slices.ContainsFunc(dead, func(e eventlog.SinkEvent) bool { return e.Number == number }):
		return arm.NewError(arm.Conflict).WithMessage("The event was already given up: replay it, or forget it.")
	}
	return arm.NewError(arm.ResourceNotFound, "", "").WithMessage("The event is not waiting: the sink has received it, excludes it, or has not read " +
		"it yet.")
}

func sinkRefusal(err error) error {
	if behind, ok := errors.AsType[*webhook.BehindError](err); ok {
		return arm.NewError(arm.Conflict).WithMessage("The event waits for the event %d of the same resource: give that up first.", behind.First)
	}
	if errors.Is(err, webhook.ErrNotTaken) {
		fault := arm.NewError(arm.ServiceUnavailable, "").WithMessage("No replica that delivers to the sink took the order in time. Nothing was done.")
		fault.RetryAfter = orderRetry
		return fault
	}
	return err
}
