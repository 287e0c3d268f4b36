package inventory

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/inventory/transaction"
)

// GroupDeleteJob is the kind of the job that deletes a group's resources, and then
// the group. Its subject is the group's key, its ID the generation that the mark gave
// the group, which stays while it is Deleting.
const GroupDeleteJob = "group-delete"

// ErrChanged refuses a write that was meant for an earlier state of its resource: the
// row is gone, or has another generation.
var ErrChanged = errors.New("inventory: the resource has changed")

// DeletionRequest is a request to delete a group.
type DeletionRequest struct {
	// Check judges the group before any other reason; nil accepts it.
	Check func(Group) error
	// Payload makes the payload of the job if this request creates it.
	Payload func(Group) string
	// Operation is recorded for the caller. Its Follow becomes the job's ID.
	Operation polls.Operation
}

// BeginDeletion marks an Active group Deleting and creates the job that deletes it, in
// one transaction; for a group that is being deleted it returns the present job. From
// then on the group admits no client's write. BeginDeletion refuses by ErrNotFound,
// ErrSubscriptionNotFound, *index.GroupStateError, and *LockedError where a lock stands
// on the subscription, on the group, or on anything in it.
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

// deletionOf returns the job that deletes a locked group. If there is none, it creates
// one.
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

// mark sets a group's state and generation.
func (t *tx) mark(g Group) error {
	tags, err := storedTags(g.Tags)
	if err != nil {
		return err
	}
	t.ChangesScope(g.Subscription)
	return t.Later(updateGroup, g.Name, g.Location, g.ManagedBy, tags, g.State, g.Generation[:], g.ETag,
		engine.Micros(t.Now), g.Subscription, g.Key)
}

// DeleteGroupByJob is [Store.DeleteGroup] for the group's job, which it ends as done
// with the given payload. The error is jobrow.ErrLeaseLost if the caller no longer
// holds the job, and ErrNotFound if the job was created for another group.
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

// ReopenGroup ends a deletion that failed or was cancelled: the group is Active again, with all
// that is left in it, and the job ends. The group's event reports why. ReopenGroup refuses by
// *GroupNotEmptyError while a write may still reach the group.
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

// DeletionMember is a deletion's record of one resource: Payload is the deletion's own
// JSON, Error the provider's last error, empty for none.
type DeletionMember struct {
	Key            string // a row's, or [Stray.MemberKey]
	Payload, Error string
}

const (
	listMembers = `SELECT member, payload FROM deletion_members WHERE subscription = ? AND job = ? AND member > ?
		ORDER BY member LIMIT ?`
	selectMemberError = `SELECT error FROM deletion_members WHERE subscription = ? AND job = ? AND member = ?`
	putMember         = `INSERT INTO deletion_members (subscription, job, member, payload, error) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, job, member) DO UPDATE SET payload = excluded.payload,
			error = CASE WHEN excluded.error = '' THEN deletion_members.error ELSE excluded.error END`
	putMemberError = `INSERT INTO deletion_members (subscription, job, member, payload, error) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, job, member) DO UPDATE SET error = excluded.error`
)

// DeletionMembers lists a deletion's records by key, without the errors.
func (s *Store) DeletionMembers(ctx context.Context, j jobrow.Job, after string, limit int) ([]DeletionMember, error) {
	return engine.Collect(s.engine.Read(ctx), func(scan engine.Scanner) (m DeletionMember, err error) {
		err = scan(&m.Key, &m.Payload)
		return m, err
	}, listMembers, j.Subscription, j.ID[:], after, engine.AtMost(limit))
}

