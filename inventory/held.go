package inventory

import (
	"errors"
	"slices"
)

// held is one resource within a writing transaction: what the store has of it,
// and the way from there to what settle makes of it.
type held struct {
	subscription, key string
	row               *Resource // nil: none; never changed in place
	open              []intent
	made              *Resource // the row that a create brings
}

// hold loads and locks a resource and its open intents.
func hold(t *tx, sub, key string) (*held, error) {
	h := &held{subscription: sub, key: key}
	row, err := loadResource(t, lockResource, sub, key)
	switch {
	case err == nil:
		h.row = &row
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	h.open, err = collect(t, scanIntent, selectIntents, sub, key)
	return h, err
}

func (h *held) state() state {
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
func (h *held) settle(t *tx, event any) (state, actions) {
	now, _ := settle(h.state(), passed{now: micros(t.now)}, newID())
	return settle(now, event, newID())
}

// create gives the row that store will write if the state has one.
func (h *held) create(row *Resource) { h.made = row }

// learnt is what an answer told of the resource, beside its standing.
type learnt func(*Resource)

// store writes what lies between the state that was loaded and the one that it
// became. An intent that came new is the caller's to insert.
func (h *held) store(t *tx, after state, did actions, told ...learnt) error {
	if err := h.storeIntents(t, after.open); err != nil {
		return err
	}
	t.changed = append(t.changed, t.places.at(h.subscription, h.key))
	if did.tombstone {
		if err := h.bury(t); err != nil {
			return err
		}
	}
	if err := h.storeRow(t, after.row, did, told); err != nil {
		return err
	}
	if did.orphaned {
		from, to := below(h.key)
		fresh := newID()
		_, err := t.exec(doubtChildren, fresh[:], h.subscription, from, to)
		return err
	}
	return nil
}

func (h *held) storeIntents(t *tx, open []intent) error {
	for _, before := range h.open {
		i := slices.IndexFunc(open, func(in intent) bool { return in.id == before.id })
		var err error
		switch {
		case i < 0:
			_, err = t.exec(deleteIntent, h.subscription, h.key, before.id[:])
		case open[i].spoiled && !before.spoiled:
			_, err = t.exec(spoilIntent, h.subscription, h.key, before.id[:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *held) storeRow(t *tx, now *standing, did actions, told []learnt) error {
	switch {
	case now == nil && h.row == nil:
		return nil
	case now == nil:
		if _, err := t.exec(deleteResource, h.subscription, h.key); err != nil {
			return err
		}
		if err := retag(t, h.subscription, h.key, h.row.Details.Tags, nil); err != nil {
			return err
		}
		return lowerUsage(t, usage{h.row.Subscription, h.row.Group, h.row.Type})
	case h.row == nil:
		row := *h.made
		now.give(&row)
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
	now.give(&row)
	if err := retag(t, h.subscription, h.key, h.row.Details.Tags, row.Details.Tags); err != nil {
		return err
	}
	h.row = &row
	return row.update(t)
}

func (now *standing) give(row *Resource) {
	row.Phase, row.Verify, row.Generation = now.phase, now.verify, now.generation
	row.FollowPut, row.FollowDelete = now.followPut, now.followDelete
}

const putTombstone = `INSERT INTO tombstones (subscription, key, region, at) VALUES (?, ?, ?, ?)
	ON CONFLICT (subscription, key) DO UPDATE SET region = excluded.region, at = excluded.at`

// bury remembers that the resource went, so that a list which was begun before
// does not bring it back.
func (h *held) bury(t *tx) error {
	region := ""
	if h.row != nil {
		region = h.row.Region
	}
	_, err := t.exec(putTombstone, h.subscription, h.key, region, micros(t.now))
	return err
}
