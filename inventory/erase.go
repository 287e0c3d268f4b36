package inventory

import (
	"context"
	"errors"

	"portico/inventory/deploymentrow"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// EraseJob is the kind of the job that erases the records of a Deleted subscription. Its
// subject is the subscription.
const EraseJob = "erase"

// EraseJobID is the ID of that job in its subscription.
var EraseJobID = jobrow.ID(EraseJob, "subscription")

// Erasure is the progress of erasing a subscription.
type Erasure struct {
	Notices   int  // endpoints that have not confirmed that it is Deleted
	Intents   int  // writes that may still be on their way to an endpoint, and fences
	Moves     int  // groups from or to which resources are being moved
	More      bool // something was erased, and the next step erases more
	Done      bool // nothing is left, and the job has ended
	Recreated bool // the subscription is no longer Deleted, and the job has ended

	// After is the key after which the next step continues in its group. PostgreSQL keeps
	// erased rows in its indexes until it is vacuumed; without After each step would walk
	// over all rows that the steps before it have erased.
	After string
}

const (
	countOpenWrites    = `SELECT (SELECT COUNT(*) FROM intents WHERE subscription = ? AND ends > ?) + (SELECT COUNT(*) FROM fences WHERE subscription = ?)`
	countMoving        = `SELECT COUNT(*) FROM resource_groups WHERE subscription = ? AND state = ?`
	firstGroupToErase  = `SELECT key FROM resource_groups WHERE subscription = ? ORDER BY key LIMIT 1` + engine.ForUpdate
	firstGroupKeys     = `SELECT key FROM resources WHERE subscription = ? AND resource_group = ? AND key > ? ORDER BY key LIMIT ?`
	eraseGroupRows     = `DELETE FROM resources WHERE subscription = ? AND resource_group = ? AND key > ? AND key <= ?`
	eraseGroupIntents  = `DELETE FROM intents WHERE subscription = ? AND resource_group = ?`
	eraseGroupStrays   = `DELETE FROM strays WHERE subscription = ? AND resource_group = ?`
	eraseOtherJobs     = `DELETE FROM jobs WHERE subscription = ? AND id <> ?`
	eraseRegistrations = `DELETE FROM registrations WHERE subscription = ?`
	firstTags          = `SELECT tag, resource FROM resource_tags WHERE subscription = ? ORDER BY tag, resource LIMIT ?`
	eraseFirstTags     = `DELETE FROM resource_tags WHERE subscription = ? AND (tag, resource) <= (?, ?)`
	firstTombstones    = `SELECT key FROM tombstones WHERE subscription = ? ORDER BY key LIMIT ?`
	eraseTombstones    = `DELETE FROM tombstones WHERE subscription = ? AND key <= ?`
	firstOperations    = `SELECT token FROM operations WHERE subscription = ? ORDER BY token LIMIT ?`
	eraseOperations    = `DELETE FROM operations WHERE subscription = ? AND token <= ?`
)

// The number of resources, tags and other records that one step erases: a subscription
// may have millions, too many for one transaction.
const (
	resourcesAtOnce = 1_000
	tagsAtOnce      = 10_000
	recordsAtOnce   = 5_000
)

// erasures empty all tables of the subscription except for its own row and its jobs;
// secrets belong to no subscription.
var erasures = []string{
	`DELETE FROM resource_groups WHERE subscription = ?`,
	eraseRegistrations,
	`DELETE FROM resources WHERE subscription = ?`,
	`DELETE FROM resource_tags WHERE subscription = ?`,
	`DELETE FROM intents WHERE subscription = ?`,
	`DELETE FROM fences WHERE subscription = ?`,
	`DELETE FROM usage WHERE subscription = ?`,
	`DELETE FROM written_regions WHERE subscription = ?`,
	`DELETE FROM tombstones WHERE subscription = ?`,
	`DELETE FROM coverage WHERE subscription = ?`,
	`DELETE FROM strays WHERE subscription = ?`,
	`DELETE FROM locks WHERE subscription = ?`,
	`DELETE FROM role_assignments WHERE subscription = ?`,
	`DELETE FROM operations WHERE subscription = ?`,
	`DELETE FROM deletion_members WHERE subscription = ?`,
	`DELETE FROM deletion_order WHERE subscription = ?`,
	`DELETE FROM tag_names WHERE subscription = ?`,
	`DELETE FROM deployments WHERE subscription = ?`,
	`DELETE FROM deployment_steps WHERE subscription = ?`,
	`DELETE FROM deployed WHERE subscription = ?`,
	`DELETE FROM leases WHERE subscription = ?`,
	`DELETE FROM notified_endpoints WHERE subscription = ?`,
	`DELETE FROM sink_events WHERE subscription = ?`,
}

// EraseSubscription erases some records of a Deleted subscription: first some resources of
// a group, and once there are none, some tags and other records. The error is
// jobrow.ErrLeaseLost if the caller no longer holds the job. after is the Erasure.After of
// the step before, "" for the first step.
//
// The erasing starts when every endpoint has confirmed the deletion, no write is open, and
// no move from or to the subscription is under way. Nothing can come back then, and a new
// subscription with the same ID is independent of the old one. The step locks the rows of
// all groups, as writes and moves do when they begin, so it misses none. After that only a
// job's write may begin in a group, and a step locks that group before it reads.
//
// A write that lands after its provider confirmed would stay for good. So when
// everything under way has ended, the store notifies every endpoint once more, and each
// has to confirm again. It does so for every subscription: a write that began just as
// the subscription was marked Deleted may have started and ended unseen.
func (s *Store) EraseSubscription(ctx context.Context, j jobrow.Job, after string) (Erasure, error) {
	locks := subscriptionAndGroupsLocks(j.Subscription)
	if sub, err := s.Subscription(ctx, j.Subscription); err == nil && sub.FinalVersion != 0 {
		locks = transaction.SubscriptionLocks(j.Subscription)
		locks.Alone = true // it may lock groups
	}
	return commit(ctx, s, engine.Flushed, locks, func(t *tx) (e Erasure, err error) {
		sub, err := loadSubscription(t, lockSubscription, j.Subscription)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && (sub.State != Deleted || sub.Erased):
			e.Recreated = true
			return e, t.endErasure(j)
		case err != nil:
			return e, err
		}
		groups, err := t.countUnderWay(&sub, &e)
		switch {
		case err != nil, e.Notices > 0:
			return e, err
		case e.Intents > 0, e.Moves > 0:
			return e, t.resetFinal(sub)
		}
		e.More = true
		if len(groups) > 0 {
			e.After, err = t.eraseOfGroup(sub.ID, groups[0], after)
			return e, err
		}
		if more, err := t.eraseTags(sub.ID); err != nil || more {
			return e, err
		}
		for _, of := range [...]struct{ first, erase string }{{firstTombstones, eraseTombstones}, {firstOperations, eraseOperations}} {
			if more, err := t.eraseRecords(sub.ID, of.first, of.erase); err != nil || more {
				return e, err
			}
		}
		e.More = false
		e.Done = true
		return e, t.eraseRest(&sub, j)
	})
}

