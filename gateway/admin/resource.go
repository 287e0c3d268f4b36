package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"portico/arm"
	"portico/events"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/routing"
)

// eventsShown is the number of the newest events shown with an ID.
const eventsShown = 20

// getResource shows all that is known of ?id=, even if no such resource exists.
func (l *listener) getResource(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	path, err := pathNamed(r.URL.Query().Get("id"), "id")
	if err != nil {
		return 0, nil, err
	}
	if _, err := l.Store.Events.Number(r.Context(), largestPage); err != nil {
		return 0, nil, fmt.Errorf("number new events: %w", err)
	}
	shown, err := l.detailOf(r.Context(), path)
	return http.StatusOK, shown, err
}

// detailOf returns all that is known of the resource at a path. Events that have no number
// yet are missing.
func (l *listener) detailOf(ctx context.Context, path *arm.Path) (shown api.ResourceDetail, err error) {
	sub, id := arm.Fold(path.Subscription()), path.String()
	known, err := l.Store.UnverifiedResource(ctx, sub, id)
	if err != nil {
		return shown, fmt.Errorf("read a resource: %w", err)
	}
	shown = api.ResourceDetail{ID: id, Waiting: l.waitingOf(known, l.Store.Now())}
	if known.Row != nil {
		row := rowOf(known.Row)
		shown.ID, shown.Row = row.ID, &row
	}
	if err := l.addGroupOrSubscription(ctx, path, &shown); err != nil {
		return shown, err
	}
	fences, holds, err := l.holdsOf(ctx, path)
	if err != nil {
		return shown, err
	}
	shown.Waiting = append(append(shown.Waiting, holds...), l.regionGone(known.Row)...)
	locks, err := l.Store.Locks.Over(ctx, sub, id)
	if err != nil {
		return shown, fmt.Errorf("read the locks on a resource: %w", err)
	}
	last, err := l.Store.Events.OfResource(ctx, sub, id, 0, eventsShown)
	if err != nil {
		return shown, fmt.Errorf("read the last events of a resource: %w", err)
	}
	undelivered, err := l.undelivered(ctx, last)
	if err != nil {
		return shown, err
	}
	shown.Waiting = append(shown.Waiting, undelivered...)
	shown.Fences, shown.Locks, shown.Events = listOf(fences, fenceOf).Value, listOf(locks, lockOf).Value, listOf(last, eventOf).Value
	return shown, nil
}

// pathNamed parses the value of a parameter, the ID of a subscription or of something in one.
func pathNamed(id, parameter string) (*arm.Path, error) {
	path := &arm.Path{}
	if path.Parse(arm.PathOf(id)) != nil || !arm.ValidGUID(path.Subscription()) {
		return nil, arm.NewError(arm.InvalidQueryParameter, parameter, "it must be the ID of a subscription, or of a group or resource in one").WithTarget(parameter)
	}
	return path, nil
}

// addGroupOrSubscription adds the group or the subscription that the path names, if any.
func (l *listener) addGroupOrSubscription(ctx context.Context, path *arm.Path, shown *api.ResourceDetail) error {
	id := path.String()
	switch {
	case arm.EqualFold(id, "/subscriptions/"+path.Subscription()):
		s, err := l.Store.Subscription(ctx, arm.Fold(path.Subscription()))
		if errors.Is(err, inventory.ErrNotFound) {
			return nil
		}
		if err == nil {
			known := subscriptionOf(s)
			shown.Subscription = &known
		}
		return err
	case path.Group() == "" || !arm.EqualFold(id, routing.GroupID(path.Subscription(), path.Group())):
		return nil
	}
	group, err := l.Store.Group(ctx, path.Subscription(), path.Group())
	if errors.Is(err, inventory.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the group of an ID: %w", err)
	}
	shown.ID = routing.GroupID(path.Subscription(), group.Name)
	shown.Group = &api.ResourceGroup{
		State: group.State.ProvisioningState(), Location: group.Location, Created: timeOf(group.Created), Changed: timeOf(group.Changed),
	}
	return nil
}

func eventOf(e events.Event) api.ResourceEvent {
	shown := api.ResourceEvent{
		Time: e.At.UTC(), Action: e.Action, Status: string(e.Status), Caller: e.Cause.ObjectID, Name: e.Cause.Name, CorrelationID: e.Cause.Correlation,
	}
	switch shown.Detail = errorText(e.Error); {
	case e.To != "":
		shown.Detail = "to " + e.To
	case e.Error == nil && e.Cause.URI != "" && !arm.EqualFold(e.Cause.URI, e.Resource):
		shown.Detail = "for " + e.Cause.Method + " " + e.Cause.URI
	}
	switch {
	case shown.Caller != "":
	case e.Cause.Operator:
		shown.Caller = "operator"
	default:
		shown.Caller = e.Cause.Job
	}
	return shown
}
