package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/events"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/eventlog"
	"portico/jobs/webhook"
)

// sinkHandlers are the handlers of sinks and of the events that sinks have not taken.
type sinkHandlers struct{ *listener }

func (l sinkHandlers) sinkOf(r *http.Request, s *webhook.Sink) (api.Sink, error) {
	shown := api.Sink{Name: s.Name, Host: s.URL.Host, State: "Starting"}
	status, err := l.Sinks.Status(r.Context(), s.Name)
	if errors.Is(err, inventory.ErrNotFound) {
		return shown, nil
	}
	if err != nil {
		return shown, err
	}
	shown.State = "Delivering"
	if !status.AwaySince.IsZero() {
		shown.State = "Away"
	}
	shown.Owner, shown.After = status.Owner, l.feedToken(status.Cursor)
	shown.Lag, shown.LagSeconds, shown.Retrying, shown.Dead = status.Lag, status.LagSeconds, status.Retrying, status.Dead
	shown.Delivered, shown.Forgotten, shown.Failure, shown.Status = status.Delivered, status.Forgotten, status.Failure, status.SinkStatus.Status
	if status.Event > 0 {
		shown.FailedEvent = eventID(status.Event)
	}
	shown.LastSuccess, shown.LastFailure, shown.AwaySince = timeOf(status.LastSuccess), timeOf(status.LastFailure), timeOf(status.AwaySince)
	return shown, nil
}

// timeOf returns nil for the zero time.
func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (l sinkHandlers) listSinks(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	list := api.Page[api.Sink]{Value: make([]api.Sink, 0, len(l.Sinks.Sinks))}
	for _, s := range l.Sinks.Sinks {
		shown, err := l.sinkOf(r, s)
		if err != nil {
			return 0, nil, err
		}
		list.Value = append(list.Value, shown)
	}
	return http.StatusOK, list, nil
}

func (l sinkHandlers) getSink(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	s, err := l.namedSink(r)
	if err != nil {
		return 0, nil, err
	}
	shown, err := l.sinkOf(r, s)
	return http.StatusOK, shown, err
}

func (l sinkHandlers) namedSink(r *http.Request) (*webhook.Sink, error) {
	return l.sinkNamed(mux.Vars(r)["name"])
}

func (l *listener) sinkNamed(name string) (*webhook.Sink, error) {
	if s := l.Sinks.Sink(name); s != nil {
		return s, nil
	}
	return nil, arm.NewError(arm.ResourceNotFound, "", "").WithMessage("There is no such sink.")
}

// testSink sends one event of the type Portico.Test, without retries, and shows the outcome.
func (l sinkHandlers) testSink(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	s, err := l.namedSink(r)
	if err != nil {
		return 0, nil, err
	}
	outcome, err := l.Sinks.Test(r.Context(), s)
	return http.StatusOK, api.SinkTest{Outcome: outcome.Name, Status: outcome.Status}, err
}

// listDead lists the dead letters of a sink after ?after=, an id.
func (l sinkHandlers) listDead(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	return sinkPage(l, r, eventlog.SinkDead, l.letterOf)
}

// listRetrying lists the events of a sink that wait for another try, after ?after=, an id.
func (l sinkHandlers) listRetrying(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	return sinkPage(l, r, eventlog.SinkRetrying, l.retryingOf)
}

// sinkPage returns a page of the sink's events in a state.
func sinkPage[T any](
	l sinkHandlers, r *http.Request, state eventlog.SinkEventState, show func(context.Context, eventlog.SinkEvent) (T, error),
) (int, any, error) {
	s, err := l.namedSink(r)
	if err != nil {
		return 0, nil, err
	}
	query := r.URL.Query()
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	after := int64(0)
	if text := query.Get("after"); text != "" {
		if after, err = eventNumber(text); err != nil {
			return 0, nil, arm.NewError(arm.InvalidQueryParameter, "after", "it must be the id of an event").WithTarget("after")
		}
	}
	found, err := l.Store.Sinks.Events(r.Context(), s.Name, state, after, limit+1)
	if err != nil {
		return 0, nil, fmt.Errorf("list the events of a sink: %w", err)
	}
	page := api.Page[T]{Value: make([]T, 0, min(len(found), limit))}
	for i, e := range found {
		if i == limit {
			page.NextLink = nextPage(r.URL.Path, query, eventID(found[i-1].Number))
			break
		}
		shown, err := show(r.Context(), e)
		if err != nil {
			return 0, nil, err
		}
		page.Value = append(page.Value, shown)
	}
	return http.StatusOK, page, nil
}

