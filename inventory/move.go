package inventory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"portico/arm"
)

// The kinds of the jobs that move resources from a group to another, and that
// find out whether they could be. The ID of a job that moves is the generation
// that both groups got when they were marked, and keep for as long as they are
// Moving.
const (
	MoveJob         = "move"
	ValidateMoveJob = "validate-move"
)

// GroupName names a group.
type GroupName struct{ Subscription, Name string }

// ErrTaken says that there is a resource where another was to move to.
var ErrTaken = errors.New("inventory: the target group has a resource of this ID")

// MoveError refuses a move for the sake of one of its groups or resources: by
// ErrSubscriptionNotFound, *SubscriptionStateError, ErrGroupNotFound,
// *GroupStateError, *QuotaError, ErrTaken, *LockedError, ErrNotFound of a
// resource, or ErrChanged of one that is being deleted.
type MoveError struct {
	Target bool   // it is about the group that the resources were to move to
	Key    string // of the resource, or of the type whose quota it is
	Err    error
}

func (e *MoveError) Error() string { return fmt.Sprintf("inventory: move, %q: %v", e.Key, e.Err) }

func (e *MoveError) Unwrap() error { return e.Err }

// MoveOrder is what a caller wants who has resources moved.
type MoveOrder struct {
	Source, Target GroupName
	Keys           []string // of the resources, which lie in Source; what lies below them moves along
	// Validate: nothing is to move, the job only asks whether it could.
	Validate bool
	// Payload makes that of the job.
	Payload func(source, target Group) string
	// Operation is recorded for the caller, in the source's subscription. Its
	// Follow becomes the job's ID.
	Operation Operation
}

// BeginMove marks two Active groups as Moving and makes the job that moves
// resources from one to the other, in one transaction. From then on neither
// takes any write, until EndMove. It refuses by *MoveError (resource reference,
// Move Resource).
func (s *Store) BeginMove(ctx context.Context, o MoveOrder) (Job, error) {
	o.Source, o.Target = o.Source.folded(), o.Target.folded()
	for i := range o.Keys {
		o.Keys[i] = arm.Fold(o.Keys[i])
	}
	return commit(ctx, s, flushed, aboutScopes(o.Source.Subscription), func(t *tx) (Job, error) {
		facts, err := t.movable(o)
		if err != nil {
			return Job{}, err
		}
		if err := facts.judge(o.Keys, s.options.Limits.ResourcesPerTypeAndGroup); err != nil {
			return Job{}, err
		}
		job := Job{
			Subscription: o.Source.Subscription, ID: newID(), Kind: MoveJob, Subject: o.Source.Name, Incarnation: newID(),
			Due: t.now, Created: t.now, Payload: o.Payload(*facts.source.group, *facts.target.group),
		}
		if o.Validate {
			job.Kind = ValidateMoveJob
		} else if err := t.markPair(*facts.source.group, *facts.target.group, GroupMoving, job.ID); err != nil {
			return Job{}, err
		}
		if _, err := t.exec(addJob, job.insertion(t.now)...); err != nil {
			return Job{}, err
		}
		operation := o.Operation
		operation.Subscription, operation.Follow = job.Subscription, job.ID
		return job, operation.put(t)
	})
}

func (n GroupName) folded() GroupName { return GroupName{arm.Fold(n.Subscription), arm.Fold(n.Name)} }

func (n GroupName) compare(other GroupName) int {
	return cmp.Or(cmp.Compare(n.Subscription, other.Subscription), cmp.Compare(n.Name, other.Name))
}

func (n GroupName) scope() string { return groupScope(n.Subscription, n.Name) }

// markPair writes the state and the generation of two groups.
func (t *tx) markPair(a, b Group, state GroupState, generation [16]byte) error {
	for _, g := range [...]Group{a, b} {
		g.State, g.Generation = state, generation
		if err := t.mark(g); err != nil {
			return err
		}
	}
	return nil
}

