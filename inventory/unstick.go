package inventory

import (
	"context"
	"fmt"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
)

// Obstacle is the reason why an operator's command is not safe yet.
type Obstacle uint8

// The obstacles.
const (
	CallUnderWay      Obstacle = iota // a call may be running
	WriteOpen                         // a write without an answer may still take effect
	MoveOpen                          // a provider was called to move it
	OperationFollowed                 // the provider accepted a write and is working on it
	AlreadyVerified                   // the index is certain about the resource
	FenceStands                       // an earlier write may still take effect
)

var obstacles = [...]string{"CallUnderWay", "WriteOpen", "MoveOpen", "OperationFollowed", "NotInDoubt", "FenceStands"}

func (o Obstacle) String() string { return index.NameOf(obstacles[:], int(o)) }

// ObstacleError refuses an operator's command that is not safe yet.
type ObstacleError struct {
	Obstacle
	Until time.Time // when the obstacle ends; zero if it does not end by time
}

func (e *ObstacleError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("inventory: refused by %s", e.Obstacle)
	}
	return fmt.Sprintf("inventory: refused by %s until %s", e.Obstacle, e.Until.UTC().Format(time.RFC3339))
}

// ForgetResource removes the row of an unverified resource that does not exist, as an
// operator knows. It has the effect of a GET of Portico's own that found nothing, and
// returns the row. The error is ErrNotFound if there is no row, and *ObstacleError if the
// resource may still be created by something under way, so that the operator cannot know
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
		now, lapsed := h.expireIntents(t)
		if refusal := checkForgettable(now, t.Now); refusal != nil {
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

// checkForgettable returns an error if something under way may still create the resource,
// or if the index is certain about the row: the operator then looked before a client
// created the resource.
func checkForgettable(s index.State, now time.Time) error {
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

// openObstacle returns the obstacle that ends last among the calls that may be running and
// the unanswered writes that matter, nil if there is none.
func openObstacle(open []index.Intent, now int64, matters func(index.Intent) bool) error {
	var found *ObstacleError
	for _, in := range open {
		next := ObstacleError{CallUnderWay, engine.TimeOf(in.NotAfter)}
		switch {
		case in.Kind == index.Move:
			return &ObstacleError{Obstacle: MoveOpen}
		case !in.CallEnded && in.NotAfter > now:
		case matters(in):
			next = ObstacleError{WriteOpen, engine.TimeOf(in.Ends)}
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
