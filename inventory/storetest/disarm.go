package storetest

import (
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
)

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
	b.ok(b.EndJob(b.ctx, moving[0], jobrow.Failed, ""))
	b.put(inventory.Subscription{State: inventory.Deleted})
	done, err := b.Disarm(b.ctx)
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
	b.ok(b.NotifyNewTargets(b.ctx, Sub, endpoints))
	equal(b, b.notices(), "auto east@a2 auto west@a1")
	again, err := b.Disarm(b.ctx)
	b.ok(err)
	equal(b, again, inventory.Disarmed{})
}
