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
	"portico/inventory/index"
	"portico/operations/groupdelete"
)

// eventsShown is how many of the last events of an ID are shown with it.
const eventsShown = 20

// getResource shows all that is known of ?id=, whether or not there is anything under it.
func (l *listener) getResource(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	path, err := pathNamed(r.URL.Query().Get("id"), "id")
	if err != nil {
		return 0, nil, err
	}
	if _, err := l.Store.NumberEvents(r.Context(), largestPage); err != nil {
		return 0, nil, err
	}
	shown, err := l.detailOf(r.Context(), path)
	return http.StatusOK, shown, err
}

// detailOf is all that is known of what a path names. Of its events it has those that are
// numbered.
func (l *listener) detailOf(ctx context.Context, path *arm.Path) (shown api.ResourceDetail, err error) {
	sub, id := arm.Fold(path.Subscription()), path.String()
	known, err := l.Store.UnverifiedResource(ctx, sub, id)
	if err != nil {
		return shown, err
	}
	shown = api.ResourceDetail{ID: id, Waiting: waitingOf(known, l.Store.Now())}
	if known.Row != nil {
		row := rowOf(known.Row)
		shown.ID, shown.Row = row.ID, &row
	}
	deletion, err := l.deletionOf(ctx, path)
	if err != nil {
		return shown, err
	}
	shown.Waiting = append(shown.Waiting, deletion...)
	fences, err := l.Store.Fences(ctx, sub, id)
	if err != nil {
		return shown, err
	}
	locks, err := l.Store.LocksHolding(ctx, sub, id)
	if err != nil {
		return shown, err
	}
	last, err := l.Store.ResourceEvents(ctx, sub, id, 0, eventsShown)
	if err != nil {
		return shown, err
	}
	shown.Fences, shown.Locks, shown.Events = listOf(fences, fenceOf).Value, listOf(locks, lockOf).Value, listOf(last, eventOf).Value
	return shown, nil
}

// pathNamed reads the ID of a subscription, or of something in one, that a parameter has.
func pathNamed(id, parameter string) (*arm.Path, error) {
	path := &arm.Path{}
	if path.Parse(arm.PathOf(id)) != nil || !arm.ValidGUID(path.Subscription()) {
		return nil, arm.NewError(arm.InvalidQueryParameter, parameter, "it is the ID of a subscription, or of something in one").About(parameter)
	}
	return path, nil
}

// deletionOf is the deletion of a group that is under way, if the path names one.
func (l *listener) deletionOf(ctx context.Context, path *arm.Path) ([]api.Waiting, error) {
	if path.Group() == "" || path.Hops() > 0 {
		return nil, nil
	}
	group, err := l.Store.Group(ctx, path.Subscription(), path.Group())
	if errors.Is(err, inventory.ErrNotFound) || err == nil && group.State != index.GroupDeleting {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	job, err := l.Store.Job(ctx, group.Subscription, group.Generation)
	if errors.Is(err, inventory.ErrNotFound) || err == nil && job.State.Ended() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := api.Waiting{Reason: api.DeletionUnderWay, Message: reasonMessages[api.DeletionUnderWay], Since: job.Created, Job: job.Name(), Attempts: job.Attempts}
	if job.Owner == "" {
		w.Next = &job.Due
	}
	if p, err := groupdelete.ReadPayload(job); err == nil {
		w.LastOutcome = fmt.Sprintf("%d of %d resources are deleted.", p.Progress.Deleted, p.Progress.Total)
	}
	until := job.Created.Add(l.Config.GroupDelete.Limit)
	w.Until = &until
	return []api.Waiting{w}, nil
}

func eventOf(e events.Event) api.ResourceEvent {
	shown := api.ResourceEvent{Time: e.At.UTC(), Action: e.Action, Status: string(e.Status), Caller: e.Cause.ObjectID, CorrelationID: e.Cause.Correlation}
	switch {
	case shown.Caller != "":
	case e.Cause.Operator:
		shown.Caller = "operator"
	default:
		shown.Caller = e.Cause.Job
	}
	return shown
}
