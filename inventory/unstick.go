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

// Obstacle is the reason why a step of an operator is not safe yet.
type Obstacle uint8

// The obstacles.
const (
	CallUnderWay      Obstacle = iota // a call may be running
	WriteOpen                         // a write without an answer may still take effect
	MoveOpen                          // a provider was asked to move it
	OperationFollowed                 // the provider accepted a write, and works on it
	AlreadyVerified                   // the index is sure of it
	FenceStands                       // what was written before may still take effect
)

var obstacles = [...]string{"CallUnderWay", "WriteOpen", "MoveOpen", "OperationFollowed", "NotInDoubt", "FenceStands"}

func (o Obstacle) String() string { return index.NameOf(obstacles[:], int(o)) }

// ObstacleError refuses a step of an operator that is not safe yet.
type ObstacleError struct {
	Obstacle
	Until time.Time // when the obstacle ends by time; the zero time if time does not end it
}

func (e *ObstacleError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("inventory: refused by %s", e.Obstacle)
	}
	return fmt.Sprintf("inventory: refused by %s until %s", e.Obstacle, e.Until.UTC().Format(time.RFC3339))
}

// GiveUp gives up the operation of an accepted write once it has been followed for
// the limit, as if its provider no longer knew it: a GET shows the state of the
// resource, and for the late-write window of its type (0 for Options.LateWriteWindow)
// the write counts as one without an answer. Before the limit it returns *ObstacleError,
// as the operation may run on for longer than that window; if nothing is followed,
// ErrNotFound.
func (follows *Follows) GiveUp(ctx context.Context, sub, key string, kind index.WriteKind, limit, lateWriteWindow time.Duration) error {
	if lateWriteWindow <= 0 {
		lateWriteWindow = follows.store.options.LateWriteWindow
	}
	return follows.store.write(ctx, engine.Flushed, resourceLocks(sub, key), func(t *tx) error {
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

// ForgetResource removes the row of an unverified resource that does not exist, by the
// word of an operator. It acts as on a GET of Portico's own that found nothing, and
// returns the row. The error is ErrNotFound if there is no row, and *ObstacleError if
// something under way may still create the resource, so that the operator cannot know
// yet.
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

// forgettable refuses to forget a row that something under way may make true, or that the
// index is sure of: an operator who saw nothing there looked before a client created the
// resource.
func forgettable(s index.State, now time.Time) error {
	refusal := openObstacle(s.Open, engine.Micros(now), func(in index.Intent) bool { return in.Kind == index.Put })
	switch {
	case refusal != nil:
		return refusal
	case s.Row.FollowPut:
		return &ObstacleError{Obstacle: OperationFollowed}
	case !s.Row.FollowDelete && !index.NeedsVerify(s.Row.Phase, s.Row.Verify):
		return &ObstacleError{Obstacle: AlreadyVerified}
	}
	return nil
}

// openObstacle returns the one that ends last among the calls that may be running and
// the unanswered writes that matter; nil if there is none.
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

// ForgetSworn deletes a stray that does not exist, by the word of an operator. A sweep
// that sees it reports it again. The error is ErrNotFound if there is no such stray, and
// *ObstacleError while a call for it may be running.
func (s *Strays) ForgetSworn(ctx context.Context, stray Stray) error {
	stray.Subscription, stray.Key = arm.Fold(stray.Subscription), arm.Fold(stray.Key)
	return s.store.write(ctx, engine.Flushed, resourceLocks(stray.Subscription, stray.MemberKey()), func(t *tx) error {
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

// ForgetSworn removes the fences on an ID once the time of each is over, and returns
// them. An operator vouches that nothing has landed under them, for the case that no GET
// can prove it. The error is ErrNotFound if there is no fence, and *ObstacleError while
// the time of one is not over.
func (fences *Fences) ForgetSworn(ctx context.Context, sub, key string) ([]Fence, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	return commit(ctx, fences.store, engine.Flushed, resourceLocks(sub, key), func(t *tx) ([]Fence, error) {
		all, err := engine.Collect(t, scanFence, lockFences, sub, key)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, ErrNotFound
		}
		var until time.Time
		for _, f := range all {
			if ends := f.Until.Add(fences.store.engine.ClockSlack()); ends.After(t.Now) && ends.After(until) {
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

// GiveUp ends a notice's job, and forgets the endpoint: it is notified when the
// subscription changes, or a configuration is taken over ([Notices.NotifyNewTargets]); of a
// deletion as after [Notices.Drop]. The error is *ObstacleError while the endpoint is
// being notified, and ErrNotFound if the job has ended.
func (notices *Notices) GiveUp(ctx context.Context, j jobrow.Job) error {
	switch {
	case j.State.Ended():
		return ErrNotFound
	case j.Owner != "" && j.Until.After(notices.store.engine.Now()):
		return &ObstacleError{CallUnderWay, j.Until}
	}
	n, err := ReadNotice(j)
	if err != nil {
		return err
	}
	n.Progress.Answer = "an operator gave up"
	return notices.drop(ctx, j, n, false)
}
