package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// FenceJob is the kind of the job that watches the fences on one ID: it looks for a
// write that landed under them, deletes the resource that it created, and removes the
// fences. Its subject is the ID's key.
const FenceJob = "fence"

// Fence blocks the ID of a write of unknown outcome whose group was deleted. While there
// is a fence, the resource does not exist and no new one is created under its ID, so a
// resource that appears there can only come from a PUT that landed late.
type Fence struct {
	Subscription, Key string
	// Intent is the id of the write.
	Intent [16]byte
	Kind   index.WriteKind
	// ID is the resource's ID as last written, or its key if that is unknown.
	ID         string
	Group      string // folded
	Type       string // folded full type
	Region     string
	APIVersion string // of the write
	// Own: the write is Portico's DELETE of a resource that landed under another fence.
	// Accepted: the provider has accepted that DELETE and is working on it.
	Own, Accepted bool
	Since         time.Time
	// Until is the time after which the write can no longer be applied. The fence of a PUT
	// stays until a GET after that time has found nothing.
	Until time.Time
}

// FencedError refuses to create a resource while there is a fence on its ID.
type FencedError struct{ Until time.Time }

func (e *FencedError) Error() string {
	return fmt.Sprintf("inventory: a write of the resource that has no answer may take effect until %s", e.Until.UTC().Format(time.RFC3339))
}

