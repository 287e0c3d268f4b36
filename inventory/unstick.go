package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// Obstacle is what keeps a step of an operator from being safe.
type Obstacle uint8

// The obstacles.
const (
	CallUnderWay      Obstacle = iota // a call may be running
	WriteOpen                         // a write without an answer may still take effect
	MoveOpen                          // a provider was told to move it
	OperationFollowed                 // the provider accepted a write, and works on it
	NotInDoubt                        // the index is sure of it
	FenceStands                       // what was written before may still take effect
)

var obstacles = [...]string{"CallUnderWay", "WriteOpen", "MoveOpen", "OperationFollowed", "NotInDoubt", "FenceStands"}

func (o Obstacle) String() string { return index.NameOf(obstacles[:], int(o)) }

// ObstacleError refuses a step of an operator.
type ObstacleError struct {
	Obstacle
	Until time.Time // when it ends by time; the zero time where time does not end it
}

func (e *ObstacleError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("inventory: refused by %s", e.Obstacle)
	}
	return fmt.Sprintf("inventory: refused by %s until %s", e.Obstacle, e.Until.UTC().Format(time.RFC3339))
}

// GiveUpFollow gives up the operation of an accepted write once it has been followed for
// the limit: as where its provider no longer knows it, a GET tells what became of the
// resource, and for the late-write window of its type (0 for Options.LateWriteWindow) it
// counts as a write without an answer. *ObstacleError before that, as it may run on for
// longer than that window; ErrNotFound where nothing is followed.
func (s *Store) GiveUpFollow(ctx context.Context, sub, key string, kind index.WriteKind, limit, lateWriteWindow time.Duration) error {
	if lateWriteWindow <= 0 {
		lateWriteWindow = s.options.LateWriteWindow
	}
	return s.write(ctx, engine.Flushed, resourceLocks(sub, key), func(t *tx) error {
		h, err := lockResource(t, arm.Fold(sub), arm.Fold(key))
		if err != nil {
			return err
		}
		job, err := jobrow.Lock(t.Base(), h.subscription, followID(kind, h.key))
		switch {
		case err != nil:
			return err
		case job.State.Ended():
			return ErrNotFound
		case job.Created.Add(limit).After(t.Now):
			return &ObstacleError{OperationFollowed, job.Created.Add(limit)}
		}
		after, did := h.settle(t, index.FollowLost{ID: engine.NewID(), Kind: kind, Ends: engine.Micros(t.Now.Add(lateWriteWindow))})
		if err := h.storeLost(t, after); err != nil {
			return err
		}
		return h.store(t, after, did)
	})
}

// ForgetResource removes the row of a resource that is in doubt, and of which an operator
// says that it does not exist: as a GET of Portico's own would that said so. It returns
// the row. ErrNotFound where there is none, *ObstacleError where the operator cannot know
// that yet, as something under way may make it.
func (s *Store) ForgetResource(ctx context.Context, sub, key string) (Resource, error) {
	return commit(ctx, s, engine.Flushed, resourceLocks(sub, key), func(t *tx) (Resource, error) {
		h, err := lockResource(t, arm.Fold(sub), arm.Fold(key))
		if err != nil {
			return Resource{}, err
		}
		if h.row == nil {
			return Resource{}, ErrNotFound
		}
		row := *h.row
		now, lapsed := h.lapse(t)
		if refusal := forgettable(now, t.Now); refusal != nil {
			return Resource{}, refusal
		}
		after, did := index.Settle(now, index.Observed{Generation: now.Row.Generation}, engine.NewID())
		did.Tombstone, did.Orphaned = did.Tombstone || lapsed.Tombstone, did.Orphaned || lapsed.Orphaned
		if after.Row != nil {
			return Resource{}, fmt.Errorf("inventory: the row of %s stays", h.key)
		}
		if err := h.store(t, after, did); err != nil {
			return Resource{}, err
		}
		err = t.recordGone(&row, events.Sworn)
		return row, err
	})
}