// side is one of the groups of a move, as it is while it is locked.
type side struct {
	state SubscriptionState
	group *Group // nil: there is none
	locks []Lock
}

// moveFacts is what a move is judged by.
type moveFacts struct {
	source, target side
	rows           []Resource      // in the source group, as far as a judgement needs them
	taken          map[string]bool // the keys in the target group
	counted        map[string]int  // of the target group, by type
}

// lockPair locks two groups, in the order in which all transactions do. Of a
// group that is not there it gives nil.
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

const (
	listGroupStates = `SELECT key, type, phase, following FROM resources WHERE subscription = ? AND grp = ? ORDER BY key`
	listGroupKeys   = `SELECT key FROM resources WHERE subscription = ? AND grp = ?`
)

// movable locks the groups of a move and reads what it is judged by.
func (t *tx) movable(o MoveOrder) (f moveFacts, err error) {
	if f.source.group, f.target.group, err = t.lockPair(o.Source, o.Target); err != nil {
		return f, err
	}
	for name, s := range map[GroupName]*side{o.Source: &f.source, o.Target: &f.target} {
		if s.state, err = stateOf(t, name.Subscription); err != nil {
			return f, err
		}
		if s.group == nil {
			continue
		}
		if s.locks, err = s.group.locks(t); err != nil {
			return f, err
		}
	}
	f.rows, err = collect(t, func(scan scanner) (r Resource, err error) {
		var following int64
		err = scan(&r.Key, &r.Type, &r.Phase, &following)
		r.FollowDelete = following&followsDelete != 0
		return r, err
	}, listGroupStates, o.Source.Subscription, o.Source.Name)
	if err != nil {
		return f, err
	}
	f.taken = map[string]bool{}
	keys, err := collect(t, scanText, listGroupKeys, o.Target.Subscription, o.Target.Name)
	for _, key := range keys {
		f.taken[key] = true
	}
	if err != nil {
		return f, err
	}
	f.counted = map[string]int{}
	return f, t.each(func(scan scanner) error {
		var typ string
		var n int
		err := scan(&typ, &n)
		f.counted[typ] = n
		return err
	}, listUsage, o.Target.Subscription, o.Target.Name)
}

// judge holds a move of the keys, and of what lies below them, to what its
// groups are, in the contract's order. It is pure.
func (f *moveFacts) judge(keys []string, limit int) error {
	for _, s := range [...]struct {
		side
		target bool
	}{{f.source, false}, {f.target, true}} {
		err := s.state.admits(false)
		if err == nil && s.group == nil {
			err = ErrGroupNotFound
		}
		if err != nil {
			return &MoveError{Target: s.target, Err: err}
		}
	}
	from, to := groupScope(f.source.group.Subscription, f.source.group.Key), groupScope(f.target.group.Subscription, f.target.group.Key)
	rows, missing := f.trees(keys)
	for _, judgement := range [...]func() error{
		func() error { return f.overQuota(rows, limit) },
		func() error {
			for _, key := range keys {
				if f.taken[to+strings.TrimPrefix(key, from)] {
					return &MoveError{Target: true, Key: key, Err: ErrTaken}
				}
			}
			return nil
		},
		func() error { return f.locked(keys, to) },
		f.marked,
	} {
		if err := judgement(); err != nil {
			return err
		}
	}
	if missing != "" {
		return &MoveError{Key: missing, Err: ErrNotFound}
	}
	for _, row := range rows {
		if row.Phase == Deleting || row.FollowDelete {
			return &MoveError{Key: row.Key, Err: ErrChanged}
		}
	}
	return nil
}

