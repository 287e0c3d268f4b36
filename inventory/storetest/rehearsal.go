package storetest

import (
	"errors"
	"testing"

	"portico/inventory"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// A rehearsed write gets the answer that it would get, and leaves nothing.
func testRehearsal(t *testing.T, database Database) {
	t.Run("a write is admitted, and not recorded", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		rehearsed := engine.Rehearse(b.ctx)
		for range 2 { // each as if it were the first
			ticket, err := b.Begin(rehearsed, write(index.Put, "rg", "vm"))
			b.ok(err)
			if ticket.Kind != index.Put {
				t.Errorf("ticket %+v", ticket)
			}
		}
		_, err := b.Resource(b.ctx, Sub, id("rg", "vm"))
		b.is(err, inventory.ErrNotFound)
		page, err := b.Unverified(b.ctx, inventory.UnverifiedQuery{Subscription: Sub, Limit: 10})
		b.ok(err)
		if len(page.Value) != 0 {
			t.Errorf("open writes are left: %+v", page.Value)
		}
		b.live("rg", "vm")
	})
	t.Run("a refusal is that of the write", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) { o.Limits.ResourcesPerTypeAndGroup = 1 })
		b.group("rg")
		b.live("rg", "vm")
		rehearsed := engine.Rehearse(b.ctx)
		_, err := b.Begin(rehearsed, write(index.Put, "rg", "other"))
		refuses[*transaction.QuotaError](b, err)
		_, err = b.Begin(rehearsed, write(index.Put, "absent", "vm"))
		b.is(err, index.ErrGroupNotFound)
		_, err = b.Begin(rehearsed, write(index.Delete, "rg", "vm"))
		b.ok(err)
	})
	t.Run("what follows in earnest counts", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		_, err := b.Begin(engine.ForReal(engine.Rehearse(b.ctx)), write(index.Put, "rg", "vm"))
		b.ok(err)
		_, err = b.Resource(b.ctx, Sub, id("rg", "vm"))
		b.ok(err)
	})
	t.Run("what is remembered stays", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		key := []byte(b.live("rg", "vm").Key)
		locate := func() bool {
			located, err := b.Locations.Locate(b.ctx, Sub, key, b.clock.Now())
			b.ok(err)
			return located.Cached
		}
		locate()
		if !locate() {
			t.Fatal("the location is not cached")
		}
		_, err := b.Begin(engine.Rehearse(b.ctx), write(index.Delete, "rg", "vm"))
		b.ok(err)
		if !locate() {
			t.Error("a rehearsal had the location forgotten")
		}
	})
	t.Run("a group is not made", func(t *testing.T) {
		b := newBench(t, database)
		group, created, err := b.EditGroup(engine.Rehearse(b.ctx), Sub, "rg", func(*inventory.Group) (*inventory.Group, error) {
			return &inventory.Group{Name: "rg", Location: "westus", ETag: "1"}, nil
		})
		b.ok(err)
		if !created || group.Name != "rg" {
			t.Errorf("%+v, created %v", group, created)
		}
		if _, err := b.Group(b.ctx, Sub, "rg"); !errors.Is(err, inventory.ErrNotFound) {
			t.Errorf("the group is there, or the error is %v", err)
		}
	})
}
