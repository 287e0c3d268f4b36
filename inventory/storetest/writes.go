package storetest

import (
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

func testWrites(t *testing.T, database Database) {
	t.Run("a create makes a Pending row, once", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		first := b.begin(write(index.Put, "rg", "vm"))
		equal(b, first.CreatedRow, true)
		equal(b, first.Row == nil, true)
		equal(b, first.SendBy, b.clock.Now().Add(5*time.Second))
		equal(b, first.NotAfter, b.clock.Now().Add(70*time.Second))
		b.stands("vm", index.Pending, false)
		second := b.begin(write(index.Put, "RG", "VM"))
		equal(b, second.CreatedRow, false)
		equal(b, second.Row.Generation, first.Generation)
		equal(b, second.Generation, b.row("rg", "vm").Generation)
		equal(b, second.Generation == first.Generation, false)
	})
	t.Run("a delete of nothing is an intent without a row", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		ticket := b.begin(write(index.Delete, "rg", "vm"))
		equal(b, ticket.Generation, [16]byte{})
		equal(b, ticket.CreatedRow, false)
		b.absent("vm")
		equal(b, b.settle(ticket, index.Gone).Settled, true)
	})
	t.Run("the group must be there and Active", func(t *testing.T) {
		b := newBench(t, database)
		_, err := b.Begin(b.ctx, write(index.Put, "rg", "vm"))
		b.is(err, index.ErrGroupNotFound)
		b.group("rg")
		for _, state := range []index.GroupState{index.GroupDeleting, index.GroupMoving} {
			_, _, err := b.EditGroup(b.ctx, Sub, "rg", func(g *inventory.Group) (*inventory.Group, error) {
				g.State = state
				return g, nil
			})
			b.ok(err)
			for _, kind := range []index.WriteKind{index.Put, index.Delete, index.Patch} {
				_, err = b.Begin(b.ctx, write(kind, "rg", "vm"))
				equal(b, as[*index.GroupStateError](b, err).State, state)
			}
		}
		b.absent("vm")
	})
	t.Run("another place is refused", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		w := write(index.Put, "rg", "vm")
		w.Region = "eastus"
		_, err := b.Begin(b.ctx, w)
		equal(b, as[*inventory.LocationConflictError](b, err).Row.Region, "westus")
		w = write(index.Put, "rg", "vm")
		w.Location = "eastus"
		_, err = b.Begin(b.ctx, w)
		equal(b, as[*inventory.LocationConflictError](b, err).Row.Phase, index.Live)
		// A DELETE for another region would delete a row that it does not concern.
		w = write(index.Delete, "rg", "vm")
		w.Region = "eastus"
		_, err = b.Begin(b.ctx, w)
		refuses[*inventory.LocationConflictError](b, err)
		w.Region, w.Location = "westus", ""
		b.begin(w)
	})
	t.Run("a nested create needs its parent", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		_, err := b.Begin(b.ctx, disk(index.Put, "rg", "vm", "d"))
		b.is(err, inventory.ErrParentNotFound)
		b.begin(disk(index.Delete, "rg", "vm", "d")) // nothing to protect
		b.live("rg", "vm")
		b.settle(b.begin(disk(index.Put, "rg", "vm", "d")), index.Succeeded)
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Accepted)
		_, err = b.Begin(b.ctx, disk(index.Put, "rg", "vm", "d2"))
		b.is(err, inventory.ErrParentNotFound)
	})
}

