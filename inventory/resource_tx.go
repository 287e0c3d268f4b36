package inventory

import (
	"slices"

	"portico/inventory/deploymentrow"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/tagindex"
	"portico/inventory/transaction"
)

// resourceTx is one resource within a writing transaction: its stored state, and the
// changes that [index.Settle] makes.
type resourceTx struct {
	subscription, key string
	row               *Resource // nil if there is none; immutable
	open              []index.Intent
	createdRow        *Resource         // the row that a create adds
	stored            *Resource         // the row as store wrote it
	accepted          *accepted         // the write whose follow starts
	lapsed            []index.Intent    // writes that ended by time
	remembered        *unreportedWrites // new unreported writes of the row; nil for no change
}

// lockResource loads and locks the open intents of a resource, and then its row. The row
// comes last so that it reflects every intent recorded before: an engine that locks rows
// does not show intents that were added while it waited for other locks, but these gave the
// row a new generation, and marked the writes that they oppose.
func lockResource(t *tx, sub, key string) (*resourceTx, error) {
	h, of := &resourceTx{subscription: sub, key: key}, resourceOf{sub, key}
	if open, row, known := t.locked.takeResource(of); known {
		h.open, h.row = open, row
		return h, nil
	}
	return h, t.LookUp(
		engine.Lookup{Request: lockIntentsOf(of), Row: func(scan engine.Scanner) error {
			_, in, err := scanIntent(scan)
			h.open = append(h.open, in)
			return err
		}},
		engine.Lookup{Request: lockRowOf(of), Row: func(scan engine.Scanner) error {
			row, err := scanResource(scan)
			h.row = &row
			return err
		}},
	)
}

func (h *resourceTx) state() index.State {
	return index.State{Row: h.row.ruleRow(), Open: h.open}
}

// settle applies an event, after ending the intents whose time is over.
func (h *resourceTx) settle(t *tx, event any) (index.State, index.Actions) {
	now, ended := h.expireIntents(t)
	after, did := index.Settle(now, event, engine.NewID())
	did.Tombstone, did.Orphaned = did.Tombstone || ended.Tombstone, did.Orphaned || ended.Orphaned
	return after, did
}

// expireIntents ends the intents whose time is over.
func (h *resourceTx) expireIntents(t *tx) (index.State, index.Actions) {
	after, did := index.Settle(h.state(), index.TimePassed{Now: engine.Micros(t.Now)}, engine.NewID())
	h.lapsed = nil
	if len(after.Open) < len(h.open) {
		h.lapsed = slices.DeleteFunc(slices.Clone(h.open), func(in index.Intent) bool { return in.Ends > engine.Micros(t.Now) })
	}
	return after, did
}

// setCreatedRow sets the row that store inserts if the new state has one.
func (h *resourceTx) setCreatedRow(row *Resource) { h.createdRow = row }

// rowUpdate updates a row by the members of the resource in an answer.
type rowUpdate func(*Resource)

// store writes the difference between the loaded state and the new one. The caller
// inserts new intents.
func (h *resourceTx) store(t *tx, after index.State, did index.Actions, updates ...rowUpdate) error {
	if err := h.storeIntents(t, after.Open); err != nil {
		return err
	}
	before, intentEnded := jobsFor(h.row.ruleRow()), len(after.Open) < len(h.open)
	t.dropLocation(h.key)
	if did.Tombstone {
		if err := h.writeTombstone(t); err != nil {
			return err
		}
	}
	if err := h.recordLapsed(t); err != nil {
		return err
	}
	if err := h.storeRow(t, after.Row, did, updates); err != nil {
		return err
	}
	if err := h.storeJobs(t, before, jobsFor(after.Row), intentEnded); err != nil {
		return err
	}
	if did.Orphaned {
		return flagBelow(t, h.subscription, h.key, h.row)
	}
	return nil
}

func (h *resourceTx) storeIntents(t *tx, open []index.Intent) error {
	for _, before := range h.open {
		i := slices.IndexFunc(open, func(in index.Intent) bool { return in.ID == before.ID })
		var err error
		switch {
		case i < 0:
			err = t.ChangeOne(deleteIntent, h.subscription, h.key, before.ID[:])
		case open[i].Overlapped != before.Overlapped || open[i].CallEnded != before.CallEnded:
			err = t.ChangeOne(markIntent, engine.Flag(open[i].Overlapped), engine.Flag(open[i].CallEnded), h.subscription, h.key, before.ID[:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *resourceTx) storeRow(t *tx, now *index.Row, did index.Actions, updates []rowUpdate) error {
	switch {
	case now == nil && h.row == nil:
		return nil
	case now == nil:
		if err := t.ChangeOne(deleteResource, h.subscription, h.key, h.row.Generation[:]); err != nil {
			return err
		}
		if err := tagindex.Update(&t.Tx, h.subscription, h.key, h.row.Details.Tags, nil); err != nil {
			return err
		}
		if err := dropLocksAt(t, h.subscription, h.key); err != nil {
			return err
		}
		if err := t.Later(deploymentrow.ForgetDeployed, h.subscription, h.key); err != nil {
			return err
		}
		if err := t.unassigned.Add(&t.Tx, h.subscription, h.key); err != nil {
			return err
		}
		return t.LowerUsage(transaction.UsageOf(h.row.Subscription, h.row.Group, h.row.Type), 1)
	case h.row == nil:
		row := *h.createdRow
		row.apply(now)
		if h.remembered != nil {
			row.unreported = *h.remembered
		}
		h.stored = &row
		return row.insert(t)
	case now.Generation == h.row.Generation:
		h.stored = h.row
		return nil
	}
	before, row := h.row, *h.row
	if did.Learn {
		for _, update := range updates {
			update(&row)
		}
	}
	row.apply(now)
	if h.remembered != nil {
		row.unreported = *h.remembered
	}
	if err := tagindex.Update(&t.Tx, h.subscription, h.key, h.row.Details.Tags, row.Details.Tags); err != nil {
		return err
	}
	h.row, h.stored = &row, &row
	return row.replace(t, before, did.Learn)
}

// ruleRow returns the row for [index.Settle], nil for no row.
func (r *Resource) ruleRow() *index.Row {
	if r == nil {
		return nil
	}
	return &index.Row{
		Phase: r.Phase, Verify: r.Verify, FollowPut: r.FollowPut, FollowDelete: r.FollowDelete, FollowPatch: r.FollowPatch, Generation: r.Generation,
	}
}

// apply copies the fields that [index.Settle] has set to the row.
func (r *Resource) apply(now *index.Row) {
	r.Phase, r.Verify, r.Generation = now.Phase, now.Verify, now.Generation
	r.FollowPut, r.FollowDelete, r.FollowPatch = now.FollowPut, now.FollowDelete, now.FollowPatch
}

const putTombstone = `INSERT INTO tombstones (subscription, key, region, at) VALUES (?, ?, ?, ?)
	ON CONFLICT (subscription, key) DO UPDATE SET region = excluded.region, at = excluded.at`

// writeTombstone records that the resource is gone, so that a list that began before does
// not make a sweep add it again.
func (h *resourceTx) writeTombstone(t *tx) error {
	region := ""
	if h.row != nil {
		region = h.row.Region
	}
	return t.Later(putTombstone, h.subscription, h.key, region, engine.Micros(t.Now))
}
