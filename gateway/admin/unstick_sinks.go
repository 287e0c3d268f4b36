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
		const one = "Of a sink one event is given up, or forgotten: name it. Those that are tried again are listed, and the one that failed last is shown."
		return &stuck{
			name: "sink/" + s.Name, giveUp: unsupported(one), forget: unsupported(one),
			ask: func(ctx context.Context) (api.Unstuck, error) { return l.retryNow(ctx, s, 0) },
		}, nil
	}
	number, err := eventNumber(event)
	if err != nil {
		return nil, arm.NewError(arm.InvalidRequestContent, "an event is named by its sequence, a number").About("event")
	}
	return &stuck{
		name:   "sink/" + s.Name + "/" + eventID(number),
		ask:    func(ctx context.Context) (api.Unstuck, error) { return l.retryNow(ctx, s, number) },
		giveUp: func(ctx context.Context) (api.Unstuck, error) { return l.giveUpEvent(ctx, s, number, reason) },
		forget: func(ctx context.Context) (api.Unstuck, error) {
			return api.Unstuck{Outcome: "The dead letter is forgotten."}, l.forgetDead(ctx, s, number)
		},
	}, nil
}

// orderDryRun is the result of a dry run: only the replica that delivers to the sink knows
// what an order would do.
var orderDryRun = api.Unstuck{Outcome: "Whoever delivers to the sink is told, and says what comes of it."}

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
		done.Outcome = "What waits is tried now."
	case webhook.Sending:
		done.Outcome = "It is being sent just now."
	case webhook.Behind:
		done.Outcome = "The first event of its resource that waits is tried now. It comes behind that."
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
		return api.Unstuck{Outcome: "The event is a dead letter now: it can be replayed, or forgotten. What waited for it is tried."}, nil
	case webhook.Sending:
		text = "The event is being sent just now: wait for what comes of it."
	case webhook.Untried:
		text = "The receiver was never sent the event: ask first."
	case webhook.Full:
		text = "As many dead letters are kept as may be: replay or forget some."
	default:
		return done, l.notWaiting(ctx, s, number)
	}
	return done, arm.NewError(arm.Conflict).Saying("%s", text)
}

// notWaiting returns the error for an event that does not wait.
func (l unsticker) notWaiting(ctx context.Context, s *webhook.Sink, number int64) error {
	dead, err := l.Store.Sinks.Events(ctx, s.Name, eventlog.SinkDead, number-1, 1)
	switch {
	case err != nil:
		return fmt.Errorf("read the dead letters of a sink: %w", err)
	case slices.ContainsFunc(dead, func(e eventlog.SinkEvent) bool { return e.Number == number }):
		return arm.NewError(arm.Conflict).Saying("The event was given up: replay it, or forget it.")
	}
	return arm.NewError(arm.ResourceNotFound, "", "").Saying("The event does not wait: the sink has taken it, does not want it, or has not come to it.")
}

func sinkRefusal(err error) error {
	if behind, ok := errors.AsType[*webhook.BehindError](err); ok {
		return arm.NewError(arm.Conflict).Saying("The event waits for the event %d of the same resource: give that up first.", behind.First)
	}
	if errors.Is(err, webhook.ErrNotTaken) {
		fault := arm.NewError(arm.ServiceUnavailable, "").Saying("No one who delivers to the sink has taken the order in time. Nothing was done.")
		fault.RetryAfter = orderRetry
		return fault
	}
	return err
}
