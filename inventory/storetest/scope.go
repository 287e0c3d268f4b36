package storetest

import (
	"errors"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

// enter puts the subscription into a state.
func (b *bench) enter(state inventory.SubscriptionState) {
	b.Helper()
	_, _, err := b.PutSubscription(b.ctx, inventory.Subscription{ID: Sub, TenantID: "t", State: state})
	b.ok(err)
}

func unchanged(g *inventory.Group) (*inventory.Group, error) {
	if g == nil {
		g = &inventory.Group{Location: "westus"}
	}
	return g, nil
}

func testScope(t *testing.T, database Database) {
	for state, want := range map[inventory.SubscriptionState]struct{ writes, deletes bool }{
		inventory.Enabled:  {true, true},
		inventory.PastDue:  {true, true},
		inventory.Warned:   {false, true},
		inventory.Disabled: {false, true},
		inventory.Deleted:  {false, false},
	} {
		t.Run("a subscription that is "+state.String(), func(t *testing.T) {
			b := newBench(t, database)
			b.group("rg")
			b.group("old")
			b.live("rg", "vm")
			b.enter(state)
			fits := func(err error, admitted bool) {
				t.Helper()
				var refusal *inventory.SubscriptionStateError
				switch {
				case admitted:
					b.ok(err)
				case state == inventory.Deleted:
					b.is(err, inventory.ErrSubscriptionNotFound)
				case !errors.As(err, &refusal) || refusal.State != state:
					t.Fatalf("error is %v", err)
				}
			}
			_, err := b.Begin(b.ctx, write(index.Put, "rg", "new"))
			fits(err, want.writes)
			_, err = b.Begin(b.ctx, write(index.Patch, "rg", "vm"))
			fits(err, want.writes)
			_, err = b.Begin(b.ctx, write(index.Delete, "rg", "vm"))
			fits(err, want.deletes)
			_, _, err = b.EditGroup(b.ctx, Sub, "rg", unchanged)
			fits(err, want.writes)
			_, _, err = b.EditGroup(b.ctx, Sub, "another", unchanged)
			fits(err, want.writes)
			fits(b.DeleteGroup(b.ctx, Sub, "old", inventory.DeleteGroupConditions{}), want.deletes)
			// A refused change has left nothing behind.
			if _, err := b.Resource(b.ctx, Sub, id("rg", "new")); (err == nil) != want.writes {
				t.Errorf("the row: %v", err)
			}
			if _, err := b.Group(b.ctx, Sub, "another"); (err == nil) != want.writes {
				t.Errorf("the group: %v", err)
			}
		})
	}
	t.Run("a subscription that is not there, before its groups", func(t *testing.T) {
		b := newBench(t, database)
		const stranger = "00000000-0000-0000-0000-0000000000ff"
		w := write(index.Put, "rg", "vm")
		w.Subscription = stranger
		_, err := b.Begin(b.ctx, w)
		b.is(err, inventory.ErrSubscriptionNotFound)
		_, _, err = b.EditGroup(b.ctx, stranger, "rg", unchanged)
		b.is(err, inventory.ErrSubscriptionNotFound)
		b.is(b.DeleteGroup(b.ctx, stranger, "rg", inventory.DeleteGroupConditions{}), inventory.ErrSubscriptionNotFound)
		b.enter(inventory.Disabled)
		_, err = b.Begin(b.ctx, write(index.Put, "none", "vm"))
		refuses[*inventory.SubscriptionStateError](b, err)
		_, err = b.Begin(b.ctx, write(index.Delete, "none", "vm"))
		b.is(err, index.ErrGroupNotFound)
	})
	t.Run("a state is in force when it was acknowledged", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		for range 20 {
			b.enter(inventory.Disabled)
			_, err := b.Begin(b.ctx, write(index.Put, "rg", "vm"))
			refuses[*inventory.SubscriptionStateError](b, err)
			b.enter(inventory.Enabled)
			b.begin(write(index.Put, "rg", "vm"))
		}
	})
}

func testParents(t *testing.T, database Database) {
	t.Run("R11 what is nested goes where its parent lies", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		elsewhere := disk(index.Put, "rg", "vm", "d")
		elsewhere.Region, elsewhere.Location = "eastus", "eastus"
		_, err := b.Begin(b.ctx, elsewhere)
		b.is(err, inventory.ErrParentMoved)
		b.begin(disk(index.Put, "rg", "vm", "d"))
	})
}

