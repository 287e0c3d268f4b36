package inventory

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

// What the store has of a resource may be damaged. The resource stays as it is,
// and is told of; all others end, however many are damaged, and what is too old
// goes.
func TestDamageHoldsUpNothingElse(t *testing.T) {
	o := testOptions(t)
	now := time.Now()
	o.Now = func() time.Time { return now }
	s := openTest(t, o)
	makeGroup(t, s, "rg")
	begin := func(name string) Ticket {
		t.Helper()
		ticket, err := s.Begin(t.Context(), vmWrite("rg", name))
		harness.OK(t, err)
		now = now.Add(time.Millisecond)
		return ticket
	}
	set := func(details, key string) {
		t.Helper()
		err := s.write(t.Context(), engine.Flushed, resourceLocks("s", key), func(tx *tx) error {
			n, err := tx.Exec("UPDATE resources SET details = ? WHERE subscription = ? AND key = ?", details, "s", key)
			if err == nil && n != 1 {
				err = ErrNotFound
			}
			return err
		})
		harness.OK(t, err)
	}
	gone := vmWrite("rg", "gone")
	gone.Kind = index.Delete
	ticket, err := s.Begin(t.Context(), gone)
	harness.OK(t, err)
	if _, err := s.Settle(t.Context(), ticket, WriteResult{Outcome: index.Gone}); err != nil {
		t.Fatal(err)
	}
	key := func(name string) string { return arm.Fold(vmWrite("rg", name).Key) }
	const damaged, whole = 3, engine.PieceSize + 1
	for i := range damaged {
		ticket := begin(fmt.Sprint("damaged", i))
		set("{", ticket.Key)
	}
	for i := range whole {
		begin(fmt.Sprint("whole", i))
	}
	now = now.Add(25 * time.Hour)
	// They fill a page. Behind them are two more, with the last of them on a page
	// of its own; and there is a tombstone.
	var skipped *SkippedError
	n, err := s.Expire(t.Context(), damaged)
	if n != 2 || !errors.As(err, &skipped) || skipped.Resources != damaged || skipped.Key != key("damaged0") {
		t.Fatalf("%d ended, %v", n, err)
	}
	if n, err := s.ForgetTombstones(t.Context(), damaged); n != 1 || err != nil {
		t.Fatalf("%d tombstones forgotten, %v", n, err)
	}
	skipped = nil
	if n, err := s.Expire(t.Context(), 10*whole); n != whole-2 || !errors.As(err, &skipped) || skipped.Resources != damaged {
		t.Fatalf("%d ended, %v", n, err)
	}
	if open, err := s.CountIntents(t.Context()); err != nil || open != damaged {
		t.Errorf("%d open, %v", open, err)
	}
	for i := range damaged {
		set("{}", key(fmt.Sprint("damaged", i)))
	}
	if n, err := s.Expire(t.Context(), 10); n != damaged || err != nil {
		t.Errorf("%d ended when they can be read, %v", n, err)
	}
}
