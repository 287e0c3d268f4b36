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

// The kinds of the jobs that move resources to another group, and that check whether
// they could be moved. The ID of a moving job is the generation that both groups got
// when they were marked, and keep while they are Moving.
const (
	MoveJob         = "move"
	ValidateMoveJob = "validate-move"
)

// GroupName names a group.
type GroupName struct{ Subscription, Name string }

// ErrTargetOccupied says that a resource of the ID exists in the target group.
var ErrTargetOccupied = errors.New("inventory: the target group has a resource of this ID")

// MoveError refuses a move because of one of its groups or resources: by
// ErrSubscriptionNotFound, *SubscriptionStateError, index.ErrGroupNotFound,
// *RegistrationStateError, *index.GroupStateError, *transaction.QuotaError, ErrTargetOccupied,
// *LockedError, ErrNotFound for a resource, or ErrChanged for one that is being
// deleted.
type MoveError struct {
	Target bool   // it is about the group that the resources were to move to
	Key    string // of the resource, or the type whose quota or registration it is
	Err    error
}

func (e *MoveError) Error() string { return fmt.Sprintf("inventory: move, %q: %v", e.Key, e.Err) }

func (e *MoveError) Unwrap() error { return e.Err }

// MoveRequest is a request to move resources.
type MoveRequest struct {
	Source, Target GroupName
	Keys           []string // of the resources, which lie in Source; what lies below them moves along
	// Namespaces are those of the resources; Target's subscription, if it is another
	// one, must be registered for them.
	Namespaces []string
	// Validate: nothing moves; the job only checks whether a move is possible.
	Validate bool
	// Payload makes the payload of the job.
	Payload func(source, target Group) string
	// Operation is recorded for the caller, in the source's subscription. Its
	// Follow becomes the job's ID.
	Operation polls.Operation
}

// BeginMove marks two Active groups as Moving and creates the job that moves resources
// from one to the other, in one transaction. From then until EndMove neither group
// admits a write. BeginMove refuses by *MoveError (resource reference, Move Resource).
func (s *Store) BeginMove(ctx context.Context, o MoveRequest) (jobrow.Job, error) {
	o.Source, o.Target = o.Source.folded(), o.Target.folded()
	for i := range o.Keys {
		o.Keys[i] = arm.Fold(o.Keys[i])
	}
	return commit(ctx, s, engine.Flushed, severalScopesLocks(o.Source.Subscription), func(t *tx) (jobrow.Job, error) {
		facts, err := t.movable(o)
		if err != nil {
			return jobrow.Job{}, err
		}
		if err := facts.judge(o.Keys, s.options.Limits.ResourcesPerTypeAndGroup); err != nil {
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
		if err := t.mark(g); err != nil {
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

// MovesFrom lists the jobs that move, or moved, resources out of a resource's group,
// the oldest first. Ended jobs stay listed for a while.
func (s *Store) MovesFrom(ctx context.Context, key string) ([]jobrow.Job, error) {
	from := groupOf(arm.Fold(key))
	return engine.Collect(s.engine.Read(ctx), jobrow.Scan, movesFrom, from.Subscription, MoveJob, from.Name)
}

// groupOf returns the group that a folded key lies in.
func groupOf(key string) (n GroupName) {
	n.Subscription, n.Name = arm.GroupOf(key)
	return n
}

// movingPair locks the groups that a job moves between. It returns jobrow.ErrLeaseLost
// if they are not marked for the job.
func (t *tx) movingPair(j *jobrow.Job, source, target GroupName) (from, to Group, err error) {
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

// MovingGroups returns the groups that a job moves between, or jobrow.ErrLeaseLost if
// they are not marked for the job.
func (s *Store) MovingGroups(ctx context.Context, j jobrow.Job, source, target GroupName) (from, to Group, err error) {
	for name, into := range map[GroupName]*Group{source: &from, target: &to} {
		*into, err = s.Group(ctx, name.Subscription, name.Name)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && (into.State != index.GroupMoving || into.Generation != j.ID):
			return from, to, jobrow.ErrLeaseLost
		case err != nil:
			return from, to, err
		}
	}
	return from, to, nil
}

// EndMove ends a move: both groups are Active again, and the job ends. why is reported
// if some resources did not move, and is nil otherwise. EndMove refuses by
// *GroupNotEmptyError while a provider may still be moving something.
func (s *Store) EndMove(ctx context.Context, j jobrow.Job, source, target GroupName, state jobrow.State, payload string, why *arm.Error) error {
	source, target = source.folded(), target.folded()
	return s.write(ctx, engine.Flushed, severalScopesLocks(j.Subscription), func(t *tx) error {
		from, to, err := t.movingPair(&j, source, target)
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
		return j.End(t.Base(), state, payload, t.Now.Add(s.options.JobRecords))
	})
}
