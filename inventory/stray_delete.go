package inventory

import (
	"context"
	"strings"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
)

// A stray has no row that an answer could change, and what is said in its region
// must not change the row of its ID. The intent of its delete stands therefore
// under a key of its own, where the rules find neither row nor another write.

// strayMark begins the keys of strays' intents, and no resource's: these begin with a
// slash.
const strayMark = "stray:"

// MemberKey names a stray where rows are named by their keys.
func (s Stray) MemberKey() string { return strayMark + s.Region + s.Key }

// Row is what a call for a stray needs of a row.
func (s Stray) Row() Resource {
	return Resource{
		Subscription: s.Subscription, Key: s.Key, ID: s.ID, Group: s.Group, Type: s.Type, TypeName: s.Type, Region: s.Region,
	}
}

// IsStrayKey reports whether a key is a stray's MemberKey, and not a row's key.
func IsStrayKey(key string) bool { return strings.HasPrefix(key, strayMark) }

// BeginStray records the intent to delete a stray at the region where it was seen,
// for the deletion of its group: the write's Key and Region become the stray's. It
// refuses like [Store.Begin], and by ErrChanged when the stray is gone or was seen
// again since it was read.
func (s *Store) BeginStray(ctx context.Context, stray Stray, w Write) (Ticket, error) {
	w.Kind, w.OfGroupDelete = index.Delete, true
	w.Subscription, w.Group, w.Type, w.Region = stray.Subscription, stray.Group, stray.Type, stray.Region
	w.ID, w.Key = stray.ID, stray.MemberKey()
	if w.LateWriteWindow <= 0 {
		w.LateWriteWindow = s.options.LateWriteWindow
	}
	return commit(ctx, s, engine.Flushed, writeLocks(w.Subscription, w.Group, "", "", w.Key), func(t *tx) (Ticket, error) {
		incarnation, err := w.admitToScope(t)
		if err != nil {
			return Ticket{}, err
		}
		h, err := lockResource(t, w.Subscription, w.Key)
		if err != nil {
			return Ticket{}, err
		}
		n, err := t.Exec(lockStray, stray.Subscription, stray.Region, stray.Key, engine.Micros(stray.Seen))
		switch {
		case err != nil:
			return Ticket{}, err
		case n == 0:
			return Ticket{}, ErrChanged
		}
		if err := t.Later(insertWrittenRegion, w.Subscription, w.Group, incarnation[:], w.Type, w.Region); err != nil {
			return Ticket{}, err
		}
		return t.recordIntent(h, w, beginning{intent: engine.NewID()}) // no row has its key
	})
}

// touchStray locks a stray's row.
const lockStray = `UPDATE strays SET seen = seen WHERE subscription = ? AND region = ? AND key = ? AND seen = ?`

// SettleStray records what became of the delete of a stray. Gone removes the
// stray with the intent, in one transaction.
func (s *Store) SettleStray(ctx context.Context, stray Stray, ticket Ticket, a Answer) error {
	return s.write(ctx, engine.Unflushed, resourceLocks(ticket.Subscription, ticket.Key), func(t *tx) error {
		h, err := lockResource(t, arm.Fold(ticket.Subscription), ticket.Key)
		if err != nil {
			return err
		}
		after, did := h.settle(t, index.Answered{ID: ticket.Intent, Outcome: a.Outcome, Status: a.Status})
		did.Tombstone = false // the ID itself may well be there
		if err := h.store(t, after, did); err != nil {
			return err
		}
		if a.Outcome == index.Gone {
			_, err = t.Exec(forgetStray, stray.Subscription, stray.Region, stray.Key, engine.Micros(stray.Seen))
		}
		return err
	})
}
