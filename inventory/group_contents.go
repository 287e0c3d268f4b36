package inventory

import (
	"portico/inventory/engine"
	"portico/inventory/index"
)

// groupContents is what the store knows to be in a locked group.
type groupContents struct {
	locks     []Lock
	ended     []member // whose intents have ended by time
	resources int
	underWay  int // calls that may still be running
	strays    []Stray
	regions   []WrittenRegion // that this incarnation ever sent a write to
	open      []openIntent
}

// leftIn returns what is in a group once what has ended by time, and the absent rows,
// are gone; and the IDs of these, by their keys. A lock on an Active group, or on what
// it holds, refuses: *LockedError.
func (t *tx) leftIn(g Group, absent map[string][16]byte) (left groupContents, ids map[string]string, err error) {
	if left, err = t.contentsOf(g); err != nil {
		return left, nil, err
	}
	if g.State == index.GroupActive {
		if err := CheckAllLocks(left.locks); err != nil {
			return left, nil, err
		}
	}
	if len(left.ended) == 0 && len(absent) == 0 {
		return left, nil, nil
	}
	if err := expire(t, left.ended); err != nil {
		return left, nil, err
	}
	if ids, err = t.dropAbsent(g, absent); err == nil {
		left, err = t.contentsOf(g)
	}
	return left, ids, err
}

// contentsOf reads what is in a group, in one round trip.
func (t *tx) contentsOf(g Group) (c groupContents, err error) {
	now := engine.Micros(t.Now)
	err = t.LookUp(
		lookUpLocks(g.Subscription, g.Key, func(l Lock) { c.locks = append(c.locks, l) }),
		engine.LookupOf(endedInGroup, func(m member) { c.ended = append(c.ended, m) }, scanMember, g.Subscription, g.Key, now),
		engine.LookupOf(countGroupResources, func(n int) { c.resources = n }, engine.ScanOne, g.Subscription, g.Key),
		engine.LookupOf(countUnderWay, func(n int) { c.underWay = n }, engine.ScanOne, g.Subscription, g.Key, now, index.Move),
		engine.LookupOf(listGroupStrays+` LIMIT 100`, func(s Stray) { c.strays = append(c.strays, s) }, scanStray, g.Subscription, g.Key),
		engine.LookupOf(selectWrittenRegions, func(r WrittenRegion) { c.regions = append(c.regions, r) }, scanWrittenRegion, g.Subscription, g.Key, g.Incarnation[:]),
		engine.LookupOf(groupIntents, func(o openIntent) { c.open = append(c.open, o) }, scanOpenIntent, g.Subscription, g.Key),
	)
	return c, err
}

// check returns *GroupNotEmptyError unless the group may close.
func (c groupContents) check(t *tx, g Group) error {
	if index.MayClose(c.resources, len(c.strays), c.underWay) {
		return nil
	}
	ids, err := engine.Collect(t, engine.ScanOne[string], listGroupIDs, g.Subscription, g.Key)
	if err != nil {
		return err
	}
	return &GroupNotEmptyError{Total: c.resources, Intents: c.underWay, Strays: c.strays, Resources: ids}
}
