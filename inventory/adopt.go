package inventory

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/tagindex"
	"portico/inventory/transaction"
)

// Discovery is a resource that a provider holds, as a GET with status 200 proved. Adopt
// uses Subscription, ID, Group, Type, TypeName, Name, Parent, Region, Location,
// APIVersion, ProvisioningState, Details, Creator and Created of the row. An empty Name
// is read from the ID, an empty Location means the region, and a zero Created means now.
type Discovery struct {
	Resource

	// ListedSince is the store time at which the list that showed the resource began,
	// or the GET if there was no list. A resource that was deleted since then is not
	// adopted.
	ListedSince time.Time
}

// AdoptResult is the result of Adopt.
type AdoptResult uint8

// The results of an adoption.
const (
	// Adopted: Adopt created a row.
	Adopted AdoptResult = iota
	// Known: there was a row in that region already; nothing was changed.
	Known
	// Strayed: there is a row in another region. The resource was recorded as a Stray,
	// and the row is as it was.
	Strayed
	// TooYoung: the resource, or one above it, was deleted since the list began, or a
	// write that may change that is under way.
	TooYoung
	// NoGroup: the resource group does not exist. Adopt does not create it.
	NoGroup
	// Fenced: there is a fence on the ID, so the resource can only come from a write that
	// landed late. The fence's job deletes it, and the deletion of a group waits for that.
	Fenced
)

var adoptResults = [...]string{"Adopted", "Known", "Strayed", "TooYoung", "NoGroup", "Fenced"}

func (r AdoptResult) String() string { return index.NameOf(adoptResults[:], int(r)) }

const (
	selectTombstone = `SELECT at FROM tombstones WHERE subscription = ? AND key = ?`
	openRemovals    = `SELECT COUNT(*) FROM intents WHERE subscription = ? AND key = ? AND kind IN (?, ?)`
)

// Adopt adds a resource that the index lacks. The resource counts against its quota
// even beyond the limit, because it exists anyway. A group that is being deleted adopts
// too, so that its deletion includes the resource. Adopt does nothing while a write to
// the resource is open, or if the resource was removed after the list began.
func (s *Store) Adopt(ctx context.Context, seen Discovery) (AdoptResult, error) {
	row := seen.Resource
	row.Subscription, row.Group = arm.Fold(row.Subscription), arm.Fold(row.Group)
	row.Key, row.Type, row.Parent = arm.Fold(row.ID), arm.Fold(row.Type), arm.Fold(row.Parent)
	if row.Name == "" {
		row.Name = nameIn(row.ID, row.Type)
	}
	if row.Location == "" {
		row.Location = row.Region
	}
	return commit(ctx, s, engine.Flushed, writeLocks(row.Subscription, row.Group, "", "", row.Key), func(t *tx) (AdoptResult, error) {
		// Writes lock the group first as well, so none can begin meanwhile.
		group, err := t.lockAnyGroup(row.Subscription, row.Group)
		switch {
		case errors.Is(err, ErrNotFound):
			return NoGroup, nil
		case err != nil:
			return 0, err
		}
		h, err := lockResource(t, row.Subscription, row.Key)
		if err != nil {
			return 0, err
		}
		if h.row != nil && h.row.Region == row.Region {
			_, err := t.Exec(deleteStray, row.Subscription, row.Region, row.Key)
			return Known, err
		}
		if fenced, err := t.hasFence(row.Subscription, row.Key); err != nil || fenced {
			return Fenced, err
		}
		gone, err := h.mayHaveGone(t, seen.ListedSince.Add(-s.engine.ClockSlack()))
		switch {
		case err != nil:
			return 0, err
		case gone || len(h.open) > 0:
			return TooYoung, nil
		case h.row != nil:
			_, err := t.Exec(putStray, row.Subscription, row.Region, row.Key, row.ID, row.Group, row.Type, engine.Micros(t.Now))
			return Strayed, err
		}
		return Adopted, h.adoptRow(t, row, group.Incarnation)
	})
}

// mayHaveGone reports whether the resource may be gone by now: it, or an ancestor, was
// removed at that time or later, or is being removed.
func (h *resourceTx) mayHaveGone(t *tx, since time.Time) (bool, error) {
	for _, key := range ancestry(h.key) {
		var at int64
		err := t.One(selectTombstone, h.subscription, key)(&at)
		if err == nil && at >= engine.Micros(since) {
			return true, nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
		if key == h.key {
			continue // its intents are known
		}
		var open int
		if err := t.One(openRemovals, h.subscription, key, index.Delete, index.Move)(&open); err != nil || open > 0 {
			return open > 0, err
		}
	}
	return false, nil
}

// adoptRow creates the row of an existing resource, without a write.
func (h *resourceTx) adoptRow(t *tx, row Resource, incarnation [16]byte) error {
	row.Changed = t.Now
	if row.Created.IsZero() {
		row.Created = t.Now
	}
	after, did := index.Settle(h.state(), index.Discovered{ProvisioningState: row.ProvisioningState}, engine.NewID())
	h.setCreatedRow(&row)
	if err := h.store(t, after, did); err != nil {
		return err
	}
	if err := t.recordAdopted(&row); err != nil {
		return err
	}
	if err := tagindex.Update(&t.Tx, row.Subscription, row.Key, nil, row.Details.Tags); err != nil {
		return err
	}
	if err := t.RaiseUsage(transaction.UsageOf(row.Subscription, row.Group, row.Type), 1, 0); err != nil {
		return err
	}
	if _, err := t.Exec(insertWrittenRegion, row.Subscription, row.Group, incarnation[:], row.Type, row.Region); err != nil {
		return err
	}
	return t.Later(deleteStray, row.Subscription, row.Region, row.Key)
}