func (l sinkHandlers) letterOf(ctx context.Context, e eventlog.SinkEvent) (api.DeadLetter, error) {
	event, err := l.eventByNumber(ctx, e.Number)
	return api.DeadLetter{
		ID: eventID(e.Number), Failure: e.Failure, Status: e.Status, Attempts: e.Attempts, Since: e.Since.UTC(), GivenUp: e.Changed.UTC(),
		Reason: e.Reason, Event: event,
	}, err
}

func (l sinkHandlers) retryingOf(ctx context.Context, e eventlog.SinkEvent) (api.RetriedEvent, error) {
	event, err := l.eventByNumber(ctx, e.Number)
	shown := api.RetriedEvent{ID: eventID(e.Number), Failure: e.Failure, Status: e.Status, Attempts: e.Attempts, Event: event}
	if e.Attempts > 0 {
		since, next := e.Since.UTC(), e.Due.UTC()
		shown.Since, shown.Next = &since, &next
	}
	return shown, err
}

// eventByNumber returns an event as rendered for readers, or nil if it is no longer kept.
func (l *listener) eventByNumber(ctx context.Context, number int64) (*events.CloudEvent, error) {
	event, err := l.Store.Events.Event(ctx, number)
	if errors.Is(err, inventory.ErrNotFound) {
		return nil, nil
	}
	shown := event.CloudEvent()
	return &shown, err
}

// replayDead queues dead letters for another try: the ones in {"ids": […]}, or all.
func (l sinkHandlers) replayDead(w http.ResponseWriter, r *http.Request) (int, any, error) {
	s, err := l.namedSink(r)
	if err != nil {
		return 0, nil, err
	}
	var sent api.Replay
	if err := readBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	numbers := make([]int64, len(sent.IDs))
	for i, id := range sent.IDs {
		if numbers[i], err = eventNumber(id); err != nil {
			return 0, nil, noLetter()
		}
	}
	var done api.Replayed
	if sent.IDs == nil {
		done.Replayed, err = l.replayAll(r, s)
		return http.StatusAccepted, done, err
	}
	for _, number := range numbers {
		n, err := l.Store.Sinks.Replay(r.Context(), s.Name, number)
		if err != nil {
			return 0, nil, fmt.Errorf("replay an event: %w", err)
		}
		done.Replayed += n
	}
	return http.StatusAccepted, done, nil
}

// replayAll queues all dead letters. It stops after the configured maximum of dead letters,
// in case new ones keep coming.
func (l sinkHandlers) replayAll(r *http.Request, s *webhook.Sink) (all int, err error) {
	for all < s.Sink.Dead {
		n, err := l.Store.Sinks.Replay(r.Context(), s.Name, 0)
		if all += n; err != nil || n == 0 {
			return all, err
		}
	}
	return all, nil
}

func (l sinkHandlers) deleteDead(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	s, err := l.namedSink(r)
	if err != nil {
		return 0, nil, err
	}
	number, err := eventNumber(mux.Vars(r)["id"])
	if err != nil {
		return 0, nil, noLetter()
	}
	return http.StatusOK, api.Nothing{}, l.forgetDead(r.Context(), s, number)
}

func (l *listener) forgetDead(ctx context.Context, s *webhook.Sink, number int64) error {
	found, err := l.Store.Sinks.DeleteDead(ctx, s.Name, number)
	if err == nil && !found {
		err = noLetter()
	}
	return err
}

var errNoNumber = errors.New("not the number of an event")

func eventNumber(text string) (int64, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number <= 0 {
		return 0, errNoNumber
	}
	return number, nil
}

// eventID returns the id of an event: its number in decimal.
func eventID(number int64) string { return strconv.FormatInt(number, 10) }

func noLetter() *arm.Error {
	return arm.NewError(arm.ResourceNotFound, "", "").WithMessage("There is no such dead letter.")
}