// countUnderWay locks groups of a Deleted subscription, and counts the notices (also the
// final ones), writes and moves that have to end before the erasing. It returns the keys of
// the locked groups: all groups until the final notices are made, then only the first one.
func (t *tx) countUnderWay(sub *Subscription, e *Erasure) (groups []string, err error) {
	if e.Notices, err = countNotices(t, sub.ID, everyNamespace); err != nil || e.Notices > 0 {
		return nil, err
	}
	lock, final := lockGroups, sub.FinalVersion != 0
	if final {
		lock = firstGroupToErase
	}
	if groups, err = engine.Collect(t, engine.ScanOne[string], lock, sub.ID); err != nil {
		return nil, err
	}
	if err := t.One(countOpenWrites, sub.ID, engine.Micros(t.Now), sub.ID)(&e.Intents); err != nil || e.Intents > 0 {
		return nil, err
	}
	if final { // no move was under way then, and none could begin any more
		return groups, nil
	}
	if err := t.One(countMoving, sub.ID, index.GroupMoving)(&e.Moves); err != nil || e.Moves > 0 {
		return nil, err
	}
	e.Notices, err = t.notifyFinally(sub)
	return groups, err
}

// resetFinal clears FinalVersion, so that the endpoints are notified once more when nothing
// is open.
func (t *tx) resetFinal(sub Subscription) error {
	if sub.FinalVersion == 0 {
		return nil
	}
	sub.FinalVersion = 0
	return sub.update(t)
}