// forgettable refuses to forget a row that something under way may make true, or of which
// the index is sure: whoever saw nothing there saw it before a client made it.
func forgettable(s index.State, now time.Time) error {
	refusal := openObstacle(s.Open, engine.Micros(now), func(in index.Intent) bool { return in.Kind == index.Put })
	switch {
	case refusal != nil:
		return refusal
	case s.Row.FollowPut:
		return &ObstacleError{Obstacle: OperationFollowed}
	case !s.Row.FollowDelete && !index.NeedsVerify(s.Row.Phase, s.Row.Verify):
		return &ObstacleError{Obstacle: NotInDoubt}
	}
	return nil
}

// openObstacle returns the last to end of the calls that may be running, and of the
// writes without an answer that matter; nil for none.
func openObstacle(open []index.Intent, now int64, matters func(index.Intent) bool) error {
	var found *ObstacleError
	for _, in := range open {
		next := ObstacleError{CallUnderWay, engine.Moment(in.NotAfter)}
		switch {
		case in.Kind == index.Move:
			return &ObstacleError{Obstacle: MoveOpen}
		case !in.CallEnded && in.NotAfter > now:
		case matters(in):
			next = ObstacleError{WriteOpen, engine.Moment(in.Ends)}
		default:
			continue
		}
		if found == nil || next.Until.After(found.Until) {
			found = &next
		}
	}
	if found == nil {
		return nil
	}
	return found
}

// ForgetSwornStray deletes a stray of which an operator says that it does not exist. A sweep
// that sees it reports it anew. ErrNotFound where there is none, *ObstacleError while a
// call for it may be running.
func (s *Store) ForgetSwornStray(ctx context.Context, stray Stray) error {
	stray.Subscription, stray.Key = arm.Fold(stray.Subscription), arm.Fold(stray.Key)
	return s.write(ctx, engine.Flushed, resourceLocks(stray.Subscription, stray.MemberKey()), func(t *tx) error {
		h, err := lockResource(t, stray.Subscription, stray.MemberKey())
		if err != nil {
			return err
		}
		if refusal := openObstacle(h.open, engine.Micros(t.Now), func(index.Intent) bool { return false }); refusal != nil {
			return refusal
		}
		n, err := t.Exec(deleteStray, stray.Subscription, stray.Region, stray.Key)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
}

// ForgetFences removes the fences on an ID once the time of each is over: an operator says
// that nothing has landed under them, where no GET can prove that. It returns them.
// ErrNotFound where there is none, *ObstacleError while the time of one is not over.
func (s *Store) ForgetFences(ctx context.Context, sub, key string) ([]Fence, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	return commit(ctx, s, engine.Flushed, resourceLocks(sub, key), func(t *tx) ([]Fence, error) {
		all, err := engine.Collect(t, scanFence, lockFences, sub, key)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, ErrNotFound
		}
		var until time.Time
		for _, f := range all {
			if ends := f.Until.Add(s.engine.ClockSlack()); ends.After(t.Now) && ends.After(until) {
				until = ends
			}
		}
		if !until.IsZero() {
			return nil, &ObstacleError{FenceStands, until}
		}
		for _, f := range all {
			if _, err := t.Exec(deleteFence, sub, key, f.Intent[:]); err != nil {
				return nil, err
			}
		}
		if err := jobrow.Delete(t.Base(), sub, fenceID(key)); err != nil {
			return nil, err
		}
		payload := events.Payload{Resource: all[0].ID, Action: arm.TypeIn(all[0].ID) + deleteVerb, Origin: events.Sworn, Status: events.Succeeded}
		return all, errors.Join(t.writeTombstoneAt(sub, key), t.Record(sub, key, payload))
	})
}

// GiveUpNotice ends a notice's job as for an endpoint that the map lacks: the endpoint is
// notified again when the map has it again. *ObstacleError while it is being notified,
// ErrNotFound where the job has ended.
func (s *Store) GiveUpNotice(ctx context.Context, j jobrow.Job) error {
	switch {
	case j.State.Ended():
		return ErrNotFound
	case j.Owner != "" && j.Until.After(s.engine.Now()):
		return &ObstacleError{CallUnderWay, j.Until}
	}
	n, err := ReadNotice(j)
	if err != nil {
		return err
	}
	n.Progress.Answer = "an operator gave up"
	return s.DropNotice(ctx, j, n)
}
