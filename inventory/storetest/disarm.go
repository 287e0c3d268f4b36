package storetest

import (
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
)

// notResumed are kinds of jobs whose going on would do harm.
var notResumed = inventory.NotResumed{
	Cancelled: []string{inventory.GroupDeleteJob, inventory.MoveJob}, Removed: []string{inventory.NoticeJob, inventory.EraseJob},
}

// What changes what clients have is not gone on with; what keeps the index true is, and
// endpoints hear of every subscription again.
func testDisarm(t *testing.T, database Database) {
	b := newBench(t, database)
	b.put(inventory.Subscription{OfferID: "free"})
	equal(b, b.notices(), "auto east@a2 auto west@a1")
	deletes, verifies := b.addJob(inventory.GroupDeleteJob, "g", time.Time{}), b.addJob(inventory.VerifyJob, "r", time.Time{})
	held, _ := b.claim("a", 1, inventory.GroupDeleteJob)
	ended := b.addJob(inventory.MoveJob, "m", time.Time{})
	moving, _ := b.claim("a", 1, inventory.MoveJob)
	b.ok(b.Jobs.End(b.ctx, moving[0], jobrow.Failed, ""))
	b.put(inventory.Subscription{State: inventory.Deleted})
	done, err := b.Disarm(b.ctx, notResumed)
	b.ok(err)
	equal(b, done, inventory.Disarmed{Jobs: 1, Subscriptions: 1})
	b.lostLease(held[0])
	equal(b, b.job(deletes.ID).State, jobrow.Cancelling)
	equal(b, b.job(verifies.ID).State, jobrow.Waiting)
	equal(b, b.job(ended.ID).State, jobrow.Failed)
	sub, err := b.Subscription(b.ctx, Sub)
	b.ok(err)
	equal(b, sub.State, inventory.Disabled)
	_, erasing := b.claim("a", 1, inventory.EraseJob)
	equal(b, erasing, "")
	equal(b, b.notices(), "")
	b.ok(b.Notices.NotifyNewTargets(b.ctx, Sub, endpoints))
	equal(b, b.notices(), "auto east@a2 auto west@a1")
	again, err := b.Disarm(b.ctx, notResumed)
	b.ok(err)
	equal(b, again, inventory.Disarmed{})
}

// A store that was restored denies nothing: neither what it knew to be absent, nor of
// subscriptions that it had forgotten.
func testDisarmDeniesNothing(t *testing.T, database Database) {
	open := database(t)
	same := func(*testing.T) Opener { return open }
	b := newBench(t, same)
	const covered, later = "00000000-0000-0000-0000-0000000000a2", "00000000-0000-0000-0000-0000000000a3"
	b.ok(b.SeedSubscriptions(b.ctx, []inventory.Subscription{{ID: Sub, TenantID: "t"}, {ID: covered, TenantID: "t", Covered: true}}))
	b.ok(b.Coverage.Cover(b.ctx, Sub, vmType, "westus", b.clock.Now()))
	b.group("rg")
	before := b.live("rg", "vm")
	_, err := b.Disarm(b.ctx, notResumed)
	b.ok(err)
	uncovered := func(b *bench, sub string) int {
		t.Helper()
		left, err := b.Coverage.Uncovered(b.ctx, sub, vmType, []string{"westus", "eastus"})
		b.ok(err)
		return len(left)
	}
	equal(b, uncovered(b, Sub), 2)
	equal(b, uncovered(b, covered), 2)
	settled, _, err := b.Observe(b.ctx, Sub, before.Key, before.Generation, inventory.Observation{})
	b.ok(err)
	equal(b, settled, false)
	b.ok(b.Close())

	b = newBench(t, same)
	b.ok(b.SeedSubscriptions(b.ctx, []inventory.Subscription{{ID: later, TenantID: "t", Covered: true}}))
	equal(b, uncovered(b, later), 2)
	equal(b, b.Events.Restored().Equal(b.clock.Now()), true)
}
