package storetest

import (
	"testing"
	"time"

	"portico/events"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// refusedBy asserts why a step of an operator is refused, and until when.
func (b *bench) refusedBy(err error, why inventory.Obstacle, until time.Time) {
	b.Helper()
	got := as[*inventory.ObstacleError](b, err)
	if got.Obstacle != why || !got.Until.Equal(until) {
		b.Fatalf("refused by %s until %v, want %s until %v", got.Obstacle, got.Until, why, until)
	}
}

// forgetsRow: an operator says that the machine does not exist.
func (b *bench) forgetsRow() error {
	_, err := b.ForgetResource(b.ctx, Sub, id("rg", "vm"))
	return err
}

// testUnstick: what operators do about what waits is refused where it may harm, and twice
// is as once.
func testUnstick(t *testing.T, database Database) {
	fresh := func(t *testing.T) *bench {
		b := newBench(t, database)
		b.group("rg")
		return b
	}
	t.Run("a row is forgotten only in doubt, and when nothing may make it any more", func(t *testing.T) {
		b := fresh(t)
		b.is(b.forgetsRow(), inventory.ErrNotFound)
		b.live("rg", "vm")
		b.refusedBy(b.forgetsRow(), inventory.AlreadyVerified, time.Time{})
		b.settle(b.begin(disk(index.Put, "rg", "vm", "d")), index.Succeeded)
		b.ok(b.RequestVerify(b.ctx, Sub, id("rg", "vm")))
		put := b.begin(write(index.Put, "rg", "vm"))
		b.refusedBy(b.forgetsRow(), inventory.CallUnderWay, put.NotAfter)
		b.settle(put, index.Ambiguous)
		ends := put.NotAfter.Add(5 * time.Minute)
		b.refusedBy(b.forgetsRow(), inventory.WriteOpen, ends)
		b.clock.Pass(intentLife)
		last := b.eventsAfter(0)
		row, err := b.ForgetResource(b.ctx, Sub, id("rg", "VM"))
		b.ok(err)
		equal(b, row.ID, id("rg", "vm"))
		b.absent("vm")
		b.is(b.forgetsRow(), inventory.ErrNotFound)
		// What was below it is asked for.
		below := b.children(id("rg", "vm"))
		equal(b, len(below), 1)
		equal(b, below[0].Verify, true)
		equal(b, b.jobs(), "verify d")
		reported := b.eventsAfter(last[len(last)-1].Number)
		end := reported[len(reported)-1]
		equal(b, end.Origin, events.Sworn)
		exists, known := end.Exists()
		equal(b, exists || !known, false)
		// A list that was begun before does not bring it back, a newer one does.
		found := b.discovery("rg", "vm")
		found.ListedSince = b.clock.Now().Add(-time.Second)
		b.adopts(found, inventory.TooYoung)
		b.clock.Pass(time.Minute)
		found.ListedSince = b.clock.Now()
		b.adopts(found, inventory.Adopted)
		off, err := b.Recount(b.ctx, Sub, false)
		b.ok(err)
		equal(b, len(off), 0)
	})
	t.Run("a DELETE without an answer keeps no row that is not there", func(t *testing.T) {
		b := fresh(t)
		b.live("rg", "vm")
		remove := b.begin(write(index.Delete, "rg", "vm"))
		b.refusedBy(b.forgetsRow(), inventory.CallUnderWay, remove.NotAfter)
		b.settle(remove, index.Ambiguous)
		b.ok(b.forgetsRow())
		b.absent("vm")
		// It may still hit what is made anew: that stays in doubt.
		b.settle(b.begin(write(index.Put, "rg", "vm")), index.Succeeded)
		equal(b, b.row("rg", "vm").Verify, true)
	})
	t.Run("an operation is given up at its limit", func(t *testing.T) {
		b := fresh(t)
		give := func(kind index.WriteKind) error {
			return b.Follows.GiveUp(b.ctx, Sub, id("rg", "vm"), kind, time.Hour, time.Minute)
		}
		b.is(give(index.Put), inventory.ErrNotFound)
		started := b.clock.Now()
		b.accept(b.begin(write(index.Put, "rg", "vm")), "/put")
		b.is(give(index.Delete), inventory.ErrNotFound)
		b.refusedBy(give(index.Put), inventory.OperationFollowed, started.Add(time.Hour))
		b.refusedBy(b.forgetsRow(), inventory.OperationFollowed, time.Time{})
		b.clock.Pass(time.Hour)
		b.ok(give(index.Put))
		b.is(give(index.Put), inventory.ErrNotFound)
		equal(b, b.jobs(), "verify vm")
		// It may still land.
		b.refusedBy(b.forgetsRow(), inventory.WriteOpen, b.clock.Now().Add(time.Minute))
		row := b.row("rg", "vm")
		settled, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
		b.ok(err)
		equal(b, settled, false)
		b.clock.Pass(time.Minute)
		b.ok(b.forgetsRow())
		b.absent("vm")
		equal(b, b.jobs(), "")
	})
	t.Run("what is being deleted is forgotten", func(t *testing.T) {
		b := fresh(t)
		b.live("rg", "vm")
		b.accept(b.begin(write(index.Delete, "rg", "vm")), "/delete")
		b.ok(b.forgetsRow())
		b.absent("vm")
		equal(b, b.jobs(), "")
	})
	t.Run("what a move has is not forgotten", func(t *testing.T) {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		m.ok(m.RequestVerify(m.ctx, Sub, id("rg", "vm")))
		j := m.started("vm")
		m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`))
		m.refusedBy(m.forgetsRow(), inventory.MoveOpen, time.Time{})
	})
	t.Run("fences are forgotten when their time is over", func(t *testing.T) {
		b := fresh(t)
		_, err := b.Fences.ForgetSworn(b.ctx, Sub, id("rg", "vm"))
		b.is(err, inventory.ErrNotFound)
		row := b.fencePut()
		until := b.fences("vm")[0].Until
		_, err = b.Fences.ForgetSworn(b.ctx, Sub, row.Key)
		if got := as[*inventory.ObstacleError](b, err); got.Obstacle != inventory.FenceStands || got.Until.Before(until) {
			b.Fatal(got)
		}
		b.group("rg")
		refuses[*inventory.FencedError](b, b.begins(write(index.Put, "rg", "vm")))
		b.clock.Pass(intentLife + time.Minute)
		b.outliveTheirTime(row.Key, 1)
		gone, err := b.Fences.ForgetSworn(b.ctx, Sub, row.Key)
		b.ok(err)
		equal(b, len(gone), 1)
		_, err = b.Fences.ForgetSworn(b.ctx, Sub, row.Key)
		b.is(err, inventory.ErrNotFound)
		equal(b, b.jobs(), "")
		b.live("rg", "vm")
	})
	t.Run("a stray is forgotten, its row is not", func(t *testing.T) {
		b := fresh(t)
		b.live("rg", "vm")
		seen := b.discovery("rg", "vm")
		seen.Region = "eastus"
		b.adopts(seen, inventory.Strayed)
		stray := inventory.Stray{Subscription: Sub, Region: "eastus", Key: id("rg", "vm")}
		b.ok(b.Strays.ForgetSworn(b.ctx, stray))
		b.is(b.Strays.ForgetSworn(b.ctx, stray), inventory.ErrNotFound)
		b.stands("vm", index.Live, false)
	})
	t.Run("a job is due at once", func(t *testing.T) {
		b := fresh(t)
		_, err := b.Jobs.Trigger(b.ctx, Sub, [16]byte{1})
		b.is(err, inventory.ErrNotFound)
		j := b.addJob("survey", "s", b.clock.Now())
		held := b.one("a")
		trigger := func(want bool) {
			t.Helper()
			held, err := b.Jobs.Trigger(b.ctx, j.Subscription, j.ID)
			b.ok(err)
			equal(b, held, want)
		}
		trigger(true)
		held.Attempts = 7
		b.ok(b.Jobs.Defer(b.ctx, held, b.clock.Now().Add(time.Hour), ""))
		for range 2 {
			trigger(false)
			after := b.job(j.ID)
			equal(b, after.Due, b.clock.Now())
			equal(b, after.Attempts, 0)
		}
		again := b.one("a")
		b.ok(b.Jobs.End(b.ctx, again, jobrow.Done, ""))
		_, err = b.Jobs.Trigger(b.ctx, j.Subscription, j.ID)
		b.is(err, jobrow.ErrEnded)
	})
	t.Run("a notice is given up while no one sends it", func(t *testing.T) {
		b := newBench(t, database)
		b.put(inventory.Subscription{OfferID: "free"})
		held, _ := b.claim("teller", 1, inventory.NoticeJob)
		err := b.Notices.GiveUp(b.ctx, held[0])
		b.refusedBy(err, inventory.CallUnderWay, held[0].Until)
		b.ok(b.Jobs.Defer(b.ctx, held[0], b.clock.Now().Add(time.Hour), ""))
		loose, err := b.Jobs.Get(b.ctx, held[0].Subscription, held[0].ID)
		b.ok(err)
		b.ok(b.Notices.GiveUp(b.ctx, loose))
		ended, err := b.Jobs.Get(b.ctx, loose.Subscription, loose.ID)
		b.ok(err)
		equal(b, ended.State, jobrow.Failed)
		b.is(b.Notices.GiveUp(b.ctx, ended), inventory.ErrNotFound)
		notice, err := inventory.ReadNotice(ended)
		b.ok(err)
		at := []inventory.NotificationTarget{{Namespace: notice.Namespace, Region: notice.Region, Address: notice.Address}}
		notified, err := b.Notices.NotifyReturned(b.ctx, at, 10) // it was there all the time
		b.ok(err)
		equal(b, notified, 0)
		b.ok(b.Notices.NotifyNewTargets(b.ctx, Sub, at)) // as once for each configuration
		again, err := b.Jobs.Get(b.ctx, loose.Subscription, loose.ID)
		b.ok(err)
		equal(b, again.State.Ended(), false)
	})
}

// outliveTheirTime removes the fences on an ID whose time is over, without a GET that
// has found nothing, and wants some to stay.
func (b *bench) outliveTheirTime(key string, want int) {
	b.Helper()
	left, err := b.Fences.RemoveEnded(b.ctx, Sub, key, nil)
	b.ok(err)
	equal(b, len(left), want)
}