func testAnswers(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	t.Run("R3 a create's 202 stays Pending, an update's leaves Live, a delete's is Deleting", func(t *testing.T) {
		b.settle(b.begin(write(index.Put, "rg", "v1")), index.Accepted)
		b.stands("v1", index.Pending, false)
		equal(b, b.row("rg", "v1").FollowPut, true)
		b.live("rg", "v2")
		b.settle(b.begin(write(index.Put, "rg", "v2")), index.Accepted)
		b.stands("v2", index.Live, false)
		_, _, err := b.Observe(b.ctx, Sub, id("rg", "v2"), b.row("rg", "v2").Generation, inventory.Observation{Found: true})
		b.ok(err)
		b.settle(b.begin(write(index.Delete, "rg", "v2")), index.Accepted)
		b.stands("v2", index.Deleting, false)
		equal(b, b.row("rg", "v2").FollowDelete, true)
	})
	t.Run("R4 a refused create takes its row along, unless it may exist", func(t *testing.T) {
		for status, gone := range map[int]bool{400: true, 403: true, 404: true, 307: true, 409: false, 412: false, 423: false, 429: false} {
			ticket := b.begin(write(index.Put, "rg", "refused"))
			result, err := b.Settle(b.ctx, ticket, inventory.WriteResult{Outcome: index.Refused, Status: status})
			b.ok(err)
			equal(b, result.Settled, true)
			equal(b, result.Row == nil, gone)
			if gone {
				b.absent("refused")
				continue
			}
			b.stands("refused", index.Pending, true)
			b.settle(b.begin(write(index.Delete, "rg", "refused")), index.Gone)
		}
	})
	t.Run("R4 what was not sent leaves nothing", func(t *testing.T) {
		b.settle(b.begin(write(index.Put, "rg", "unsent")), index.NotSent)
		b.absent("unsent")
	})
	t.Run("R4 an ambiguous answer leaves the intent open and flags", func(t *testing.T) {
		ticket := b.begin(write(index.Put, "rg", "dim"))
		equal(b, b.settle(ticket, index.Ambiguous).Settled, false)
		b.stands("dim", index.Pending, true)
		// The intent is still open, so a definite answer may follow; it never clears the
		// flag.
		equal(b, b.settle(ticket, index.Succeeded).Settled, true)
		b.stands("dim", index.Live, true)
	})
	t.Run("R5 opposing writes overlap, which keeps their answers from being proof, in either order", func(t *testing.T) {
		for _, name := range []string{"put first", "delete first"} {
			b.live("rg", name)
			p, d := b.begin(write(index.Put, "rg", name)), b.begin(write(index.Delete, "rg", name))
			if name == "put first" {
				equal(b, b.settle(p, index.Succeeded).Settled, false)
				equal(b, b.settle(d, index.Gone).Settled, false)
			} else {
				equal(b, b.settle(d, index.Gone).Settled, false)
				equal(b, b.settle(p, index.Succeeded).Settled, false)
			}
			b.stands(name, index.Live, true)
		}
	})
	t.Run("R7 an answer counts once", func(t *testing.T) {
		ticket := b.begin(write(index.Put, "rg", "once"))
		b.settle(ticket, index.Succeeded)
		b.settle(b.begin(write(index.Delete, "rg", "once")), index.Gone)
		equal(b, b.settle(ticket, index.Succeeded).Settled, false)
		b.absent("once")
	})
	t.Run("R10 what is below a parent that went is asked for", func(t *testing.T) {
		b.live("rg", "parent")
		b.live("rg", "parent-1")
		b.settle(b.begin(disk(index.Put, "rg", "parent", "d")), index.Succeeded)
		children := b.children(id("rg", "parent"))
		equal(b, children[0].Verify, false)
		b.settle(b.begin(write(index.Delete, "rg", "parent")), index.Gone)
		after := b.children(id("rg", "parent"))
		equal(b, len(after), 1)
		equal(b, after[0].Verify, true)
		equal(b, after[0].Generation == children[0].Generation, false)
		b.stands("parent-1", index.Live, false)
	})
	for how, end := range map[string]func(*bench, inventory.Ticket){
		"without proof":      func(b *bench, d inventory.Ticket) { b.settle(d, index.Gone) },
		"and time ends that": func(b *bench, d inventory.Ticket) { b.settle(d, index.Ambiguous); b.clock.Pass(intentLife) },
		"and a later write finds its time over": func(b *bench, d inventory.Ticket) {
			b.settle(d, index.Ambiguous)
			b.clock.Pass(intentLife)
			b.settle(b.begin(write(index.Put, "rg", "parent")), index.Succeeded)
		},
		"in its own time": func(b *bench, d inventory.Ticket) { b.endFollow(d, b.accept(d, "/poll")) },
	} {
		t.Run("R10 also below one that went and came back: deleted "+how, func(t *testing.T) {
			b := newBench(t, database)
			b.group("rg")
			b.live("rg", "parent")
			b.settle(b.begin(disk(index.Put, "rg", "parent", "d")), index.Succeeded)
			d := b.begin(write(index.Delete, "rg", "parent"))
			p := b.begin(write(index.Put, "rg", "parent"))
			end(b, d)
			b.settle(p, index.Succeeded)
			children := b.children(id("rg", "parent"))
			equal(b, len(children), 1)
			equal(b, children[0].Verify, true)
			equal(b, b.row("rg", "parent").Verify, true)
		})
	}
	t.Run("R10 but nothing below a name that only begins like it, or fits it as a pattern", func(t *testing.T) {
		neighbours := []string{"p_r%", "pxr%", "p_rx", "p_r", "p_r%-1", "p_r%0", "p_r%.a"}
		for _, vm := range neighbours {
			b.live("rg", vm)
			b.settle(b.begin(disk(index.Put, "rg", vm, "d")), index.Succeeded)
		}
		b.settle(b.begin(write(index.Delete, "rg", neighbours[0])), index.Gone)
		for i, vm := range neighbours {
			children := b.children(id("rg", vm))
			equal(b, len(children), 1)
			equal(b, children[0].Verify, i == 0)
		}
	})
	t.Run("an answer of the wrong kind is a mistake", func(t *testing.T) {
		ticket := b.begin(write(index.Put, "rg", "kind"))
		_, err := b.Settle(b.ctx, ticket, inventory.WriteResult{Outcome: index.Gone})
		equal(b, err != nil, true)
		b.stands("kind", index.Pending, false)
	})
}

