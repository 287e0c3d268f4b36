package storetest

import (
	"fmt"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/memory"
)

// closes deletes the group, with the resources that Portico's own GETs did not find.
func (b *bench) closes(absent map[string][16]byte) {
	b.Helper()
	b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{Absent: absent}))
}

// forgets marks the group so long ago that no replica takes it for an Active one.
func (b *bench) forgets() {
	b.Helper()
	b.marks("rg")
	b.clock.Pass(forgotten)
}

// marks marks a group as one that is being deleted.
func (b *bench) marks(group string) {
	b.Helper()
	_, _, err := b.EditGroup(b.ctx, Sub, group, func(g *inventory.Group) (*inventory.Group, error) {
		g.State = index.GroupDeleting
		return g, nil
	})
	b.ok(err)
}

// forgotten is longer than memory of scopes lasts, by any clock.
const forgotten = 4 * time.Second

// fences lists the fences on a virtual machine of the group.
func (b *bench) fences(name string) []inventory.Fence {
	b.Helper()
	all, err := b.Fences.On(b.ctx, Sub, id("rg", name))
	b.ok(err)
	return all
}

// fencePut closes the group over a PUT without an answer, whose row it returns.
func (b *bench) fencePut() inventory.Resource {
	b.Helper()
	b.settle(b.begin(write(index.Put, "rg", "vm")), index.Ambiguous)
	row := b.row("rg", "vm")
	_, generation, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
	b.ok(err)
	b.forgets()
	b.closes(map[string][16]byte{row.Key: generation})
	return row
}

