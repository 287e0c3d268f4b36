package inventory

import (
	"context"
	"errors"
	"slices"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// Follows has the methods for the operations of accepted writes, which jobs poll until they
// end.
type Follows struct{ store *Store }

// End records that the operation of an accepted write has ended or was lost, and flags the
// row, because only a GET shows the state of the resource. It returns the row, or
// ErrNotFound. follow is the SettleResult.Follow of the write; if another operation is
// followed by now, End changes nothing. why is the provider's error if the operation
// failed, nil otherwise.
func (follows *Follows) End(ctx context.Context, sub, key string, kind index.WriteKind, follow [16]byte, why *arm.Error) (Resource, error) {
	return commit(ctx, follows.store, engine.Flushed, resourceLocks(sub, key), func(t *tx) (Resource, error) {
		h, err := lockResource(t, arm.Fold(sub), arm.Fold(key))
		if err != nil {
			return Resource{}, err
		}
		if h.row == nil {
			return Resource{}, ErrNotFound
		}
		now, err := jobrow.Lock(t.Base(), h.subscription, followID(kind, h.key))
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && now.Incarnation != follow:
			return *h.row, nil
		case err != nil:
			return Resource{}, err
		}
		if err := h.recordFailure(t, kind, why); err != nil {
			return Resource{}, err
		}
		after, did := h.settle(t, index.FollowEnded{Kind: kind})
		if err := h.store(t, after, did); err != nil {
			return Resource{}, err
		}
		return *h.row, nil
	})
}

// Get returns a follow, or ErrNotFound if it has ended. follow is the SettleResult.Follow
// of the write.
func (follows *Follows) Get(ctx context.Context, sub, key string, kind index.WriteKind, follow [16]byte) (Follow, error) {
	job, err := follows.store.Jobs.Get(ctx, arm.Fold(sub), followID(kind, arm.Fold(key)))
	switch {
	case err != nil:
		return Follow{}, err
	case job.Incarnation != follow:
		return Follow{}, ErrNotFound
	}
	return ReadFollow(job)
}

// PollSoon schedules the next poll of the operation of a write of the kind for as soon as
// the poll floor allows.
func (follows *Follows) PollSoon(ctx context.Context, sub, key string, kind index.WriteKind) error {
	return follows.store.write(ctx, engine.Unflushed, resourceLocks(sub, key), func(t *tx) error {
		return jobrow.RunSooner(t.Base(), arm.Fold(sub), followID(kind, arm.Fold(key)), t.Now.Add(follows.store.options.PollFloor))
	})
}

// EndByJob ends a follow as [Follows.End] does, and its job too. If the caller no longer
// holds the job, it returns jobrow.ErrLeaseLost and ends nothing.
func (follows *Follows) EndByJob(ctx context.Context, j jobrow.Job, why *arm.Error) error {
	return follows.endByJob(ctx, j, why, func(f Follow, _ time.Time) any { return index.FollowEnded{Kind: f.Kind} })
}

// LoseByJob is like [Follows.EndByJob] for an operation whose outcome can no longer be
// learnt. For the late-write window of the type (0 for Options.LateWriteWindow) the write
// counts as one without an answer.
func (follows *Follows) LoseByJob(ctx context.Context, j jobrow.Job, lateWriteWindow time.Duration) error {
	if lateWriteWindow <= 0 {
		lateWriteWindow = follows.store.options.LateWriteWindow
	}
	return follows.endByJob(ctx, j, nil, func(f Follow, now time.Time) any {
		return index.FollowLost{ID: engine.NewID(), Kind: f.Kind, Ends: engine.Micros(now.Add(lateWriteWindow))}
	})
}

func (follows *Follows) endByJob(ctx context.Context, j jobrow.Job, why *arm.Error, event func(Follow, time.Time) any) error {
	return follows.store.write(ctx, engine.Flushed, resourceLocks(j.Subscription, j.Subject), func(t *tx) error {
		h, err := lockResource(t, j.Subscription, j.Subject)
		if err != nil {
			return err
		}
		now, err := jobrow.Lock(t.Base(), j.Subscription, j.ID)
		if errors.Is(err, ErrNotFound) || err == nil && (now.Token != j.Token || now.Incarnation != j.Incarnation) {
			return jobrow.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		follow, err := ReadFollow(now)
		if err != nil {
			return err
		}
		if err := h.recordFailure(t, follow.Kind, why); err != nil {
			return err
		}
		after, did := h.settle(t, event(follow, t.Now))
		if err := h.storeLost(t, after); err != nil {
			return err
		}
		return h.store(t, after, did)
	})
}

// storeLost inserts the intents of lost operations.
func (h *resourceTx) storeLost(t *tx, after index.State) error {
	for _, in := range after.Open {
		if slices.ContainsFunc(h.open, func(known index.Intent) bool { return known.ID == in.ID }) {
			continue
		}
		now := engine.Micros(t.Now)
		err := t.Later(insertIntent, h.subscription, h.key, in.ID[:], in.Kind, h.row.Group, h.row.Type, h.row.Region,
			h.row.APIVersion, "", in.Generation[:], engine.Flag(in.CreatedRow), engine.Flag(in.Overlapped), engine.Flag(in.CallEnded), now, now, in.Ends)
		if err != nil {
			return err
		}
	}
	return nil
}

// GiveUp gives up the operation of an accepted write once it has been followed for the
// limit, as if its provider no longer knew it: a GET will show the state of the resource,
// and for the late-write window of its type (0 for Options.LateWriteWindow) the write
// counts as one without an answer. Before the limit the error is *ObstacleError, because
// the operation may run for longer than that window. It is ErrNotFound if nothing is
// followed.
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
