package inventory

import (
	"context"
	"errors"

	"portico/events"
	"portico/inventory/assignments"
	"portico/inventory/deploymentrow"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/tagindex"
	"portico/inventory/transaction"
)

// errOccupied is an internal fault: Moves.BeginCall keeps the new ID of a resource free.
var errOccupied = errors.New("inventory: the place of a resource that has moved is taken")

// MoveResult is the outcome of a move call.
type MoveResult struct {
	MoveCall                     // without its Members
	Moved, Stayed []MoveResource // by the provider's answer, or by GETs of both IDs
	Gone          []MoveResource // found under neither ID
	// LockETag makes the entity tag of a moved lock. The ETag of a role assignment stays
	// the same, because it does not depend on the scope.
	LockETag func(Lock) string
}

// Settle durably records the outcome for members of a call, with the job's payload. Moved
// members, and the resources below them, get their new keys and are verified there. Their
// locks, role assignments, tags and follows get the new keys too; tombstones keep the old
// ones.
func (moves *Moves) Settle(ctx context.Context, j *jobrow.Job, r MoveResult, payload string) error {
	r.Source, r.Target = r.Source.folded(), r.Target.folded()
	return moves.store.writeForJob(ctx, engine.Flushed, severalScopesLocks(j.Subscription), j, payload, func(t *tx, held jobrow.Job) error {
		_, to, err := t.lockMovingPair(&held, r.Source, r.Target)
		if err != nil {
			return err
		}
		if err := held.Save(t.Base(), payload); err != nil {
			return err
		}
		for _, m := range r.Moved {
			if err := r.settle(t, held, m, to, r.moveMember); err != nil {
				return err
			}
		}
		for _, m := range r.Stayed {
			if err := r.settle(t, held, m, to, r.keepMember); err != nil {
				return err
			}
		}
		for _, m := range r.Gone {
			if err := r.settle(t, held, m, to, r.removeMember); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle ends the intents of a member and records its outcome.
func (r *MoveResult) settle(t *tx, j jobrow.Job, m MoveResource, to Group, record func(*tx, MoveResource, Group) error) error {
	intent := m.intentID(j)
	for _, at := range [...]struct{ subscription, key string }{{r.Source.Subscription, m.Key}, {r.Target.Subscription, r.newKey(m.Key)}} {
		from, to := engine.KeysBelow(at.key)
		if _, err := t.Exec(endIntents, at.subscription, at.key, from, to, intent[:]); err != nil {
			return err
		}
	}
	return record(t, m, to)
}

func (r *MoveResult) moveMember(t *tx, m MoveResource, to Group) error {
	if m.Stray {
		return r.moveStrays(t, m, to)
	}
	rows, err := t.lockTree(r.Source, m)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := r.moveRow(t, row, to); err != nil {
			return err
		}
	}
	if err := r.moveLocks(t, m.Key, to); err != nil {
		return err
	}
	return assignments.Move(&t.Tx, r.Source.Subscription, m.Key, func(a *assignments.Assignment) {
		a.Subscription, a.ScopeKey, a.ScopeID = to.Subscription, r.newKey(a.ScopeKey), movedID(a.ScopeID, to)
	})
}

// keepMember leaves a member where it is. GETs that ran meanwhile do not count.
func (r *MoveResult) keepMember(t *tx, m MoveResource, _ Group) error {
	if m.Stray {
		return nil
	}
	from, to := engine.KeysBelow(m.Key)
	generation := engine.NewID()
	return t.Later(renewTree, generation[:], r.Source.Subscription, m.Key, from, to)
}

func (r *MoveResult) removeMember(t *tx, m MoveResource, _ Group) error {
	if m.Stray {
		from, to := engine.KeysBelow(m.Key)
		return t.Later(dropStrays, r.Source.Subscription, m.Region, m.Key, from, to)
	}
	h, err := lockResource(t, r.Source.Subscription, m.Key)
	if err != nil || h.row == nil {
		return err
	}
	before := h.state()
	// The resource is gone, so there is no operation to wait for.
	before.Row.FollowPut, before.Row.FollowDelete = false, false
	after, did := index.Settle(before, index.Observed{Generation: h.row.Generation}, engine.NewID())
	if err := t.recordGone(h.row, events.Verified); err != nil {
		return err
	}
	return h.store(t, after, did)
}

// moveRow gives a row its new key.
func (r *MoveResult) moveRow(t *tx, row Resource, to Group) error {
	moved := r.MovedRow(row, to)
	if moved.Parent != "" {
		moved.Parent = r.newKey(row.Parent)
	}
	moved.Verify, moved.Generation, moved.Changed = true, engine.NewID(), t.Now
	var err error
	unreported := row.unreported.read(t.Context, t.store.database, row.Subscription)
	if moved.unreported, err = sealUnreported(t.Context, t.store.database, moved.Subscription, unreported); err != nil {
		return err
	}
	if err := t.recordMove(&row, &moved); err != nil {
		return err
	}
	old := resourceTx{subscription: row.Subscription, key: row.Key, row: &row}
	if err := old.writeTombstone(t); err != nil {
		return err
	}
	if err := t.ChangeOne(deleteResource, row.Subscription, row.Key, row.Generation[:]); err != nil {
		return err
	}
	if err := t.Later(deploymentrow.ForgetDeployed, row.Subscription, row.Key); err != nil {
		return err
	}
	if err := moved.insertNew(t); err != nil {
		return err
	}
	if err := tagindex.Update(&t.Tx, row.Subscription, row.Key, row.Details.Tags, nil); err != nil {
		return err
	}
	if err := tagindex.Update(&t.Tx, moved.Subscription, moved.Key, nil, moved.Details.Tags); err != nil {
		return err
	}
	t.CountUsage(transaction.UsageOf(row.Subscription, row.Group, row.Type), -1, 0)
	t.CountUsage(transaction.UsageOf(moved.Subscription, moved.Group, moved.Type), 1, 0)
	t.dropLocation(row.Key)
	t.dropLocation(moved.Key)
	return r.moveJobs(t, row, moved)
}

// insertNew inserts a row, and returns errOccupied if there is one.
func (r *Resource) insertNew(t *tx) error {
	taken, err := t.isOccupied(r.Subscription, r.Key)
	if err != nil {
		return err
	}
	if taken {
		return errOccupied
	}
	return r.insert(t)
}

// isOccupied reports whether there is a row at a key or below it, or a fence on the key.
func (t *tx) isOccupied(sub, key string) (taken bool, err error) {
	from, to := engine.KeysBelow(key)
	err = t.One(anyAt, sub, key, from, to, sub, key, from, to)(&taken)
	return taken, err
}

// moveJobs creates the job that verifies a row under its new key, and moves the row's
// follows.
func (r *MoveResult) moveJobs(t *tx, row, moved Resource) error {
	old := resourceTx{subscription: row.Subscription, key: row.Key}
	if row.Verify {
		if err := old.dropJob(t, verifyID(row.Key)); err != nil {
			return err
		}
	}
	if err := putVerifyJob(t, moved.Subscription, moved.Key, moved.Region); err != nil {
		return err
	}
	for kind, followed := range map[index.WriteKind]bool{index.Put: row.FollowPut, index.Delete: row.FollowDelete, index.Patch: row.FollowPatch} {
		if !followed {
			continue
		}
		job, err := jobrow.Lock(t.Base(), row.Subscription, followID(kind, row.Key))
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return err
		}
		if err := old.dropJob(t, job.ID); err != nil {
			return err
		}
		job.Subscription, job.ID, job.Subject = moved.Subscription, followID(kind, moved.Key), moved.Key
		job.Due = t.Now
		if err := job.Put(t.Base()); err != nil {
			return err
		}
	}
	return nil
}

func (r *MoveResult) moveStrays(t *tx, m MoveResource, to Group) error {
	first, last := engine.KeysBelow(m.Key)
	strays, err := engine.Collect(t, scanStray, listStray, r.Source.Subscription, m.Region, m.Key, first, last)
	if err != nil {
		return err
	}
	if _, err := t.Exec(dropStrays, r.Source.Subscription, m.Region, m.Key, first, last); err != nil {
		return err
	}
	for _, s := range strays {
		err := t.Later(putStray, to.Subscription, s.Region, r.newKey(s.Key), movedID(s.ID, to), to.Key, s.Type, engine.Micros(t.Now))
		if err != nil {
			return err
		}
	}
	return nil
}

// moveLocks moves the locks on a resource, and below it.
func (r *MoveResult) moveLocks(t *tx, key string, to Group) error {
	first, last := engine.KeysBelow(key)
	locks, err := engine.Collect(t, scanLock, listLocksBelow, r.Source.Subscription, key, first, last)
	if err != nil || len(locks) == 0 {
		return err
	}
	if err := dropLocksAt(t, r.Source.Subscription, key); err != nil {
		return err
	}
	for _, l := range locks {
		l.Subscription, l.Scope, l.ScopeID = to.Subscription, r.newKey(l.Scope), movedID(l.ScopeID, to)
		l.Generation = engine.NewID()
		if r.LockETag != nil {
			l.ETag = r.LockETag(l)
		}
		l.Changed = t.Now
		if err := l.put(t); err != nil {
			return err
		}
	}
	return nil
}
