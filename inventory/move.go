package inventory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
)

// The kinds of the jobs that move resources to another group, and that check whether they
// could be moved. The ID of a moving job is the generation of both groups while they are
// Moving.
const (
	MoveJob         = "move"
	ValidateMoveJob = "validate-move"
)

// GroupName identifies a group.
type GroupName struct{ Subscription, Name string }

// ErrTargetOccupied refuses a move because a resource of the ID exists in the target group.
var ErrTargetOccupied = errors.New("inventory: the target group has a resource of this ID")

// MoveError refuses a move because of one of its groups or resources. Err is
// ErrSubscriptionNotFound, *SubscriptionStateError, index.ErrGroupNotFound,
// *RegistrationStateError, *index.GroupStateError, *transaction.QuotaError,
// ErrTargetOccupied, *LockedError, ErrNotFound for a resource, or ErrChanged for a
// resource that is being deleted.
type MoveError struct {
	Target bool   // the error is about the target group
	Key    string // of the resource, or the type of the quota or registration
	Err    error
}

func (e *MoveError) Error() string { return fmt.Sprintf("inventory: move, %q: %v", e.Key, e.Err) }

func (e *MoveError) Unwrap() error { return e.Err }

// MoveRequest is a request to move resources.
type MoveRequest struct {
	Source, Target GroupName
	Keys           []string // of the resources in Source; the resources below them move too
	// Namespaces has the namespaces of the resources. If Target has another subscription
	// than Source, it must be registered for them.
	Namespaces []string
	// Validate: nothing moves; the job only checks whether a move is possible.
	Validate bool
	// Payload makes the payload of the job.
	Payload func(source, target Group) string
	// Operation is the polling URL to record for the caller, in the source's subscription.
	// Its Follow becomes the job's ID.
	Operation polls.Operation
}

// Moves has the methods for moves of resources between groups. Each move is a job.
type Moves struct{ store *Store }

// Begin marks two Active groups as Moving and creates the job that moves resources from one
// to the other, in one transaction. From then until Moves.End neither group admits a write.
// The error is *MoveError if the move is refused (resource reference, Move Resource).
func (moves *Moves) Begin(ctx context.Context, o MoveRequest) (jobrow.Job, error) {
	o.Source, o.Target = o.Source.folded(), o.Target.folded()
	for i := range o.Keys {
		o.Keys[i] = arm.Fold(o.Keys[i])
	}
	return commit(ctx, moves.store, engine.Flushed, severalScopesLocks(o.Source.Subscription), func(t *tx) (jobrow.Job, error) {
		facts, err := t.readMoveFacts(o)
		if err != nil {
			return jobrow.Job{}, err
		}
		if err := facts.judge(o.Keys, moves.store.options.Limits.ResourcesPerTypeAndGroup); err != nil {
			return jobrow.Job{}, err
		}
		job := jobrow.Job{
			Subscription: o.Source.Subscription, ID: engine.NewID(), Kind: MoveJob, Subject: o.Source.Name, Incarnation: engine.NewID(),
			Due: t.Now, Created: t.Now, Payload: o.Payload(*facts.source.group, *facts.target.group),
		}
		if o.Validate {
			job.Kind = ValidateMoveJob
		} else if err := t.markPair(*facts.source.group, *facts.target.group, index.GroupMoving, job.ID); err != nil {
			return jobrow.Job{}, err
		} else if err := facts.recordRegions(t, o.Keys); err != nil {
			return jobrow.Job{}, err
		}
		if _, err := job.Add(t.Base()); err != nil {
			return jobrow.Job{}, err
		}
		if !o.Validate {
			if err := t.recordGroup(*facts.source.group, moveVerb, events.Accepted); err != nil {
				return jobrow.Job{}, err
			}
		}
		operation := o.Operation
		operation.Subscription, operation.Follow = job.Subscription, job.ID
		return job, operation.Put(&t.Tx)
	})
}

func (n GroupName) folded() GroupName { return GroupName{arm.Fold(n.Subscription), arm.Fold(n.Name)} }

func (n GroupName) compare(other GroupName) int {
	return cmp.Or(cmp.Compare(n.Subscription, other.Subscription), cmp.Compare(n.Name, other.Name))
}