func testContest(t *testing.T, database Database) {
	removalOpen := func(b *bench, key string) bool {
		b.Helper()
		row, removalOpen, err := b.ResourceAndRemoval(b.ctx, Sub, key)
		b.ok(err)
		equal(b, row.ID, key)
		return removalOpen
	}
	t.Run("a removal is open while a delete of the row is", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.live("rg", "vm2")
		_, _, err := b.ResourceAndRemoval(b.ctx, Sub, id("rg", "none"))
		b.is(err, inventory.ErrNotFound)
		update := b.begin(write(index.Put, "rg", "vm"))
		equal(b, removalOpen(b, id("rg", "vm")), false)
		b.settle(update, index.Succeeded)
		ticket := b.begin(write(index.Delete, "rg", "vm"))
		b.stands("vm", index.Live, false)
		equal(b, removalOpen(b, id("rg", "vm")), true)
		equal(b, removalOpen(b, id("rg", "vm2")), false)
		b.settle(ticket, index.Refused)
		equal(b, removalOpen(b, id("rg", "vm")), false)
	})
	t.Run("so is what lies below it", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.live("rg", "v")
		below := disk(index.Put, "rg", "vm", "d")
		b.settle(b.begin(below), index.Succeeded)
		deeper := below
		deeper.ID += "/snapshots/providers"
		deeper.Key, deeper.Parent, deeper.Type = deeper.ID, below.Key, diskType+"/snapshots"
		b.settle(b.begin(deeper), index.Succeeded)
		b.begin(write(index.Delete, "rg", "v"))
		equal(b, removalOpen(b, below.ID), false)
		b.begin(write(index.Delete, "rg", "vm"))
		equal(b, removalOpen(b, below.ID), true)
		equal(b, removalOpen(b, deeper.ID), true)
		equal(b, removalOpen(b, id("rg", "v")), true)
	})
	t.Run("a refusal for the sake of its location tells", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		elsewhere := write(index.Put, "rg", "vm")
		elsewhere.Region, elsewhere.Location = "eastus", "eastus"
		_, err := b.Begin(b.ctx, elsewhere)
		equal(b, as[*inventory.LocationConflictError](b, err).RemovalOpen, false)
		b.begin(write(index.Delete, "rg", "vm"))
		_, err = b.Begin(b.ctx, elsewhere)
		equal(b, as[*inventory.LocationConflictError](b, err).RemovalOpen, true)
	})
}

func testClosing(t *testing.T, database Database) {
	t.Run("R14 the last look knows where writes were sent to", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		elsewhere := write(index.Put, "rg", "refused")
		elsewhere.Region = "eastus"
		b.settle(b.begin(elsewhere), index.Refused)
		calls := 0
		unseen := errors.New("unseen")
		last := func(g inventory.Group, touched []inventory.WrittenRegion) error {
			calls++
			equal(b, g.Key, "rg")
			equal(b, len(touched), 2)
			equal(b, touched[0], inventory.WrittenRegion{Type: vmType, Region: "eastus"})
			equal(b, touched[1], inventory.WrittenRegion{Type: vmType, Region: "westus"})
			return unseen
		}
		refuses[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{CheckWrittenRegions: last}))
		equal(b, calls, 0)
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		b.is(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{CheckWrittenRegions: last}), unseen)
		_, err := b.Group(b.ctx, Sub, "rg")
		b.ok(err)
		// Another incarnation has sent nothing yet.
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		b.group("rg")
		check := func(_ inventory.Group, touched []inventory.WrittenRegion) error {
			equal(b, len(touched), 0)
			return nil
		}
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{CheckWrittenRegions: check}))
	})
	t.Run("R13 a stray is a member", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.group("rg-1")
		b.live("rg", "vm")
		elsewhere := b.discovery("rg", "vm")
		elsewhere.Region = "eastus"
		b.adopts(elsewhere, inventory.Strayed)
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg-1", inventory.DeleteGroupConditions{}))
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		left := as[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		equal(b, len(left.Resources)+left.Total+left.Intents, 0)
		equal(b, len(left.Strays), 1)
		equal(b, left.Strays[0].Region+" "+left.Strays[0].ID, "eastus "+id("rg", "vm"))
		b.clock.Pass(time.Second)
		_, err := b.Strays.ForgetUnseen(b.ctx, Sub, vmType, "eastus", b.clock.Now())
		b.ok(err)
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
	})
}