// DeletionError returns the provider's last error for a resource, empty for none.
func (s *Store) DeletionError(ctx context.Context, j jobrow.Job, key string) (text string, err error) {
	err = s.engine.Read(ctx).One(selectMemberError, j.Subscription, j.ID[:], key)(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// SaveDeletionProgress saves a deletion's records of some resources, and its payload
// unless that is empty. An empty Error keeps the last one. The commit is not flushed: a
// lost record only repeats a call. The error is jobrow.ErrLeaseLost if the caller no
// longer holds the job.
func (s *Store) SaveDeletionProgress(ctx context.Context, j *jobrow.Job, payload string, members []DeletionMember) error {
	return s.writeForJob(ctx, engine.Unflushed, groupRecordLocks(j.Subscription, j.Subject), j, payload, func(t *tx, held jobrow.Job) error {
		if err := held.CheckHeld(t.Base()); err != nil {
			return err
		}
		if payload != "" {
			if err := held.Save(t.Base(), payload); err != nil {
				return err
			}
		}
		for _, m := range members {
			if err := t.Later(putMember, held.Subscription, held.ID[:], m.Key, m.Payload, m.Error); err != nil {
				return err
			}
		}
		return nil
	})
}

// RecordDeletionError keeps the provider's error for a resource whose accepted delete
// failed, if a deletion of its group is under way.
func (s *Store) RecordDeletionError(ctx context.Context, sub, group, key, text string) error {
	return s.write(ctx, engine.Unflushed, groupRecordLocks(sub, group), func(t *tx) error {
		g, err := t.group(sub, group)
		if errors.Is(err, ErrNotFound) || err == nil && g.State != index.GroupDeleting {
			return nil
		}
		if err != nil {
			return err
		}
		return t.Later(putMemberError, g.Subscription, g.Generation[:], arm.Fold(key), "", text)
	})
}

// TypeOrder says that resources of one type could not be deleted while resources of
// another existed: a hint for later deletions, and nothing else.
type TypeOrder struct {
	Before, After string // folded full types
	Seen          time.Time
}

const (
	listTypeOrder = `SELECT before_type, after_type, seen FROM deletion_order WHERE subscription = ? AND seen > ?
		ORDER BY seen DESC, after_type, before_type LIMIT ?`
	putTypeOrder = `INSERT INTO deletion_order (subscription, after_type, before_type, seen) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, after_type, before_type) DO UPDATE SET seen = excluded.seen`
	forgetTypeOrder = `DELETE FROM deletion_order WHERE subscription = ? AND seen <= ?`

	// mostTypeOrders bounds the orders that are kept of a subscription.
	mostTypeOrders = 1000
	// typeOrderAge is how long an order counts after it was last seen. Deletions follow
	// a known order, so a valid one is hardly ever seen again; without this limit an
	// order that no longer holds would stay for good.
	typeOrderAge = 30 * 24 * time.Hour
)

func scanTypeOrder(scan engine.Scanner) (o TypeOrder, err error) {
	var seen int64
	err = scan(&o.Before, &o.After, &seen)
	o.Seen = engine.Moment(seen)
	return o, err
}

// TypeOrders lists the orders learnt in a subscription, the newest first.
func (s *Store) TypeOrders(ctx context.Context, sub string) ([]TypeOrder, error) {
	horizon := s.engine.Now().Add(-typeOrderAge)
	return engine.Collect(s.engine.Read(ctx), scanTypeOrder, listTypeOrder, arm.Fold(sub), engine.Micros(horizon), mostTypeOrders)
}

// LearnTypeOrders adds orders, and forgets those that are too old or too many. The
// store sets Seen.
func (s *Store) LearnTypeOrders(ctx context.Context, sub string, learnt []TypeOrder) error {
	return s.write(ctx, engine.Unflushed, transaction.RecordLocks(sub), func(t *tx) error {
		for _, o := range learnt[:min(len(learnt), mostTypeOrders)] {
			if err := t.Later(putTypeOrder, arm.Fold(sub), arm.Fold(o.After), arm.Fold(o.Before), engine.Micros(t.Now)); err != nil {
				return err
			}
		}
		kept, err := engine.Collect(t, scanTypeOrder, listTypeOrder, arm.Fold(sub), engine.Micros(t.Now.Add(-typeOrderAge)), mostTypeOrders+1)
		if err != nil {
			return err
		}
		horizon := t.Now.Add(-typeOrderAge)
		if len(kept) > mostTypeOrders {
			horizon = kept[mostTypeOrders].Seen
		}
		return t.Later(forgetTypeOrder, arm.Fold(sub), engine.Micros(horizon))
	})
}