// notifyFinally notifies all endpoints of a subscription of its deletion once more, and
// returns how many have to confirm.
func (t *tx) notifyFinally(sub *Subscription) (int, error) {
	sub.Version++
	sub.FinalVersion = sub.Version
	if err := sub.update(t); err != nil {
		return 0, err
	}
	if err := t.recordAbsent(sub.ID); err != nil {
		return 0, err
	}
	if err := t.notify(*sub, nil, everyNamespace); err != nil {
		return 0, err
	}
	return countNotices(t, sub.ID, everyNamespace)
}

// eraseOfGroup removes some resources of a group that follow a key, and returns the key
// after which to continue. With the last ones it removes the group and its other records.
func (t *tx) eraseOfGroup(sub, group, after string) (next string, err error) {
	keys, err := engine.Collect(t, engine.ScanOne[string], firstGroupKeys, sub, group, after, resourcesAtOnce)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		t.dropLocation(key)
	}
	if len(keys) > 0 {
		next = keys[len(keys)-1]
		if _, err := t.Exec(eraseGroupRows, sub, group, after, next); err != nil {
			return "", err
		}
	}
	switch {
	case len(keys) == resourcesAtOnce:
		return next, nil
	case after != "":
		return "", nil // the next step starts from the first key
	}
	t.ChangesScope(sub)
	for _, statement := range [...]string{
		eraseGroupIntents, eraseGroupStrays, deleteGroupUsage, deleteWrittenRegions,
		deploymentrow.OfGroup, deploymentrow.StepsOfGroup, deploymentrow.DeployedOfGroup, deleteGroup,
	} {
		if _, err := t.Exec(statement, sub, group); err != nil {
			return "", err
		}
	}
	return "", nil
}

// eraseRecords removes some records of a subscription, and reports whether there may be
// more. first selects the key of the last one to remove.
func (t *tx) eraseRecords(sub, first, erase string) (more bool, err error) {
	keys, err := engine.Collect(t, engine.ScanOne[string], first, sub, recordsAtOnce)
	if err != nil || len(keys) < recordsAtOnce {
		return false, err
	}
	_, err = t.Exec(erase, sub, keys[recordsAtOnce-1])
	return true, err
}

// eraseTags removes some of a subscription's tags, and reports whether there may be
// more. The last ones go with the other records.
func (t *tx) eraseTags(sub string) (more bool, err error) {
	type use struct{ tag, resource string }
	first, err := engine.Collect(t, func(scan engine.Scanner) (u use, err error) {
		err = scan(&u.tag, &u.resource)
		return u, err
	}, firstTags, sub, tagsAtOnce)
	if err != nil || len(first) < tagsAtOnce {
		return false, err
	}
	last := first[tagsAtOnce-1]
	_, err = t.Exec(eraseFirstTags, sub, last.tag, last.resource)
	return true, err
}

func (t *tx) eraseRest(sub *Subscription, j jobrow.Job) error {
	t.ChangesScope(sub.ID)
	for _, statement := range erasures {
		if _, err := t.Exec(statement, sub.ID); err != nil {
			return err
		}
	}
	// Whoever holds one of these jobs loses its lease.
	if _, err := t.Exec(eraseOtherJobs, sub.ID, j.ID[:]); err != nil {
		return err
	}
	sub.Erased, sub.Features, sub.Changed = true, nil, t.Now
	sub.Version++
	if err := sub.update(t); err != nil {
		return err
	}
	if _, err := t.Exec(updateSubscriptionTags, `{}`, engine.Micros(t.Now), sub.ID); err != nil {
		return err
	}
	return t.endErasure(j)
}

func (t *tx) endErasure(j jobrow.Job) error {
	return j.End(t.Base(), jobrow.Done, "", t.Now.Add(t.store.options.JobRecords))
}