// trees are the rows of the keys with those below them. missing is the first of
// the keys that clients are not shown.
func (f *moveFacts) trees(keys []string) (rows []Resource, missing string) {
	for _, key := range keys {
		from, to := below(key)
		at, found := slices.BinarySearchFunc(f.rows, key, func(r Resource, key string) int { return cmp.Compare(r.Key, key) })
		if !found || f.rows[at].Phase == Pending {
			if missing == "" {
				missing = key
			}
			continue
		}
		rows = append(rows, f.rows[at])
		for at++; at < len(f.rows) && f.rows[at].Key < to; at++ {
			if f.rows[at].Key >= from {
				rows = append(rows, f.rows[at])
			}
		}
	}
	return rows, missing
}

func (f *moveFacts) overQuota(rows []Resource, limit int) error {
	if limit == 0 {
		return nil
	}
	more := map[string]int{}
	for _, row := range rows {
		more[row.Type]++
	}
	for _, row := range rows {
		if counted := f.counted[row.Type]; counted+more[row.Type] > limit {
			return &MoveError{Target: true, Key: row.Type, Err: &QuotaError{Kind: QuotaResources, Limit: limit, Current: counted}}
		}
	}
	return nil
}

// locked looks for locks against writes: on the resources, on what lies below
// them, and on what either side lies in.
func (f *moveFacts) locked(keys []string, target string) error {
	for _, key := range keys {
		if err := forbidden(f.source.locks, Put, key); err != nil {
			return &MoveError{Key: key, Err: err}
		}
		for _, l := range f.source.locks {
			if l.Level.forbids(Put) && strings.HasPrefix(l.Scope, key+"/") {
				return &MoveError{Key: key, Err: &LockedError{Locks: []Lock{l}}}
			}
		}
	}
	if err := forbidden(f.target.locks, Put, target); err != nil {
		return &MoveError{Target: true, Err: err}
	}
	return nil
}

func (f *moveFacts) marked() error {
	for i, g := range [...]*Group{f.source.group, f.target.group} {
		if g.State != GroupActive {
			return &MoveError{Target: i == 1, Err: &GroupStateError{State: g.State}}
		}
	}
	return nil
}

// movingPair locks the groups that a job moves between, which holds them:
// ErrDeposed where it does not.
func (t *tx) movingPair(j *Job, source, target GroupName) (from, to Group, err error) {
	a, b, err := t.lockPair(source, target)
	if err != nil {
		return from, to, err
	}
	for _, g := range [...]*Group{a, b} {
		if g == nil || g.State != GroupMoving || !bytes.Equal(g.Generation[:], j.ID[:]) {
			return from, to, ErrDeposed
		}
	}
	return *a, *b, nil
}

// MovingGroups returns the groups that a job moves between, while they are
// marked for it; otherwise ErrDeposed.
func (s *Store) MovingGroups(ctx context.Context, j Job, source, target GroupName) (from, to Group, err error) {
	for name, into := range map[GroupName]*Group{source: &from, target: &to} {
		*into, err = s.Group(ctx, name.Subscription, name.Name)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && (into.State != GroupMoving || into.Generation != j.ID):
			return from, to, ErrDeposed
		case err != nil:
			return from, to, err
		}
	}
	return from, to, nil
}

// EndMove ends a move: both groups are Active again, and the job ends. Where a
// provider may still be moving something it refuses by *GroupNotEmptyError.
func (s *Store) EndMove(ctx context.Context, j Job, source, target GroupName, state JobState, payload string) error {
	source, target = source.folded(), target.folded()
	return s.writer.do(ctx, flushed, aboutScopes(j.Subscription), func(t *tx) error {
		from, to, err := t.movingPair(&j, source, target)
		if err != nil {
			return err
		}
		for _, g := range [...]Group{from, to} {
			var open int
			if err := t.one(countGroupIntents, g.Subscription, g.Key)(&open); err != nil {
				return err
			}
			if open > 0 {
				return &GroupNotEmptyError{Intents: open}
			}
		}
		if err := t.markPair(from, to, GroupActive, newID()); err != nil {
			return err
		}
		forget := micros(t.now.Add(s.options.JobRecords))
		return j.update(t, endJob, state, payload, payload, endedShard, forget, micros(t.now))
	})
}
