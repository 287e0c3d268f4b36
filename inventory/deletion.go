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
// the group. Its subject is the group's key. Its ID is the generation of the group, which
// stays the same while the group is Deleting.
const GroupDeleteJob = "group-delete"

// ErrChanged refuses a write that was meant for an earlier state of its resource: the
// row is gone, or has another generation.
var ErrChanged = errors.New("inventory: the resource has changed")

// DeletionRequest is a request to delete a group.
type DeletionRequest struct {
	// Check may refuse the group, before any other check; nil accepts it.
	Check func(Group) error
	// Payload makes the payload of the job if this request creates it.
	Payload func(Group) string
	// Operation is the polling URL to record for the caller. Its Follow becomes the job's
	// ID.
	Operation polls.Operation
}

// Deletions are the deletions of groups, each by a job.
type Deletions struct{ store *Store }

// Begin marks an Active group Deleting and creates the job that deletes it, in one
// transaction. For a group that is being deleted it returns the present job. From then on
// the group admits no client's write. The errors are ErrNotFound, ErrSubscriptionNotFound,
// *index.GroupStateError, and *LockedError if there is a lock on the subscription, on the
// group, or on anything in it.
func (d *Deletions) Begin(ctx context.Context, sub, name string, o DeletionRequest) (jobrow.Job, error) {
	return commit(ctx, d.store, engine.Flushed, transaction.GroupLocks(sub, name), func(t *tx) (jobrow.Job, error) {
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
		job, err := t.deletionJob(g, o)
		if err != nil {
			return jobrow.Job{}, err
		}
		operation := o.Operation
		operation.Subscription, operation.Follow = g.Subscription, job.ID
		return job, operation.Put(&t.Tx)
	})
}

// Of returns a group that is being deleted and the job that does it, or ErrNotFound.
func (d *Deletions) Of(ctx context.Context, sub, group string) (Group, jobrow.Job, error) {
	return deletionOf(d.store.engine.Read(ctx), sub, group)
}

func deletionOf(from engine.Source, sub, group string) (g Group, job jobrow.Job, err error) {
	if g, err = loadGroup(from, selectGroup, sub, group); err == nil && g.State != index.GroupDeleting {
		err = ErrNotFound
	}
	if err == nil {
		job, err = jobrow.Load(from, g.Subscription, g.Generation)
	}
	return g, job, err
}

