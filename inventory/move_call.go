package inventory

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// MoveResource is a top-level resource that moves with everything below it.
type MoveResource struct {
	Key    string // in the source group
	Region string
	Stray  bool // the index has its ID in another region
}

// MoveCall is one call to a provider that moves several resources.
type MoveCall struct {
	Source, Target GroupName
	Members        []MoveResource // of one region
	APIVersion     string
	Sender         string
}

// intentID returns the id of a move's intents in a region.
func (m MoveResource) intentID(j jobrow.Job) (id [16]byte) {
	sum := sha256.Sum256(append(j.ID[:], m.Region...))
	copy(id[:], sum[:])
	return id
}

// neverEnds is the end time of an intent that only its job ends.
var neverEnds = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

const (
	lockTree = `SELECT ` + resourceColumns + ` FROM resources WHERE subscription = ? AND (key = ? OR key >= ? AND key < ?) ORDER BY key` + engine.ForUpdate
	// The new generation invalidates every GET that started before.
	renewTree = `UPDATE resources SET generation = ? WHERE subscription = ? AND (key = ? OR key >= ? AND key < ?)`
	anyAt     = `SELECT EXISTS (SELECT 1 FROM resources WHERE subscription = ? AND (key = ? OR key >= ? AND key < ?))
		OR EXISTS (SELECT 1 FROM fences WHERE subscription = ? AND (key = ? OR key >= ? AND key < ?))`
	listStray  = `SELECT ` + strayColumns + ` FROM strays WHERE subscription = ? AND region = ? AND (key = ? OR key >= ? AND key < ?) ORDER BY key`
	dropStrays = `DELETE FROM strays WHERE subscription = ? AND region = ? AND (key = ? OR key >= ? AND key < ?)`
	endIntents = `DELETE FROM intents WHERE subscription = ? AND (key = ? OR key >= ? AND key < ?) AND id = ?`
)

