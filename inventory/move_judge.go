package inventory

import (
	"cmp"
	"slices"
	"strings"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// side is the source or target group of a move, locked.
type side struct {
	state SubscriptionState
	group *Group // nil if there is none
	locks []Lock
}

// moveFacts holds the records that decide whether a move is possible.
type moveFacts struct {
	source, target side
	rows           []Resource      // in the source group, by key
	registrations  []Registration  // of the target, for the moved namespaces
	taken          map[string]bool // keys in the target group
	counted        map[string]int  // rows in the target group by type
}

const (
	listGroupStates = `SELECT key, type, region, phase, following FROM resources WHERE subscription = ? AND resource_group = ? ORDER BY key`
	listGroupKeys   = `SELECT key FROM resources WHERE subscription = ? AND resource_group = ?`
	listFencedKeys  = `SELECT key FROM fences WHERE subscription = ? AND resource_group = ?`
)

// readMoveFacts locks the groups of a move and reads the facts.
func (t *tx) readMoveFacts(o MoveRequest) (f moveFacts, err error) {
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
	if f.registrations, err = t.registrationsFor(o); err != nil {
		return f, err
	}
	f.rows, err = engine.Collect(t, func(scan engine.Scanner) (r Resource, err error) {
		var following int64
		err = scan(&r.Key, &r.Type, &r.Region, &r.Phase, &following)
		r.FollowDelete = following&followsDelete != 0
		return r, err
	}, listGroupStates, o.Source.Subscription, o.Source.Name)
	if err != nil {
		return f, err
	}
	f.taken = map[string]bool{}
	keys, err := engine.Collect(t, engine.ScanOne[string], listGroupKeys, o.Target.Subscription, o.Target.Name)
	if err != nil {
		return f, err
	}
	fenced, err := engine.Collect(t, engine.ScanOne[string], listFencedKeys, o.Target.Subscription, o.Target.Name)
	if err != nil {
		return f, err
	}
	for _, key := range append(keys, fenced...) {
		f.taken[key] = true
	}
	f.counted = map[string]int{}
	return f, t.Each(func(scan engine.Scanner) error {
		var typ string
		var n int
		err := scan(&typ, &n)
		f.counted[typ] = n
		return err
	}, listUsage, o.Target.Subscription, o.Target.Name)
}

// registrationsFor returns the target's registrations for the moved namespaces. The caller
// has locked the target group's row, which the end of a registration locks first.
func (t *tx) registrationsFor(o MoveRequest) (all []Registration, err error) {
	if o.Source.Subscription == o.Target.Subscription {
		return nil, nil
	}
	for _, namespace := range o.Namespaces {
		r, err := loadRegistration(t, o.Target.Subscription, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// checkRegions refuses resources in a region that joined its provider after the target
// subscription registered: that region was never notified of the target.
func (f *moveFacts) checkRegions(rows []Resource) error {
	for _, row := range rows {
		for _, r := range f.registrations {
			if strings.HasPrefix(row.Type, r.Namespace+"/") && !r.Covers(row.Region) {
				return &MoveError{Target: true, Key: row.Type, Err: &RegistrationStateError{Namespace: r.Namespace, State: r.State, Region: row.Region}}
			}
		}
	}
	return nil
}

// recordRegions records the regions of the target's future resources. While its group is
// Moving this keeps the namespaces registered, because Unregister cannot see the resources
// yet.
func (f *moveFacts) recordRegions(t *tx, keys []string) error {
	rows, _ := f.movedRows(keys)
	to := f.target.group
	done := map[WrittenRegion]bool{}
	for _, row := range rows {
		at := WrittenRegion{Type: row.Type, Region: row.Region}
		if done[at] {
			continue
		}
		done[at] = true
		if err := t.Later(insertWrittenRegion, to.Subscription, to.Key, to.Incarnation[:], at.Type, at.Region); err != nil {
			return err
		}
	}
	return nil
}

// judge checks a move of the keys, and of the resources below them, in the order of the
// contract. It is pure.
func (f *moveFacts) judge(keys []string, limit int) error {
	for _, s := range [...]struct {
		side
		target bool
	}{{f.source, false}, {f.target, true}} {
		err := s.state.admits(false)
		if err == nil && s.group == nil {
			err = index.ErrGroupNotFound
		}
		if err != nil {
			return &MoveError{Target: s.target, Err: err}
		}
	}
	for _, r := range f.registrations {
		if !r.State.Permits() {
			return &MoveError{Target: true, Err: &RegistrationStateError{Namespace: r.Namespace, State: r.State}}
		}
	}
	from, to := groupScope(f.source.group.Subscription, f.source.group.Key), groupScope(f.target.group.Subscription, f.target.group.Key)
	rows, missing := f.movedRows(keys)
	for _, judgement := range [...]func() error{
		func() error { return f.checkRegions(rows) },
		func() error { return f.checkQuota(rows, limit) },
		func() error {
			for _, key := range keys {
				if f.taken[to+strings.TrimPrefix(key, from)] {
					return &MoveError{Target: true, Key: key, Err: ErrTargetOccupied}
				}
			}
			return nil
		},
		func() error { return f.checkLocks(keys, to) },
		f.checkStates,
	} {
		if err := judgement(); err != nil {
			return err
		}
	}
	if missing != "" {
		return &MoveError{Key: missing, Err: ErrNotFound}
	}
	for _, row := range rows {
		if row.Phase == index.Deleting || row.FollowDelete {
			return &MoveError{Key: row.Key, Err: ErrChanged}
		}
	}
	return nil
}

// movedRows returns the rows of the keys and the rows below them. missing is the first key
// whose row is absent or hidden from clients.
func (f *moveFacts) movedRows(keys []string) (rows []Resource, missing string) {
	for _, key := range keys {
		from, to := engine.KeysBelow(key)
		at, found := slices.BinarySearchFunc(f.rows, key, func(r Resource, key string) int { return cmp.Compare(r.Key, key) })
		if !found || f.rows[at].Phase == index.Pending {
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

func (f *moveFacts) checkQuota(rows []Resource, limit int) error {
	if limit == 0 {
		return nil
	}
	more := map[string]int{}
	for _, row := range rows {
		more[row.Type]++
	}
	for _, row := range rows {
		if counted := f.counted[row.Type]; counted+more[row.Type] > limit {
			return &MoveError{Target: true, Key: row.Type, Err: &transaction.QuotaError{Kind: transaction.QuotaResources, Limit: limit, Current: counted}}
		}
	}
	return nil
}

// checkLocks checks for locks that forbid writes: on the resources, below them, and above
// either side.
func (f *moveFacts) checkLocks(keys []string, target string) error {
	for _, key := range keys {
		if err := forbidden(f.source.locks, index.Put, key); err != nil {
			return &MoveError{Key: key, Err: err}
		}
		for _, l := range f.source.locks {
			if l.Level.forbids(index.Put) && strings.HasPrefix(l.Scope, key+"/") {
				return &MoveError{Key: key, Err: &LockedError{Locks: []Lock{l}}}
			}
		}
	}
	if err := forbidden(f.target.locks, index.Put, target); err != nil {
		return &MoveError{Target: true, Err: err}
	}
	return nil
}

func (f *moveFacts) checkStates() error {
	for i, g := range [...]*Group{f.source.group, f.target.group} {
		if g.State != index.GroupActive {
			return &MoveError{Target: i == 1, Err: &index.GroupStateError{State: g.State}}
		}
	}
	return nil
}