func testFences(t *testing.T, database Database) {
	fresh := func(t *testing.T) *bench {
		b := newBench(t, database)
		b.group("rg")
		return b
	}
	t.Run("R16 a group closes over a DELETE of unknown fate, under whose fence nothing is made", func(t *testing.T) {
		b := fresh(t)
		b.live("rg", "vm")
		unknown := b.begin(write(index.Delete, "rg", "vm"))
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		left := as[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		equal(b, left.Intents, 1)
		calls, err := b.GroupCalls(b.ctx, Sub, "rg", 10)
		b.ok(err)
		equal(b, len(calls), 1)
		equal(b, calls[0].NotAfter, unknown.NotAfter)
		b.settle(unknown, index.Ambiguous)
		b.closes(nil)
		b.group("rg")
		fence := as[*inventory.FencedError](b, b.begins(write(index.Put, "rg", "VM")))
		standing := b.fences("vm")
		equal(b, len(standing), 1)
		equal(b, standing[0].Until, fence.Until)
		equal(b, fence.Until, b.clock.Now().Add(intentLife))
		equal(b, standing[0].Kind, index.Delete)
		b.live("rg", "other")
		b.adopts(b.discovery("rg", "vm"), inventory.Fenced)
		b.settle(unknown, index.Gone) // too late: no one waits for it any more
		equal(b, len(b.fences("vm")), 1)
		_, err = b.Fences.RemoveEnded(b.ctx, Sub, id("rg", "vm"), nil)
		b.ok(err)
		equal(b, len(b.fences("vm")), 1)
		b.clock.Pass(intentLife)
		left2, err := b.Fences.RemoveEnded(b.ctx, Sub, id("rg", "vm"), nil)
		b.ok(err)
		equal(b, len(left2), 0)
		b.live("rg", "vm")
	})
	t.Run("R16 a row that a GET did not find goes with its group, if nothing has happened to it", func(t *testing.T) {
		b := fresh(t)
		b.settle(b.begin(write(index.Put, "rg", "vm")), index.Ambiguous)
		row := b.row("rg", "vm")
		settled, generation, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
		b.ok(err)
		equal(b, settled, false)
		refuses[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		refuses[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{
			Absent: map[string][16]byte{row.Key: {1}},
		}))
		equal(b, b.row("rg", "vm").Generation, generation)
		b.forgets()
		b.closes(map[string][16]byte{row.Key: generation})
		b.absent("vm")
		equal(b, b.fences("vm")[0].ID, row.ID)
		b.clock.Pass(time.Minute)
		held := b.one("a")
		equal(b, held.Kind+" "+held.Subject, inventory.FenceJob+" "+row.Key)
	})
	t.Run("R16 no group closes over a followed create", func(t *testing.T) {
		b := fresh(t)
		b.accept(b.begin(write(index.Put, "rg", "vm")), "/put")
		row := b.row("rg", "vm")
		_, generation, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
		b.ok(err)
		refuses[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{
			Absent: map[string][16]byte{row.Key: generation},
		}))
	})
	t.Run("R16 a lost create leaves a fence", func(t *testing.T) {
		b := fresh(t)
		b.accept(b.begin(write(index.Put, "rg", "vm")), "/put")
		b.clock.Pass(time.Minute)
		b.ok(b.Follows.LoseByJob(b.ctx, b.one("a"), 0))
		row := b.row("rg", "vm")
		_, generation, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
		b.ok(err)
		b.forgets()
		b.closes(map[string][16]byte{row.Key: generation})
		equal(b, len(b.fences("vm")), 1)
	})
	t.Run("R11 a group is forgotten everywhere before it closes over a PUT of unknown fate", func(t *testing.T) {
		b := fresh(t)
		b.settle(b.begin(write(index.Put, "rg", "vm")), index.Ambiguous)
		row := b.row("rg", "vm")
		_, generation, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
		b.ok(err)
		conditions := inventory.DeleteGroupConditions{Absent: map[string][16]byte{row.Key: generation}}
		refused := func() {
			b.Helper()
			left := as[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", conditions))
			equal(b, left.Intents, 1)
		}
		refused() // Active: any replica may hold it
		b.marks("rg")
		b.clock.Pass(memory.Bound)
		refused()
		equal(b, b.row("rg", "vm").Generation, generation)
		b.clock.Pass(forgotten)
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg", conditions))
	})
	t.Run("R16 a PUT's fence goes after a GET that was asked after its time", func(t *testing.T) {
		b := fresh(t)
		row := b.fencePut()
		before := b.clock.Now()
		b.clock.Pass(intentLife + time.Minute)
		for _, absent := range []inventory.ProvedAbsent{nil, {"westus": before}, {"eastus": b.clock.Now()}} {
			left, err := b.Fences.RemoveEnded(b.ctx, Sub, row.Key, absent)
			b.ok(err)
			equal(b, len(left), 1)
		}
		left, err := b.Fences.RemoveEnded(b.ctx, Sub, row.Key, inventory.ProvedAbsent{"westus": b.clock.Now()})
		b.ok(err)
		equal(b, len(left), 0)
		b.group("rg")
		seen := b.discovery("rg", "vm")
		seen.ListedSince = before
		b.adopts(seen, inventory.TooYoung)
	})
	t.Run("R17 no one asks about a fence of a copy, which stands until its time", func(t *testing.T) {
		b := fresh(t)
		b.fencePut()
		_, err := b.Disarm(b.ctx, notResumed)
		b.ok(err)
		equal(b, len(b.fences("vm")), 1)
		equal(b, b.fences("vm")[0].Kind, index.Delete)
		b.clock.Pass(intentLife + time.Minute)
		_, err = b.Disarm(b.ctx, notResumed)
		b.ok(err)
		equal(b, len(b.fences("vm")), 0)
	})
	t.Run("R16 what landed is deleted under a fence of its own, one at a time", func(t *testing.T) {
		b := fresh(t)
		row := b.fencePut()
		fence := b.fences("vm")[0]
		ticket, err := b.Fences.BeginDelete(b.ctx, fence, 0)
		b.ok(err)
		_, err = b.Fences.BeginDelete(b.ctx, fence, 0)
		b.is(err, inventory.ErrChanged)
		b.ok(b.Fences.SettleDelete(b.ctx, ticket, index.Ambiguous, 0))
		equal(b, len(b.fences("vm")), 2)
		b.clock.Pass(intentLife - 2*forgotten)
		left, err := b.Fences.RemoveEnded(b.ctx, Sub, row.Key, inventory.ProvedAbsent{"westus": b.clock.Now()})
		b.ok(err)
		equal(b, len(left), 2) // it may still be applied, to whatever exists then
		b.clock.Pass(2 * forgotten)
		left, err = b.Fences.RemoveEnded(b.ctx, Sub, row.Key, nil)
		b.ok(err)
		equal(b, len(left), 1)
		equal(b, left[0].Intent, fence.Intent)
		for _, outcome := range []index.Outcome{index.Gone, index.Refused, index.NotSent} {
			ticket, err = b.Fences.BeginDelete(b.ctx, fence, 0)
			b.ok(err)
			b.ok(b.Fences.SettleDelete(b.ctx, ticket, outcome, 0))
			equal(b, len(b.fences("vm")), 1)
		}
		reported := len(b.eventsAfter(0))
		ticket, err = b.Fences.BeginDelete(b.ctx, fence, 0)
		b.ok(err)
		b.ok(b.Fences.SettleDelete(b.ctx, ticket, index.Accepted, time.Hour))
		landing := b.eventsAfter(int64(reported))
		equal(b, fmt.Sprint(b.reported(landing)),
			"[Contoso.Compute/virtualMachines/write Succeeded landing Contoso.Compute/virtualMachines/delete Accepted answer]")
		equal(b, landing[0].Unverified, true)
		equal(b, len(b.fences("vm")), 2)
		_, err = b.Fences.RemoveEnded(b.ctx, Sub, row.Key, inventory.ProvedAbsent{"westus": b.clock.Now()})
		b.ok(err)
		_, err = b.Fences.BeginDelete(b.ctx, fence, 0)
		b.is(err, inventory.ErrChanged)
	})
	t.Run("all fences are listed in pages", func(t *testing.T) {
		b := fresh(t)
		for _, name := range []string{"a", "b", "c"} {
			b.settle(b.begin(write(index.Delete, "rg", name)), index.Ambiguous)
		}
		b.closes(nil)
		var listed []string
		var after inventory.Fence
		for {
			page, err := b.Fences.All(b.ctx, after, 2)
			b.ok(err)
			if len(page) == 0 {
				break
			}
			for _, f := range page {
				after = f
				listed = append(listed, f.Key)
			}
		}
		equal(b, len(listed), 3)
		n, err := b.Fences.Count(b.ctx)
		b.ok(err)
		equal(b, n, 3)
	})
}