// BeginCall durably records, with the job's payload, that a call is about to be made; no
// byte of it may be sent before BeginCall has returned. From then until Moves.Settle no
// GET is proof for its members, for the resources below them, or for their new IDs. The
// error is ErrChanged if a member is gone or is being deleted, ErrTargetOccupied if its
// new ID exists, ErrSubscriptionNotFound if either subscription is Deleted, after which
// the move must send nothing more, and jobrow.ErrLeaseLost if the caller no longer holds
// the job.
func (moves *Moves) BeginCall(ctx context.Context, j *jobrow.Job, c MoveCall, payload string) error {
	c.Source, c.Target = c.Source.folded(), c.Target.folded()
	return moves.store.writeForJob(ctx, engine.Flushed, severalScopesLocks(j.Subscription), j, payload, func(t *tx, held jobrow.Job) error {
		_, to, err := t.lockMovingPair(&held, c.Source, c.Target)
		if err != nil {
			return err
		}
		for _, name := range [...]GroupName{c.Source, c.Target} {
			if state, err := stateOf(t, name.Subscription); err != nil {
				return err
			} else if state == Deleted {
				return ErrSubscriptionNotFound
			}
		}
		if err := held.Save(t.Base(), payload); err != nil {
			return err
		}
		for _, m := range c.Members {
			if err := t.recordMoveIntents(held, c, m, to.Incarnation); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) recordMoveIntents(j jobrow.Job, c MoveCall, m MoveResource, incarnation [16]byte) error {
	rows, err := t.lockTree(c.Source, m)
	if err != nil {
		return err
	}
	first, last := engine.KeysBelow(m.Key)
	target := c.newKey(m.Key)
	if len(rows) == 0 || rows[0].Key != m.Key || rows[0].Region != m.Region || rows[0].Phase == index.Pending ||
		slices.ContainsFunc(rows, func(r Resource) bool { return r.Phase == index.Deleting || r.FollowDelete }) {
		return ErrChanged
	}
	if !m.Stray {
		if taken, err := t.isOccupied(c.Target.Subscription, target); err != nil {
			return err
		} else if taken {
			return ErrTargetOccupied
		}
		generation := engine.NewID()
		if _, err := t.Exec(renewTree, generation[:], c.Source.Subscription, m.Key, first, last); err != nil {
			return err
		}
	}
	intent := m.intentID(j)
	sendBy := t.Now.Add(t.store.options.SendWithin)
	notAfter := t.Now.Add(t.store.options.CallLimit + t.store.options.CallMargin)
	for _, row := range rows {
		for _, at := range [...]struct {
			GroupName
			key string
		}{{c.Source, row.Key}, {c.Target, c.newKey(row.Key)}} {
			err := t.Later(insertIntent, at.Subscription, at.key, intent[:], index.Move, at.Name, row.Type, m.Region, c.APIVersion, c.Sender,
				row.Generation[:], engine.Flag(false), engine.Flag(true), engine.Flag(false),
				engine.Micros(sendBy), engine.Micros(notAfter), engine.Micros(neverEnds))
			if err != nil {
				return err
			}
		}
		if err := t.Later(insertWrittenRegion, c.Target.Subscription, c.Target.Name, incarnation[:], row.Type, m.Region); err != nil {
			return err
		}
	}
	return nil
}

// lockTree loads and locks the rows of a member and of the resources below it. For a stray
// it makes rows from the strays of its region.
func (t *tx) lockTree(source GroupName, m MoveResource) ([]Resource, error) {
	from, to := engine.KeysBelow(m.Key)
	if !m.Stray {
		return engine.Collect(t, scanResource, lockTree, source.Subscription, m.Key, from, to)
	}
	return engine.Collect(t, func(scan engine.Scanner) (Resource, error) {
		s, err := scanStray(scan)
		return Resource{Subscription: s.Subscription, Key: s.Key, ID: s.ID, Group: s.Group, Type: s.Type, Region: s.Region, Phase: index.Live}, err
	}, listStray, source.Subscription, m.Region, m.Key, from, to)
}

// newKey returns the key in the target group for a key in the source group.
func (c *MoveCall) newKey(key string) string {
	return c.Target.scope() + strings.TrimPrefix(key, c.Source.scope())
}

const lastIntent = `SELECT COALESCE(MAX(ends), 0) FROM intents WHERE subscription = ? AND resource_group = ?`

// expireAtOnce is how many intents one transaction ends by time.
const expireAtOnce = 1000

// Drained ends the writes into two groups whose time is over, and reports whether no write
// is open any more. until is when the last open write ends by time.
func (moves *Moves) Drained(ctx context.Context, source, target GroupName) (until time.Time, drained bool, err error) {
	if _, err := moves.store.Expire(ctx, expireAtOnce); err != nil {
		return until, false, err
	}
	for _, g := range [...]GroupName{source, target} {
		var last int64
		if err := moves.store.engine.Read(ctx).One(lastIntent, arm.Fold(g.Subscription), arm.Fold(g.Name))(&last); err != nil {
			return until, false, err
		}
		if last > 0 && engine.TimeOf(last).After(until) {
			until = engine.TimeOf(last)
		}
	}
	return until, until.IsZero(), nil
}

// MovedRow returns a row with its new key, subscription, group and ID, for a GET.
func (c *MoveCall) MovedRow(row Resource, target Group) Resource {
	row.Key = c.newKey(row.Key)
	row.Subscription, row.Group, row.ID = target.Subscription, target.Key, movedID(row.ID, target)
	return row
}

// movedID returns an ID in another group, with that group's casing.
func movedID(id string, target Group) string {
	const before = 5 // "", subscriptions, its id, resourceGroups, its name
	parts := strings.SplitN(id, "/", before+1)
	if len(parts) <= before {
		return id
	}
	return "/subscriptions/" + target.Subscription + "/resourceGroups/" + target.Name + "/" + parts[before]
}