// deletionJob returns the job that deletes a locked group. If there is none, it creates
// one.
func (t *tx) deletionJob(g Group, o DeletionRequest) (jobrow.Job, error) {
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
		if err := t.updateGroupState(g); err != nil {
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

// updateGroupState stores a group with a new state and generation.
func (t *tx) updateGroupState(g Group) error {
	tags, err := storedTags(g.Tags)
	if err != nil {
		return err
	}
	t.ChangesScope(g.Subscription)
	return t.Later(updateGroup, g.Name, g.Location, g.ManagedBy, tags, g.State, g.Generation[:], g.ETag,
		engine.Micros(t.Now), g.Subscription, g.Key)
}

// DeleteGroup deletes the group as [Store.DeleteGroup] does, and ends its job as done with
// the payload. The error is jobrow.ErrLeaseLost if the caller no longer holds the job,
// and ErrNotFound if the job was created for another group of that name.
func (d *Deletions) DeleteGroup(ctx context.Context, j jobrow.Job, c DeleteGroupConditions, payload string) error {
	return d.store.write(ctx, engine.Flushed, transaction.GroupLocks(j.Subscription, j.Subject), func(t *tx) error {
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

// ReopenGroup ends a deletion that failed or was canceled: it makes the group Active again,
// with what is left in it, and ends the job. The group's event has the error why.
// ReopenGroup returns *GroupNotEmptyError while a write may still reach the group.
func (d *Deletions) ReopenGroup(ctx context.Context, j jobrow.Job, state jobrow.State, payload string, why *arm.Error) error {
	return d.store.write(ctx, engine.Flushed, transaction.GroupLocks(j.Subscription, j.Subject), func(t *tx) error {
		g, err := t.lockAnyGroup(j.Subscription, j.Subject)
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
		if err := t.updateGroupState(g); err != nil {
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

// DeletionRecord is a deletion's record of one resource. Payload is the deletion's own
// JSON, Error the provider's last error, empty if there is none.
type DeletionRecord struct {
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

// Members lists a deletion's records by key, without their errors.
func (d *Deletions) Members(ctx context.Context, j jobrow.Job, after string, limit int) ([]DeletionRecord, error) {
	return engine.Collect(d.store.engine.Read(ctx), func(scan engine.Scanner) (m DeletionRecord, err error) {
		err = scan(&m.Key, &m.Payload)
		return m, err
	}, listMembers, j.Subscription, j.ID[:], after, engine.LimitArg(limit))
}

// MemberError returns the provider's last error for a resource, empty if there is none.
func (d *Deletions) MemberError(ctx context.Context, j jobrow.Job, key string) (text string, err error) {
	err = d.store.engine.Read(ctx).One(selectMemberError, j.Subscription, j.ID[:], key)(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// SaveProgress saves a deletion's records of some resources, and its payload unless that
// is empty. An empty Error keeps the last one. The commit is not flushed, because a lost
// record only repeats a call. The error is jobrow.ErrLeaseLost if the caller no longer
// holds the job.
func (d *Deletions) SaveProgress(ctx context.Context, j *jobrow.Job, payload string, members []DeletionRecord) error {
	return d.store.writeForJob(ctx, engine.Unflushed, groupRecordLocks(j.Subscription, j.Subject), j, payload, func(t *tx, held jobrow.Job) error {
		if err := held.CheckLease(t.Base()); err != nil {
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

// RecordMemberError records the provider's error for a resource whose accepted delete
// failed, if the group is being deleted.
func (d *Deletions) RecordMemberError(ctx context.Context, sub, group, key, text string) error {
	return d.store.write(ctx, engine.Unflushed, groupRecordLocks(sub, group), func(t *tx) error {
		g, err := t.lockAnyGroup(sub, group)
		if errors.Is(err, ErrNotFound) || err == nil && g.State != index.GroupDeleting {
			return nil
		}
		if err != nil {
			return err
		}
		return t.Later(putMemberError, g.Subscription, g.Generation[:], arm.Fold(key), "", text)
	})
}

// TypeOrder records that resources of type After could not be deleted while resources of
// type Before existed. It is only a hint for later deletions.
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

	// mostTypeOrders bounds the orders of a subscription.
	mostTypeOrders = 1000
	// typeOrderAge is how long an order counts after it was last seen. Deletions follow
	// a known order, so a valid one is hardly ever seen again; without this limit an
	// order that no longer holds would stay for good.
	typeOrderAge = 30 * 24 * time.Hour
)

func scanTypeOrder(scan engine.Scanner) (o TypeOrder, err error) {
	var seen int64
	err = scan(&o.Before, &o.After, &seen)
	o.Seen = engine.TimeOf(seen)
	return o, err
}

// TypeOrders lists the orders learnt in a subscription, the newest first.
func (d *Deletions) TypeOrders(ctx context.Context, sub string) ([]TypeOrder, error) {
	horizon := d.store.engine.Now().Add(-typeOrderAge)
	return engine.Collect(d.store.engine.Read(ctx), scanTypeOrder, listTypeOrder, arm.Fold(sub), engine.Micros(horizon), mostTypeOrders)
}

// LearnTypeOrders adds orders, and forgets those that are too old or too many. The
// store sets Seen.
func (d *Deletions) LearnTypeOrders(ctx context.Context, sub string, learnt []TypeOrder) error {
	return d.store.write(ctx, engine.Unflushed, transaction.RecordLocks(sub), func(t *tx) error {
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
