package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory/deploymentrow"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/memory"
	"portico/inventory/transaction"
)

// Group is a resource group.
type Group struct {
	Subscription string // folded
	Name         string // as the latest PUT or PATCH wrote it
	Key          string // the folded name
	Location     string
	ManagedBy    string
	Tags         map[string]string
	State        index.GroupState
	// Incarnation distinguishes this group from earlier ones of the same name, Generation
	// this version of the group from earlier ones.
	Incarnation, Generation [16]byte
	ETag                    string
	Created, Changed        time.Time

	locked bool // there may be locks in the subscription; set when the row is locked
}

// GroupQuery selects groups in the order of their keys.
type GroupQuery struct {
	Subscription string
	After        string // list the groups after this key
	Limit        int    // 0: all
}

const (
	groupColumns = `subscription, key, name, location, managed_by, tags, state, incarnation, generation, etag, created, changed`

	selectGroup = `SELECT ` + groupColumns + ` FROM resource_groups WHERE subscription = ? AND key = ?`
	lockGroup   = selectGroup + engine.ForUpdate
	lockGroups  = `SELECT key FROM resource_groups WHERE subscription = ? ORDER BY key` + engine.ForUpdate
	listGroups  = `SELECT ` + groupColumns + ` FROM resource_groups
		WHERE subscription = ? AND key > ? ORDER BY key LIMIT ?`
	insertGroup = `INSERT INTO resource_groups (` + groupColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription, key) DO NOTHING`
	updateGroup = `UPDATE resource_groups
		SET name = ?, location = ?, managed_by = ?, tags = ?, state = ?, generation = ?, etag = ?, changed = ?
		WHERE subscription = ? AND key = ?`
	deleteGroup = `DELETE FROM resource_groups WHERE subscription = ? AND key = ?`

	countGroupResources  = `SELECT COUNT(*) FROM resources WHERE subscription = ? AND resource_group = ?`
	countGroupIntents    = `SELECT COUNT(*) FROM intents WHERE subscription = ? AND resource_group = ?`
	listGroupIDs         = `SELECT id FROM resources WHERE subscription = ? AND resource_group = ? ORDER BY key LIMIT 100`
	deleteGroupUsage     = `DELETE FROM usage WHERE subscription = ? AND resource_group = ?`
	deleteWrittenRegions = `DELETE FROM written_regions WHERE subscription = ? AND resource_group = ?`
)

func scanGroup(scan engine.Scanner) (Group, error) {
	var (
		g                       Group
		tags                    string
		incarnation, generation []byte
		created, changed        int64
	)
	err := scan(&g.Subscription, &g.Key, &g.Name, &g.Location, &g.ManagedBy, &tags, &g.State,
		&incarnation, &generation, &g.ETag, &created, &changed)
	if err != nil {
		return Group{}, err
	}
	if err := json.Unmarshal([]byte(tags), &g.Tags); err != nil {
		return Group{}, fmt.Errorf("tags of group %s: %w", g.Key, err)
	}
	copy(g.Incarnation[:], incarnation)
	copy(g.Generation[:], generation)
	g.Created, g.Changed = engine.TimeOf(created), engine.TimeOf(changed)
	return g, nil
}

// Group returns one group, or ErrNotFound.
func (s *Store) Group(ctx context.Context, sub, name string) (Group, error) {
	return loadGroup(s.engine.Read(ctx), selectGroup, sub, name)
}

func loadGroup(from engine.Source, statement, sub, name string) (Group, error) {
	g, err := scanGroup(from.One(statement, arm.Fold(sub), arm.Fold(name)))
	return g, engine.OrNotFound(err)
}

// Groups lists groups.
func (s *Store) Groups(ctx context.Context, q GroupQuery) ([]Group, error) {
	return engine.Collect(s.engine.Read(ctx), scanGroup, listGroups, arm.Fold(q.Subscription), arm.Fold(q.After), engine.LimitArg(q.Limit))
}

// EditGroup creates or changes a group. edit gets the present group, nil if there is
// none, and returns the wanted one; it sets Name, Location, ManagedBy, Tags, State and
// ETag, and the store sets the rest. It runs inside the writing transaction and must be
// pure. If it fails, nothing is written and EditGroup returns its error; if it returns nil
// without an error, nothing changes (ErrNotFound if there is no group).
//
// A new group gets a new incarnation and counts against the subscription's quota
// (*transaction.QuotaError). The subscription may refuse the change
// (ErrSubscriptionNotFound, *SubscriptionStateError), and a lock may forbid it
// (*LockedError).
func (s *Store) EditGroup(ctx context.Context, sub, name string, edit func(current *Group) (*Group, error)) (Group, bool, error) {
	return engine.Put(ctx, s.engine, transaction.NewGroupLocks(sub, name), func(t *tx) (stored Group, created bool, err error) {
		current, err := openScope(t, arm.Fold(sub), arm.Fold(name), false)
		switch {
		case err == nil:
			if err := current.admitsChange(t); err != nil {
				return stored, false, err
			}
			stored, err = changeGroup(t, current, edit)
		case errors.Is(err, ErrNotFound):
			absent := Group{Subscription: arm.Fold(sub), Key: arm.Fold(name), locked: t.mayBeLocked(arm.Fold(sub))}
			if err := absent.admitsChange(t); err != nil {
				return stored, false, err
			}
			created = true
			stored, err = t.createGroup(sub, name, edit)
		}
		return stored, created, err
	})
}

// mayBeLocked reports whether there may be locks in a subscription whose row is locked.
func (t *tx) mayBeLocked(sub string) bool {
	known, loaded := t.locked.subscriptions[sub]
	return known.locked || !loaded
}

func (t *tx) createGroup(sub, name string, edit func(*Group) (*Group, error)) (Group, error) {
	wanted, err := edit(nil)
	if err != nil {
		return Group{}, err
	}
	if wanted == nil {
		return Group{}, ErrNotFound
	}
	if err := t.RaiseUsage(transaction.UsageOfGroups(sub), 1, t.store.options.Limits.GroupsPerSubscription); err != nil {
		return Group{}, err
	}
	g := *wanted
	g.Subscription, g.Key, g.Name = arm.Fold(sub), arm.Fold(name), spelling(g.Name, name)
	g.Incarnation, g.Generation = engine.NewID(), engine.NewID()
	g.Created, g.Changed = t.Now, t.Now
	tags, err := storedTags(g.Tags)
	if err != nil {
		return Group{}, err
	}
	t.ChangesScope(g.Subscription)
	if err := t.recordGroup(g, writeVerb, events.Succeeded); err != nil {
		return Group{}, err
	}
	// There was no row to lock, so another replica may have been faster.
	return g, t.ChangeOne(insertGroup, g.Subscription, g.Key, g.Name, g.Location, g.ManagedBy, tags, g.State,
		g.Incarnation[:], g.Generation[:], g.ETag, engine.Micros(g.Created), engine.Micros(g.Changed))
}

func changeGroup(t *tx, current Group, edit func(*Group) (*Group, error)) (Group, error) {
	given := current
	given.Tags = maps.Clone(current.Tags)
	wanted, err := edit(&given)
	if err != nil || wanted == nil {
		return current, err
	}
	g := *wanted
	g.Subscription, g.Key, g.Name = current.Subscription, current.Key, spelling(g.Name, current.Name)
	g.Incarnation, g.Generation = current.Incarnation, engine.NewID()
	if g.State != index.GroupActive && g.State == current.State {
		g.Generation = current.Generation // the ID of the job that deletes or moves the group
	}
	g.Created, g.Changed = current.Created, t.Now
	tags, err := storedTags(g.Tags)
	if err != nil {
		return Group{}, err
	}
	t.ChangesScope(g.Subscription)
	if err := t.recordGroup(g, writeVerb, events.Succeeded); err != nil {
		return Group{}, err
	}
	return g, t.Later(updateGroup, g.Name, g.Location, g.ManagedBy, tags, g.State, g.Generation[:], g.ETag,
		engine.Micros(g.Changed), g.Subscription, g.Key)
}

// spelling returns wanted if it equals otherwise except for casing, and otherwise if not.
func spelling(wanted, otherwise string) string {
	if arm.EqualFold(wanted, otherwise) {
		return wanted
	}
	return otherwise
}

func storedTags(tags map[string]string) (string, error) {
	text, err := json.Marshal(tags)
	return string(text), err
}

// DeleteGroupConditions holds a caller's conditions for a group's deletion. The functions
// run in the deleting transaction and must be pure; nil accepts.
type DeleteGroupConditions struct {
	// Check may refuse the group, before any other check.
	Check func(Group) error
	// CheckWrittenRegions may refuse the group once the index knows of nothing left in it.
	// It gets the written regions of this incarnation.
	CheckWrittenRegions func(Group, []WrittenRegion) error
	// Absent has, by key, the generations of rows whose resources Portico's last GET did
	// not find: see [Store.Observe]. Such a row is removed with the group if nothing has
	// changed it since.
	Absent map[string][16]byte
}

// DeleteGroup removes a group that has no resource, no stray, and no call that may still be
// running; otherwise it returns *GroupNotEmptyError. It replaces writes of unknown outcome
// by fences on their IDs. It returns errors of the conditions unchanged, ErrNotFound if
// there is no such group, and ErrSubscriptionNotFound if there is no such subscription.
func (s *Store) DeleteGroup(ctx context.Context, sub, name string, c DeleteGroupConditions) error {
	return s.write(ctx, engine.Flushed, transaction.GroupLocks(sub, name), func(t *tx) error {
		return closeGroup(t, arm.Fold(sub), arm.Fold(name), c)
	})
}

func closeGroup(t *tx, sub, name string, c DeleteGroupConditions) error {
	g, err := openScope(t, sub, name, true)
	if err != nil {
		return err
	}
	if c.Check != nil {
		if err := c.Check(g); err != nil {
			return err
		}
	}
	if g.State == index.GroupMoving {
		return &index.GroupStateError{State: g.State}
	}
	left, removed, err := t.removeAbsent(g, c.Absent)
	if err == nil {
		err = left.check(t, g)
	}
	if err != nil {
		return err
	}
	if c.CheckWrittenRegions != nil {
		if err := c.CheckWrittenRegions(g, left.regions); err != nil {
			return err
		}
	}
	creating, err := t.replaceByFences(g, left.open, removed)
	if err != nil {
		return err
	}
	if creating > 0 && !t.forgottenEverywhere(g) {
		return &GroupNotEmptyError{Intents: creating}
	}
	t.ChangesScope(g.Subscription)
	for _, statement := range [...]string{
		deleteGroup, deleteGroupUsage, deleteWrittenRegions,
		deploymentrow.OfGroup, deploymentrow.StepsOfGroup, deploymentrow.DeployedOfGroup,
	} {
		if err := t.Later(statement, g.Subscription, g.Key); err != nil {
			return err
		}
	}
	if err := g.dropLocks(t); err != nil {
		return err
	}
	if err := t.store.Deployments.RecordGone(&t.Tx, left.deployments); err != nil {
		return err
	}
	if err := t.recordGroup(g, deleteVerb, events.Succeeded); err != nil {
		return err
	}
	if err := t.unassigned.Add(&t.Tx, g.Subscription, groupScope(g.Subscription, g.Key)); err != nil {
		return err
	}
	return t.LowerUsage(transaction.UsageOfGroups(sub), 1)
}

// forgottenEverywhere reports whether a group was marked so long ago that no replica's
// memory still has it as Active.
func (t *tx) forgottenEverywhere(g Group) bool {
	return g.State == index.GroupDeleting && t.Now.Sub(g.Changed) > memory.Bound+t.store.engine.ClockSlack()
}

// dropAbsent removes the group's rows whose resources do not exist, and returns them by
// key. Intents that may still create a resource stay. If the group's deletion is
// refused, this is rolled back.
func (t *tx) dropAbsent(g Group, absent map[string][16]byte) (removed map[string]*Resource, err error) {
	removed = map[string]*Resource{}
	for _, key := range slices.Sorted(maps.Keys(absent)) {
		h, err := lockResource(t, g.Subscription, key)
		if err != nil {
			return nil, err
		}
		s := h.state()
		if s.Row == nil || h.row.Group != g.Key || !s.Absent(absent[key]) || s.UnderWay(engine.Micros(t.Now)) > 0 {
			continue
		}
		removed[key] = h.row
		s.Row = nil
		if err := t.recordGone(h.row, events.Verified); err != nil {
			return nil, err
		}
		if err := h.store(t, s, index.Actions{Tombstone: true}); err != nil {
			return nil, err
		}
	}
	return removed, nil
}

// groupContents is everything in a locked group.
type groupContents struct {
	locks     []Lock
	ended     []member // resources with an intent whose time is over
	resources int
	underWay  int // number of calls that may still be running
	strays    []Stray
	regions   []WrittenRegion // of this incarnation
	open      []openIntent

	deployments []deploymentrow.Active
}

// removeAbsent removes the intents whose time is over and the absent rows of a group. It
// returns the remaining contents, and the removed rows by key. If there is a
// lock on an Active group, or on anything in it, it returns *LockedError.
func (t *tx) removeAbsent(g Group, absent map[string][16]byte) (left groupContents, removed map[string]*Resource, err error) {
	if left, err = t.readContents(g); err != nil {
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
	if err := expireMembers(t, left.ended); err != nil {
		return left, nil, err
	}
	if removed, err = t.dropAbsent(g, absent); err == nil {
		left, err = t.readContents(g)
	}
	return left, removed, err
}

// readContents reads the contents of a group in one round trip.
func (t *tx) readContents(g Group) (c groupContents, err error) {
	now := engine.Micros(t.Now)
	err = t.LookUp(
		lookUpLocks(g.Subscription, g.Key, func(l Lock) { c.locks = append(c.locks, l) }),
		engine.LookupOf(endedInGroup, func(m member) { c.ended = append(c.ended, m) }, scanMember, g.Subscription, g.Key, now),
		engine.LookupOf(countGroupResources, func(n int) { c.resources = n }, engine.ScanOne, g.Subscription, g.Key),
		engine.LookupOf(countUnderWay, func(n int) { c.underWay = n }, engine.ScanOne, g.Subscription, g.Key, now, index.Move),
		engine.LookupOf(listGroupStrays+` LIMIT 100`, func(s Stray) { c.strays = append(c.strays, s) }, scanStray, g.Subscription, g.Key),
		engine.LookupOf(selectWrittenRegions, func(r WrittenRegion) { c.regions = append(c.regions, r) },
			scanWrittenRegion, g.Subscription, g.Key, g.Incarnation[:]),
		engine.LookupOf(groupIntents, func(o openIntent) { c.open = append(c.open, o) }, scanOpenIntent, g.Subscription, g.Key),
		deploymentrow.LookUpActive(g.Subscription, g.Key, func(a deploymentrow.Active) { c.deployments = append(c.deployments, a) }),
	)
	return c, err
}

// check returns *GroupNotEmptyError unless the group can be removed.
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
