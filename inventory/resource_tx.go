package inventory

import (
	"slices"

	"portico/inventory/engine"
)

// resourceTx is one resource within a writing transaction: what the store has of
// it, and the way from there to what the rule makes of it.
type resourceTx struct {
	subscription, key string
	row               *Resource // nil: none; never changed in place
	open              []intent
	made              *Resource // the row that a create brings
	accepted          *accepted // the write that begins to be followed
}

// lockResource loads and locks the open intents of a resource, and then its row.
// The row comes last so that it shows every intent that was recorded before: an
// engine that locks rows shows none that came while this waited for others, but
// those gave the row a new generation, and marked what they oppose.
func lockResource(t *tx, sub, key string) (*resourceTx, error) {
	h, of := &resourceTx{subscription: sub, key: key}, resourceOf{sub, key}
	if open, row, known := t.locked.take(of); known {
		h.open, h.row = open, row
		return h, nil
	}
	return h, t.LookUp(
		engine.Lookup{Request: lockIntentsOf(of), Row: func(scan engine.Scanner) error {
			in, err := scanIntent(scan)
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

func (h *resourceTx) state() state {
	s := state{open: h.open}
	if h.row != nil {
		s.row = &standing{
			phase: h.row.Phase, verify: h.row.Verify,
			followPut: h.row.FollowPut, followDelete: h.row.FollowDelete,
			generation: h.row.Generation,
		}
	}
	return s
}

// settle applies an event, after ending what has ended by time.
func (h *resourceTx) settle(t *tx, event any) (state, actions) {
	now, ended := settle(h.state(), timePassed{now: engine.Micros(t.Now)}, newID())
	after, did := settle(now, event, newID())
	did.tombstone, did.orphaned = did.tombstone || ended.tombstone, did.orphaned || ended.orphaned
	return after, did
}

// create gives the row that store will write if the state has one.
func (h *resourceTx) create(row *Resource) { h.made = row }

// learnt is what an answer told of the resource, beside its standing.
type learnt func(*Resource)

// store writes what lies between the state that was loaded and the one that it
// became. An intent that came new is the caller's to insert.
func (h *resourceTx) store(t *tx, after state, did actions, told ...learnt) error {
	if err := h.storeIntents(t, after.open); err != nil {
		return err
	}
	before, intentEnded := h.row.doubts(), len(after.open) < len(h.open)
	t.dropLocation(h.key)
	if did.tombstone {
		if err := h.writeTombstone(t); err != nil {
			return err
		}
	}
	if err := h.storeRow(t, after.row, did, told); err != nil {
		return err
	}
	if err := h.storeJobs(t, before, after.row.doubts(), intentEnded); err != nil {
		return err
	}
	if did.orphaned {
		return doubtBelow(t, h.subscription, h.key)
	}
	return nil
}

func (h *resourceTx) storeIntents(t *tx, open []intent) error {
	for _, before := range h.open {
		i := slices.IndexFunc(open, func(in intent) bool { return in.id == before.id })
		var err error
		switch {
		case i < 0:
			err = t.ChangeOne(deleteIntent, h.subscription, h.key, before.id[:])
		case open[i].overlapped != before.overlapped || open[i].callEnded != before.callEnded:
			err = t.ChangeOne(markIntent, engine.Flag(open[i].overlapped), engine.Flag(open[i].callEnded), h.subscription, h.key, before.id[:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *resourceTx) storeRow(t *tx, now *standing, did actions, told []learnt) error {
	switch {
	case now == nil && h.row == nil:
		return nil
	case now == nil:
		if err := t.ChangeOne(deleteResource, h.subscription, h.key); err != nil {
			return err
		}
		if err := retag(t, h.subscription, h.key, h.row.Details.Tags, nil); err != nil {
			return err
		}
		if err := dropLocksAt(t, h.subscription, h.key); err != nil {
			return err
		}
		return lowerUsage(t, usage{h.row.Subscription, h.row.Group, h.row.Type})
	case h.row == nil:
		row := *h.made
		now.applyTo(&row)
		return row.insert(t)
	case now.generation == h.row.Generation:
		return nil
	}
	row := *h.row
	if did.learn {
		for _, tell := range told {
			tell(&row)
		}
	}
	now.applyTo(&row)
	if err := retag(t, h.subscription, h.key, h.row.Details.Tags, row.Details.Tags); err != nil {
		return err
	}
	h.row = &row
	return row.update(t)
}

func (now *standing) doubts() doubts {
	if now == nil {
		return doubts{}
	}
	return doubts{now.verify, now.followPut, now.followDelete}
}

func (now *standing) applyTo(row *Resource) {
	row.Phase, row.Verify, row.Generation = now.phase, now.verify, now.generation
	row.FollowPut, row.FollowDelete = now.followPut, now.followDelete
}

const putTombstone = `INSERT INTO tombstones (subscription, key, region, at) VALUES (?, ?, ?, ?)
	ON CONFLICT (subscription, key) DO UPDATE SET region = excluded.region, at = excluded.at`

// writeTombstone remembers that the resource went, so that a list which was begun before
// does not bring it back.
func (h *resourceTx) writeTombstone(t *tx) error {
	region := ""
	if h.row != nil {
		region = h.row.Region
	}
	return t.Later(putTombstone, h.subscription, h.key, region, engine.Micros(t.Now))
}