func testGets(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	observe := func(name string, generation [16]byte, o inventory.Observation) bool {
		t.Helper()
		settled, _, err := b.Observe(b.ctx, Sub, id("rg", name), generation, o)
		b.ok(err)
		return settled
	}
	found, missing := inventory.Observation{Found: true, ProvisioningState: "Succeeded"}, inventory.Observation{}
	t.Run("R6 a GET ends a followed create", func(t *testing.T) {
		row := b.settle(b.begin(write(index.Put, "rg", "v1")), index.Accepted).Row
		creating := inventory.Observation{Found: true, ProvisioningState: "Creating"}
		equal(b, observe("v1", row.Generation, creating), false)
		b.stands("v1", index.Live, false)
		now := b.row("rg", "v1")
		equal(b, now.ProvisioningState, "Creating")
		equal(b, observe("v1", now.Generation, found), true)
		equal(b, b.row("rg", "v1").FollowPut, false)
	})
	t.Run("R6 a 404 removes and says so", func(t *testing.T) {
		row := b.live("rg", "v2")
		equal(b, observe("v2", row.Generation, missing), true)
		b.absent("v2")
		equal(b, observe("v2", row.Generation, missing), false)
	})
	t.Run("R7 what a GET said of an earlier generation is nothing", func(t *testing.T) {
		old := b.live("rg", "v3")
		b.settle(b.begin(write(index.Put, "rg", "v3")), index.Succeeded)
		equal(b, observe("v3", old.Generation, missing), false)
		b.stands("v3", index.Live, false)
	})
	t.Run("R5 an open write keeps an opposing GET from settling", func(t *testing.T) {
		b.live("rg", "v4")
		d := b.begin(write(index.Delete, "rg", "v4"))
		equal(b, observe("v4", d.Generation, found), false)
		b.stands("v4", index.Live, true)
		b.settle(d, index.Gone)
		p := b.begin(write(index.Put, "rg", "v4"))
		equal(b, observe("v4", p.Generation, missing), false)
		b.stands("v4", index.Pending, true)
		equal(b, observe("v4", b.row("rg", "v4").Generation, found), true)
		b.stands("v4", index.Live, false)
	})
}

func testTime(t *testing.T, database Database) {
	t.Run("an intent ends no sooner than its window, then flags its row", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		ticket := b.begin(write(index.Delete, "rg", "vm"))
		b.clock.Pass(intentLife - time.Microsecond)
		n, err := b.Expire(b.ctx, 10)
		b.ok(err)
		equal(b, n, 0)
		b.clock.Pass(time.Microsecond)
		n, err = b.Expire(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		b.stands("vm", index.Live, true)
		equal(b, b.row("rg", "vm").Generation == ticket.Generation, false)
		// The answer comes too late to be proof.
		equal(b, b.settle(ticket, index.Gone).Settled, false)
		b.stands("vm", index.Live, true)
	})
	t.Run("each call that works on the resource ends it too", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		late := b.begin(write(index.Put, "rg", "settled"))
		started := b.begin(write(index.Put, "rg", "begun"))
		seen := b.begin(write(index.Put, "rg", "observed"))
		b.clock.Pass(intentLife)
		equal(b, b.settle(late, index.Succeeded).Settled, false)
		b.stands("settled", index.Pending, true)
		// The expired PUT no longer overlaps anything, and its row is unverified.
		d := b.begin(write(index.Delete, "rg", "begun"))
		equal(b, d.Row.Generation, started.Generation)
		equal(b, b.row("rg", "begun").Verify, true)
		equal(b, b.settle(d, index.Gone).Settled, true)
		b.absent("begun")
		// It was open during the GET, so the GET proves nothing.
		settled, _, err := b.Observe(b.ctx, Sub, seen.Key, seen.Generation, inventory.Observation{})
		b.ok(err)
		equal(b, settled, false)
		b.stands("observed", index.Pending, true)
		settled, _, err = b.Observe(b.ctx, Sub, seen.Key, b.row("rg", "observed").Generation, inventory.Observation{})
		b.ok(err)
		equal(b, settled, true)
	})
	t.Run("a type's own window counts", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		w := write(index.Put, "rg", "vm")
		w.LateWriteWindow = time.Second
		b.begin(w)
		b.clock.Pass(71 * time.Second)
		n, err := b.Expire(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
	})
	t.Run("tombstones go by their age", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		b.clock.Pass(24*time.Hour - 1*time.Microsecond)
		n, err := b.ForgetTombstones(b.ctx, 10)
		b.ok(err)
		equal(b, n, 0)
		b.clock.Pass(time.Microsecond)
		n, err = b.ForgetTombstones(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
	})
}
