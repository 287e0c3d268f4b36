package inventory

import (
	"context"
	"errors"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/operations"
	"portico/inventory/transaction"
)

// GroupDeleteJob is the kind of the job that deletes a group's resources, and then
// the group. Its subject is the group's key, its ID the generation that the mark gave
// the group, which stays while it is Deleting.
const GroupDeleteJob = "group-delete"

// ErrChanged refuses a write for another state of its resource: the row is gone, or
// has another generation.
var ErrChanged = errors.New("inventory: the resource has changed")

// DeletionRequest is a request to delete a group.
type DeletionRequest struct {
	// Check judges the group before any other reason; nil accepts it.
	Check func(Group) error
	// Payload makes the payload of the job if this request creates it.
	Payload func(Group) string
	// Operation is recorded for the caller. Its Follow becomes the job's ID.
	Operation operations.Operation
}

// BeginDeletion marks an Active group Deleting and creates the job that deletes it,
// in one transaction; for a group that is being deleted it returns the present job.
// From then on no client's write is admitted to the group. It refuses by ErrNotFound,
// ErrSubscriptionNotFound, *index.GroupStateError, and *LockedError where a lock
// stands on the subscription, on the group, or on anything in it.
func (s *Store) BeginDeletion(ctx context.Context, sub, name string, o DeletionRequest) (jobrow.Job, error) {
	return commit(ctx, s, engine.Flushed, transaction.GroupLocks(sub, name), func(t *tx) (jobrow.Job, error) {
		g, err := openScope(t, arm.Fold(sub), arm.Fold(name), true)
		if err != nil {
			return jobrow.Job{}, err
		}
		if o.Check != nil {
			if err := o.Check(g); err != nil {
				return jobrow.Job{}, err
			}
		}
		if err := g.admitsDelete(t); err != nil {
			return jobrow.Job{}, err
		}
		job, err := t.deletionOf(g, o)
		if err != nil {
			return jobrow.Job{}, err
		}
		operation := o.Operation
		operation.Subscription, operation.Follow = g.Subscription, job.ID
		return job, operation.Put(&t.Tx)
	})
}

// deletionOf returns the job that deletes a locked group, and creates it if there is
// none.
func (t *tx) deletionOf(g Group, o DeletionRequest) (jobrow.Job, error) {
	switch g.State {
	case index.GroupDeleting:
		job, err := jobrow.Load(t, g.Subscription, g.Generation)
		if err == nil && !job.State.Ended() {
			return job, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return jobrow.Job{}, err
		}
	case index.GroupActive:
		g.State, g.Generation = index.GroupDeleting, engine.NewID()
		if err := t.recordGroup(g, deleteVerb, events.Accepted); err != nil {
			return jobrow.Job{}, err
		}
		if err := t.mark(g); err != nil {
			return jobrow.Job{}, err
		}
	case index.GroupMoving:
		return jobrow.Job{}, &index.GroupStateError{State: g.State}
	}
	job := jobrow.Job{
		Subscription: g.Subscription, ID: g.Generation, Kind: GroupDeleteJob, Subject: g.Key,
		Incarnation: engine.NewID(), Due: t.Now, Created: t.Now, Payload: o.Payload(g),
	}
	_, err := job.Add(t.Base())
	return job, err
}

// mark writes a group's state and generation.
func (t *tx) mark(g Group) error {
	tags, err := storedTags(g.Tags)
	if err != nil {
		return err
	}
	t.ChangesScope(g.Subscription)
	return t.Later(updateGroup, g.Name, g.Location, g.ManagedBy, tags, g.State, g.Generation[:], g.ETag,
		engine.Micros(t.Now), g.Subscription, g.Key)
}

// DeleteGroupByJob is [Store.DeleteGroup] by the group's job, which ends as done with
// the payload given. jobrow.ErrLeaseLost when the caller no longer holds the job,
// ErrNotFound when it was created for another group.
func (s *Store) DeleteGroupByJob(ctx context.Context, j jobrow.Job, c DeleteGroupConditions, payload string) error {
	return s.write(ctx, engine.Flushed, transaction.GroupLocks(j.Subscription, j.Subject), func(t *tx) error {
		c.Check = func(g Group) error {
			if g.Generation != j.ID {
				return ErrNotFound
			}
			return nil
		}
		if err := closeGroup(t, j.Subscription, j.Subject, c); err != nil {
			return err
		}
		return t.endDeletion(j, jobrow.Done, payload)
	})
}

// ReopenGroup ends a deletion that failed or was cancelled: the group is Active
// again, with what is left in it, and the job ends. why is told of. It refuses by *GroupNotEmptyError
// while a write may still reach the group.
func (s *Store) ReopenGroup(ctx context.Context, j jobrow.Job, state jobrow.State, payload string, why *arm.Error) error {
	return s.write(ctx, engine.Flushed, transaction.GroupLocks(j.Subscription, j.Subject), func(t *tx) error {
		g, err := t.group(j.Subscription, j.Subject)
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && g.Generation != j.ID:
			return t.endDeletion(j, state, payload)
		case err != nil:
			return err
		}
		if err := expireGroup(t, g.Subscription, g.Key); err != nil {
			return err
		}
		var open int
		if err := t.One(countGroupIntents, g.Subscription, g.Key)(&open); err != nil {
			return err
		}
		if !index.MayReopen(open) {
			return &GroupNotEmptyError{Intents: open}
		}
		g.State, g.Generation = index.GroupActive, engine.NewID()
		if err := t.mark(g); err != nil {
			return err
		}
		if err := t.recordGroupFailed(g, deleteVerb, events.Failed, why); err != nil {
			return err
		}
		return t.endDeletion(j, state, payload)
	})
}

const forgetMembers = `DELETE FROM deletion_members WHERE subscription = ? AND job = ?`

func (t *tx) endDeletion(j jobrow.Job, state jobrow.State, payload string) error {
	if err := j.End(t.Base(), state, payload, t.Now.Add(t.store.options.JobRecords)); err != nil {
		return err
	}
	return t.Later(forgetMembers, j.Subscription, j.ID[:])
}