func (n GroupName) scope() string {
	n = n.folded()
	return groupScope(n.Subscription, n.Name)
}

// markPair sets the state and the generation of two groups.
func (t *tx) markPair(a, b Group, state index.GroupState, generation [16]byte) error {
	for _, g := range [...]Group{a, b} {
		g.State, g.Generation = state, generation
		if err := t.updateGroupState(g); err != nil {
			return err
		}
	}
	return nil
}

// lockPair locks two groups in the order of all transactions. It returns nil for an
// absent group.
func (t *tx) lockPair(a, b GroupName) (first, second *Group, err error) {
	names := []GroupName{a, b}
	slices.SortFunc(names, GroupName.compare)
	found := map[GroupName]*Group{}
	for _, name := range names {
		g, err := loadGroup(t, lockGroup, name.Subscription, name.Name)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, nil, err
		}
		if err == nil {
			g.locked = true
			found[name] = &g
		}
	}
	return found[a], found[b], nil
}

const movesFrom = `SELECT ` + jobrow.Columns + ` FROM jobs WHERE subscription = ? AND kind = ? AND subject = ? ORDER BY created`

// From lists the jobs that move, or moved, resources out of a resource's group, the oldest
// first. Ended jobs are kept for Options.JobRecords.
func (moves *Moves) From(ctx context.Context, key string) ([]jobrow.Job, error) {
	from := groupOf(arm.Fold(key))
	return engine.Collect(moves.store.engine.Read(ctx), jobrow.Scan, movesFrom, from.Subscription, MoveJob, from.Name)
}

// groupOf returns the group in a folded key.
func groupOf(key string) (n GroupName) {
	n.Subscription, n.Name = arm.GroupOf(key)
	return n
}

// lockMovingPair locks the source and target groups of a job. It returns
// jobrow.ErrLeaseLost if they are not marked for the job.
func (t *tx) lockMovingPair(j *jobrow.Job, source, target GroupName) (from, to Group, err error) {
	a, b, err := t.lockPair(source, target)
	if err != nil {
		return from, to, err
	}
	for _, g := range [...]*Group{a, b} {
		if g == nil || g.State != index.GroupMoving || !bytes.Equal(g.Generation[:], j.ID[:]) {
			return from, to, jobrow.ErrLeaseLost
		}
	}
	return *a, *b, nil
}

// Groups returns the source and target groups of a job, or jobrow.ErrLeaseLost if they are
// not marked for the job.
func (moves *Moves) Groups(ctx context.Context, j jobrow.Job, source, target GroupName) (from, to Group, err error) {
	for name, into := range map[GroupName]*Group{source: &from, target: &to} {
		*into, err = moves.store.Group(ctx, name.Subscription, name.Name)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && (into.State != index.GroupMoving || into.Generation != j.ID):
			return from, to, jobrow.ErrLeaseLost
		case err != nil:
			return from, to, err
		}
	}
	return from, to, nil
}

// End ends a move: it makes both groups Active again, and ends the job. why is the error
// for the event if some resources did not move, nil otherwise. The error is
// *GroupNotEmptyError while a provider may still be moving something.
func (moves *Moves) End(ctx context.Context, j jobrow.Job, source, target GroupName, state jobrow.State, payload string, why *arm.Error) error {
	source, target = source.folded(), target.folded()
	return moves.store.write(ctx, engine.Flushed, severalScopesLocks(j.Subscription), func(t *tx) error {
		from, to, err := t.lockMovingPair(&j, source, target)
		if err != nil {
			return err
		}
		for _, g := range [...]Group{from, to} {
			var open int
			if err := t.One(countGroupIntents, g.Subscription, g.Key)(&open); err != nil {
				return err
			}
			if open > 0 {
				return &GroupNotEmptyError{Intents: open}
			}
		}
		if err := t.markPair(from, to, index.GroupActive, engine.NewID()); err != nil {
			return err
		}
		status := events.Succeeded
		if state != jobrow.Done {
			status = events.Failed
		}
		if err := t.recordGroupFailed(from, moveVerb, status, why); err != nil {
			return err
		}
		return j.End(t.Base(), state, payload, t.Now.Add(moves.store.options.JobRecords))
	})
}