const (
	fenceColumns = `subscription, key, id, kind, resource, resource_group, type, region, api_version, own, accepted, since, until`
	insertFence  = `INSERT INTO fences (` + fenceColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, key, id) DO NOTHING`
	selectFences    = `SELECT ` + fenceColumns + ` FROM fences WHERE subscription = ? AND key = ? ORDER BY id`
	lockFences      = selectFences + engine.ForUpdate
	deleteFence     = `DELETE FROM fences WHERE subscription = ? AND key = ? AND id = ?`
	acceptFence     = `UPDATE fences SET accepted = 1, until = ? WHERE subscription = ? AND key = ? AND id = ?`
	fencedUntil     = `SELECT COALESCE(MAX(until), 0) FROM fences WHERE subscription = ? AND key = ?`
	anyFence        = `SELECT EXISTS (SELECT 1 FROM fences WHERE subscription = ?)`
	countEveryFence = `SELECT COUNT(*) FROM fences`
	listFences      = `SELECT ` + fenceColumns + ` FROM fences WHERE (subscription, key, id) > (?, ?, ?)
		ORDER BY subscription, key, id LIMIT ?`

	groupIntents = `SELECT key, id, kind, type, region, api_version, ends FROM intents WHERE subscription = ? AND resource_group = ? ORDER BY key, id`
	// The intents of a move do not count: only its job ends them.
	countUnderWay = `SELECT COUNT(*) FROM intents WHERE subscription = ? AND resource_group = ? AND (call_ended = 0 AND not_after > ? OR kind = ?)`
)

func scanFence(scan engine.Scanner) (f Fence, err error) {
	var (
		id           []byte
		since, until int64
	)
	err = scan(&f.Subscription, &f.Key, &id, &f.Kind, &f.ID, &f.Group, &f.Type, &f.Region, &f.APIVersion, &f.Own, &f.Accepted, &since, &until)
	copy(f.Intent[:], id)
	f.Since, f.Until = engine.TimeOf(since), engine.TimeOf(until)
	return f, err
}

func (f *Fence) insert(t *tx) error {
	delete(t.locked.unfenced, f.Subscription)
	return t.Later(insertFence, f.Subscription, f.Key, f.Intent[:], f.Kind, f.ID, f.Group, f.Type, f.Region, f.APIVersion,
		engine.Flag(f.Own), engine.Flag(f.Accepted), engine.Micros(f.Since), engine.Micros(f.Until))
}

// checkNoFence returns *FencedError if a fence forbids creating a resource. The caller
// has locked the group's row, as the deletion of the group does.
func (t *tx) checkNoFence(sub, key string) error {
	if none, err := t.noFences(sub); none || err != nil {
		return err
	}
	until := int64(0)
	if err := t.One(fencedUntil, sub, key)(&until); until == 0 || err != nil {
		return err
	}
	return &FencedError{Until: engine.TimeOf(until)}
}

// noFences reports whether a subscription is known to have no fences at all. One read
// serves all members of the transaction, as hardly any subscription has fences.
func (t *tx) noFences(sub string) (bool, error) {
	if none, known := t.locked.unfenced[sub]; known {
		return none, nil
	}
	found := false
	if err := t.One(anyFence, sub)(&found); err != nil {
		return false, err
	}
	t.locked.unfenced[sub] = !found
	return !found, nil
}

// hasFence reports whether there is a fence on an ID.
func (t *tx) hasFence(sub, key string) (bool, error) {
	err := t.checkNoFence(sub, key)
	if _, ok := errors.AsType[*FencedError](err); ok {
		return true, nil
	}
	return false, err
}

// openIntent is an open write into a group, with the fence that may replace it.
type openIntent struct {
	Fence
	ends int64
}

func scanOpenIntent(scan engine.Scanner) (o openIntent, err error) {
	var id []byte
	err = scan(&o.Key, &id, &o.Kind, &o.Type, &o.Region, &o.APIVersion, &o.ends)
	copy(o.Intent[:], id)
	return o, err
}

// replaceByFences replaces the open writes into a group, all of unknown outcome, by fences.
// removed has the rows that go with the group, by key. creating is the number of writes that
// may create a resource.
func (t *tx) replaceByFences(g Group, open []openIntent, removed map[string]*Resource) (creating int, err error) {
	for _, l := range open {
		f, intentKey := l.Fence, l.Key
		f.Key = resourceKey(intentKey)
		f.Subscription, f.Group, f.Since, f.Until = g.Subscription, g.Key, t.Now, engine.TimeOf(l.ends)
		row := removed[f.Key]
		if f.ID = f.Key; row != nil {
			f.ID = row.ID
		}
		if f.Kind == index.Put {
			creating++
		}
		if err := f.insert(t); err != nil {
			return 0, err
		}
		if err := t.Later(deleteIntent, g.Subscription, intentKey, f.Intent[:]); err != nil {
			return 0, err
		}
		if err := t.watchFence(f, row); err != nil {
			return 0, err
		}
	}
	return creating, nil
}

// resourceKey returns the key of an intent's resource, which may be a stray.
func resourceKey(intentKey string) string {
	if !IsStrayKey(intentKey) {
		return intentKey
	}
	return intentKey[strings.IndexByte(intentKey, '/'):]
}

func fenceID(key string) [16]byte { return jobrow.ID(FenceJob, key) }

// watchFence creates the job that watches the fences on the ID of a fence. row is the row that
// was on it, nil for none; the payload keeps its unreported writes.
func (t *tx) watchFence(f Fence, row *Resource) error {
	job := jobrow.Job{
		Subscription: f.Subscription, ID: fenceID(f.Key), Kind: FenceJob, Subject: f.Key, Region: f.Region,
		Incarnation: engine.NewID(), Due: t.Now.Add(t.store.options.PollFloor), Payload: "{}",
	}
	if row != nil {
		job.Payload = jobrow.PayloadOf(row.unreported.text)
	}
	return job.Put(t.Base())
}

// causeUnderFences returns the cause of the latest write of a kind under the fences on a key.
func (t *tx) causeUnderFences(sub, key string, kind index.WriteKind) events.Cause {
	removed := Resource{Subscription: sub}
	if job, err := jobrow.Load(t, sub, fenceID(key)); err == nil {
		_ = job.Read(&removed.unreported.text) // it may hold none
	}
	if cause := t.store.CauseOfWrite(t.Context, removed, kind); cause != (events.Cause{}) {
		return cause
	}
	return t.ownCause()
}

// Fences has the methods for the fences of all subscriptions.
type Fences struct{ store *Store }

// On lists the fences on an ID.
func (fences *Fences) On(ctx context.Context, sub, key string) ([]Fence, error) {
	return engine.Collect(fences.store.engine.Read(ctx), scanFence, selectFences, arm.Fold(sub), arm.Fold(key))
}

// All lists at most limit fences of all subscriptions that follow after; the
// zero Fence precedes all.
func (fences *Fences) All(ctx context.Context, after Fence, limit int) ([]Fence, error) {
	return engine.Collect(fences.store.engine.Read(ctx), scanFence, listFences, after.Subscription, after.Key, after.Intent[:], engine.LimitArg(limit))
}

// Count counts the fences of all subscriptions.
func (fences *Fences) Count(ctx context.Context) (n int, err error) {
	err = fences.store.engine.Read(ctx).One(countEveryFence)(&n)
	return n, err
}

// BeginDelete durably records that Portico is about to DELETE a resource that landed under
// a fence. The record is another fence, which stays as long as that DELETE may be applied.
// The error is ErrChanged if the first fence is gone, or if such a DELETE is already under
// way in its region.
func (fences *Fences) BeginDelete(ctx context.Context, under Fence, lateWriteWindow time.Duration) (Ticket, error) {
	if lateWriteWindow <= 0 {
		lateWriteWindow = fences.store.options.LateWriteWindow
	}
	return commit(ctx, fences.store, engine.Flushed, resourceLocks(under.Subscription, under.Key), func(t *tx) (Ticket, error) {
		standing, err := engine.Collect(t, scanFence, lockFences, under.Subscription, under.Key)
		if err != nil {
			return Ticket{}, err
		}
		stands := false
		for _, f := range standing {
			if f.Own && f.Region == under.Region {
				return Ticket{}, ErrChanged
			}
			stands = stands || f.Intent == under.Intent
		}
		if !stands {
			return Ticket{}, ErrChanged
		}
		own := under
		notAfter := t.Now.Add(fences.store.options.CallLimit + fences.store.options.CallMargin)
		own.Intent, own.Kind, own.Own, own.Since, own.Until = engine.NewID(), index.Delete, true, t.Now, notAfter.Add(lateWriteWindow)
		return Ticket{
			Subscription: own.Subscription, Key: own.Key, Kind: index.Delete, ID: own.ID, APIVersion: own.APIVersion,
			Intent: own.Intent, SendBy: t.Now.Add(fences.store.options.SendWithin), NotAfter: notAfter,
		}, errors.Join(own.insert(t), t.recordLanding(under))
	})
}

// SettleDelete records the outcome of a DELETE that began with [Fences.BeginDelete]. A
// definite answer removes its fence; after an acceptance the fence stays for the time that
// the operation may take.
func (fences *Fences) SettleDelete(ctx context.Context, ticket Ticket, outcome index.Outcome, operation time.Duration) error {
	return fences.store.write(ctx, engine.Flushed, resourceLocks(ticket.Subscription, ticket.Key), func(t *tx) error {
		switch outcome {
		case index.Ambiguous:
			return nil
		case index.Accepted:
			if err := t.recordFencedDelete(ticket, events.Accepted); err != nil {
				return err
			}
			return t.Later(acceptFence, engine.Micros(t.Now.Add(operation)), ticket.Subscription, ticket.Key, ticket.Intent[:])
		case index.NotSent, index.Refused, index.Succeeded, index.Gone:
		}
		if outcome == index.Succeeded || outcome == index.Gone {
			if err := t.recordFencedDelete(ticket, events.Succeeded); err != nil {
				return err
			}
		}
		if _, err := t.Exec(deleteFence, ticket.Subscription, ticket.Key, ticket.Intent[:]); err != nil {
			return err
		}
		return t.writeTombstoneAt(ticket.Subscription, ticket.Key)
	})
}

// ProvedAbsent has, by region, the store time of Portico's GET of an ID that found nothing.
type ProvedAbsent map[string]time.Time

// RemoveEnded removes the fences on an ID whose time is over, and returns the others. It
// removes the fence of a PUT only if a GET after its time has found nothing, and the fence
// of an accepted DELETE once the landed resource is gone.
func (fences *Fences) RemoveEnded(ctx context.Context, sub, key string, absent ProvedAbsent) ([]Fence, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	return commit(ctx, fences.store, engine.Flushed, resourceLocks(sub, key), func(t *tx) ([]Fence, error) {
		all, err := engine.Collect(t, scanFence, lockFences, sub, key)
		if err != nil {
			return nil, err
		}
		var left []Fence
		for _, f := range all {
			if !f.hasEnded(t.Now, absent, fences.store.engine.ClockSlack()) {
				left = append(left, f)
				continue
			}
			if _, err := t.Exec(deleteFence, sub, key, f.Intent[:]); err != nil {
				return nil, err
			}
		}
		if len(left) == len(all) {
			return left, nil
		}
		return left, t.writeTombstoneAt(sub, key)
	})
}

// hasEnded reports whether a fence is no longer needed. slack is the most by which the
// clocks of replicas may differ.
func (f *Fence) hasEnded(now time.Time, absent ProvedAbsent, slack time.Duration) bool {
	probed, proved := absent[f.Region]
	switch {
	case f.Accepted && proved && !probed.Before(f.Since):
		return true
	case f.Kind == index.Put:
		return proved && !probed.Add(-slack).Before(f.Until)
	}
	return !f.Until.After(now)
}

// writeTombstoneAt records that a resource without a row is gone.
func (t *tx) writeTombstoneAt(sub, key string) error {
	return t.Later(putTombstone, sub, key, "", engine.Micros(t.Now))
}

// ForgetSworn removes the fences on an ID once the time of each is over, and returns
// them. It is for an operator who knows that nothing has landed under them although no GET
// can prove it. The error is ErrNotFound if there is no fence, and *ObstacleError while the
// time of one is not over.
func (fences *Fences) ForgetSworn(ctx context.Context, sub, key string) ([]Fence, error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	return commit(ctx, fences.store, engine.Flushed, resourceLocks(sub, key), func(t *tx) ([]Fence, error) {
		all, err := engine.Collect(t, scanFence, lockFences, sub, key)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, ErrNotFound
		}
		var until time.Time
		for _, f := range all {
			if ends := f.Until.Add(fences.store.engine.ClockSlack()); ends.After(t.Now) && ends.After(until) {
				until = ends
			}
		}
		if !until.IsZero() {
			return nil, &ObstacleError{FenceStands, until}
		}
		for _, f := range all {
			if _, err := t.Exec(deleteFence, sub, key, f.Intent[:]); err != nil {
				return nil, err
			}
		}
		if err := jobrow.Delete(t.Base(), sub, fenceID(key)); err != nil {
			return nil, err
		}
		payload := events.Payload{Resource: all[0].ID, Action: arm.TypeIn(all[0].ID) + deleteVerb, Origin: events.Sworn, Status: events.Succeeded}
		return all, errors.Join(t.writeTombstoneAt(sub, key), t.Record(sub, key, payload))
	})
}
