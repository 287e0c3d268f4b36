package storetest

import (
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

// testPatches tests writes that neither create nor delete a resource but change the
// index's row.
func testPatches(t *testing.T, database Database) {
	fresh := func(t *testing.T) (*bench, inventory.Resource) {
		b := newBench(t, database)
		b.group("rg")
		row := b.live("rg", "vm")
		return b, row
	}
	patch := func(name string) inventory.Write { return write(index.Patch, "rg", name) }
	tagged := func(b *bench, ticket inventory.Ticket, tag, state string) bool {
		b.Helper()
		result, err := b.Settle(b.ctx, ticket, inventory.WriteResult{
			Outcome: index.Succeeded, Status: 200, ProvisioningState: state,
			Details: &inventory.Details{Tags: map[string]string{"a": tag}},
		})
		b.ok(err)
		equal(b, result.Follow != [16]byte{}, !index.Terminal(state))
		return result.Settled
	}
	shows := func(b *bench, name, tag string) {
		b.Helper()
		row := b.row("rg", "vm")
		equal(b, row.Name+" "+row.Details.Tags["a"], name+" "+tag)
	}
	t.Run("R3 its success brings casing, details and state, but no api-version", func(t *testing.T) {
		b, before := fresh(t)
		b.clock.Pass(time.Minute)
		w := patch("VM")
		w.APIVersion = "2099-01-01"
		ticket := b.begin(w)
		equal(b, ticket.CreatedRow, false)
		equal(b, ticket.Row.Generation, before.Generation)
		shows(b, "vm", "")
		equal(b, tagged(b, ticket, "new", "Succeeded"), true)
		shows(b, "VM", "new")
		row := b.row("rg", "vm")
		equal(b, row.APIVersion, before.APIVersion)
		equal(b, row.ProvisioningState, "Succeeded")
		equal(b, row.Changed, b.clock.Now())
		b.stands("vm", index.Live, false)
		equal(b, b.jobs(), "")
	})
	t.Run("it makes no row and takes no quota", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) { o.Limits.ResourcesPerTypeAndGroup = 1 })
		b.group("rg")
		_, err := b.Begin(b.ctx, patch("none"))
		b.is(err, inventory.ErrNotFound)
		b.absent("none")
		b.live("rg", "vm")
		b.settle(b.begin(patch("vm")), index.Succeeded)
		_, err = b.Begin(b.ctx, patch("none"))
		b.is(err, inventory.ErrNotFound)
	})
	t.Run("it goes where the row lies", func(t *testing.T) {
		b, _ := fresh(t)
		w := patch("vm")
		w.Region = "eastus"
		_, err := b.Begin(b.ctx, w)
		equal(b, as[*inventory.LocationConflictError](b, err).Row.Region, "westus")
	})
	t.Run("R4 without an answer it stays open, and its end by time flags the row once more", func(t *testing.T) {
		b, _ := fresh(t)
		b.settle(b.begin(patch("VM")), index.Ambiguous)
		b.stands("vm", index.Live, true)
		see := func(id, tag string) {
			b.Helper()
			settled, _, err := b.Observe(b.ctx, Sub, b.row("rg", "vm").Key, b.row("rg", "vm").Generation, inventory.Observation{
				Found: true, ID: id, Details: &inventory.Details{Tags: map[string]string{"a": tag}},
			})
			b.ok(err)
			equal(b, settled, true)
			b.stands("vm", index.Live, false)
		}
		see(id("rg", "vm"), "old") // it has not landed yet
		shows(b, "vm", "old")
		b.clock.Pass(intentLife)
		n, err := b.Expire(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		b.stands("vm", index.Live, true)
		see(id("rg", "VM"), "new")
		shows(b, "VM", "new")
		equal(b, b.jobs(), "")
	})
	t.Run("R4 of one that no one answers for, time alone tells", func(t *testing.T) {
		b, _ := fresh(t)
		b.begin(patch("vm"))
		b.stands("vm", index.Live, false)
		b.clock.Pass(intentLife)
		_, err := b.Expire(b.ctx, 10)
		b.ok(err)
		b.stands("vm", index.Live, true)
		equal(b, b.jobs(), "verify vm")
	})
	for _, outcome := range []index.Outcome{index.Refused, index.NotSent} {
		t.Run("R4 "+outcome.String()+" changes nothing", func(t *testing.T) {
			b, before := fresh(t)
			equal(b, b.settle(b.begin(patch("VM")), outcome).Settled, true)
			shows(b, before.Name, "")
			b.stands("vm", index.Live, false)
		})
	}
	t.Run("R2 the group waits for its end", func(t *testing.T) {
		b, _ := fresh(t)
		ticket := b.begin(patch("vm"))
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		b.absent("vm")
		equal(b, as[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{})).Intents, 1)
		equal(b, tagged(b, ticket, "new", ""), false)
		b.absent("vm")
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
	})
	t.Run("R5 it is no proof where a DELETE was open, and keeps none from being one", func(t *testing.T) {
		b, _ := fresh(t)
		d := b.begin(write(index.Delete, "rg", "vm"))
		p := b.begin(patch("VM"))
		equal(b, tagged(b, p, "new", ""), false)
		shows(b, "vm", "")
		b.stands("vm", index.Live, true)
		b.begin(patch("vm"))
		equal(b, b.settle(d, index.Gone).Settled, true)
		b.absent("vm")
	})
	t.Run("R5 a GET's word counts while one is open, whatever it is", func(t *testing.T) {
		b, _ := fresh(t)
		ticket := b.begin(patch("vm"))
		settled, _, err := b.Observe(b.ctx, Sub, ticket.Key, ticket.Generation, inventory.Observation{Found: true})
		b.ok(err)
		equal(b, settled, true)
		settled, _, err = b.Observe(b.ctx, Sub, ticket.Key, b.row("rg", "vm").Generation, inventory.Observation{})
		b.ok(err)
		equal(b, settled, true)
		b.absent("vm")
	})
	t.Run("R6 what has not ended is followed until it has, and a 404 is believed", func(t *testing.T) {
		for _, end := range []func(*bench, inventory.Ticket){
			func(b *bench, p inventory.Ticket) { equal(b, b.accept(p, "/poll") != [16]byte{}, true) },
			func(b *bench, p inventory.Ticket) { equal(b, tagged(b, p, "half", "Updating"), true) },
		} {
			b, _ := fresh(t)
			end(b, b.begin(patch("VM")))
			equal(b, b.row("rg", "vm").Name, "VM")
			b.stands("vm", index.Live, false)
			equal(b, b.row("rg", "vm").FollowPatch, true)
			equal(b, b.jobs(), "follow PATCH vm")
			settled, _, err := b.Observe(b.ctx, Sub, id("rg", "vm"), b.row("rg", "vm").Generation, inventory.Observation{})
			b.ok(err)
			equal(b, settled, true)
			b.absent("vm")
			equal(b, b.jobs(), "")
		}
	})
	t.Run("R7 of writes that overlap no one knows which was the last", func(t *testing.T) {
		for _, kinds := range [][2]index.WriteKind{
			{index.Patch, index.Patch}, {index.Patch, index.Put}, {index.Put, index.Patch}, {index.Put, index.Put},
		} {
			for _, first := range []int{0, 1} {
				b, _ := fresh(t)
				tickets := []inventory.Ticket{b.begin(write(kinds[0], "rg", "VM")), b.begin(write(kinds[1], "rg", "Vm"))}
				tagged(b, tickets[first], "one", "")
				tagged(b, tickets[1-first], "other", "")
				b.stands("vm", index.Live, true)
			}
		}
	})
}
