package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// jobs lists the open jobs, as "kind name" of each subject. A row's jobs belong to its
// region.
func (b *bench) jobs() string {
	b.Helper()
	all, err := b.Jobs.List(b.ctx, jobrow.Query{})
	b.ok(err)
	var names []string
	for _, j := range all {
		name := j.Subject[strings.LastIndexByte(j.Subject, '/')+1:]
		if j.Kind == inventory.FollowJob {
			follow, err := inventory.ReadFollow(j)
			b.ok(err)
			name = follow.Kind.String() + " " + name
		}
		if j.Kind == inventory.FollowJob || j.Kind == inventory.VerifyJob {
			row, err := b.Resource(b.ctx, j.Subscription, j.Subject)
			b.ok(err)
			equal(b, j.Region, row.Region)
		}
		names = append(names, j.Kind+" "+name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// accept settles a write as accepted, with a polling URL.
func (b *bench) accept(ticket inventory.Ticket, path string) [16]byte {
	b.Helper()
	result, err := b.Settle(b.ctx, ticket, inventory.WriteResult{
		Outcome: index.Accepted, Status: 202, Poll: &inventory.Poll{Path: path, Query: "q", RetryAfter: time.Minute},
	})
	b.ok(err)
	return result.Follow
}

// endFollow ends the job that follows an accepted write.
func (b *bench) endFollow(ticket inventory.Ticket, follow [16]byte) {
	b.Helper()
	_, err := b.Follows.End(b.ctx, ticket.Subscription, ticket.Key, ticket.Kind, follow, nil)
	b.ok(err)
}

// followed returns the one job that follows a write.
func (b *bench) followed() (jobrow.Job, inventory.Follow) {
	b.Helper()
	all, err := b.Jobs.List(b.ctx, jobrow.Query{Kind: inventory.FollowJob})
	b.ok(err)
	equal(b, len(all), 1)
	follow, err := inventory.ReadFollow(all[0])
	b.ok(err)
	return all[0], follow
}

// testRowJobs checks that the jobs of rows agree with their flags.
func testRowJobs(t *testing.T, database Database) {
	fresh := func(t *testing.T) *bench {
		b := newBench(t, database)
		b.group("rg")
		return b
	}
	observe := func(b *bench, found bool) bool {
		b.Helper()
		row := b.row("rg", "vm")
		settled, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{Found: found})
		b.ok(err)
		return settled
	}
	t.Run("what is plainly alive has none", func(t *testing.T) {
		b := fresh(t)
		b.begin(write(index.Put, "rg", "pending"))
		b.live("rg", "vm")
		b.settle(b.begin(write(index.Put, "rg", "unsent")), index.NotSent)
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		equal(b, b.jobs(), "")
	})
	t.Run("a flag brings a job after the floor, its end removes it", func(t *testing.T) {
		b := fresh(t)
		b.live("rg", "vm")
		b.ok(b.RequestVerify(b.ctx, Sub, id("rg", "vm")))
		equal(b, b.jobs(), "verify vm")
		_, got := b.claim("a", 10)
		equal(b, got, "")
		b.clock.Pass(time.Second)
		held := b.one("a")
		equal(b, held.Subject, b.row("rg", "vm").Key)
		b.ok(b.RequestVerify(b.ctx, Sub, id("rg", "vm"))) // it is requested already
		b.ok(b.Jobs.Renew(b.ctx, &held, lease))
		equal(b, observe(b, true), true)
		equal(b, b.jobs(), "")
		b.lostLease(held)
		b.ok(b.RequestVerify(b.ctx, Sub, id("rg", "vm")))
		b.clock.Pass(time.Second)
		again := b.one("b")
		equal(b, again.Token, held.Token) // and yet:
		b.lostLease(held)
		equal(b, observe(b, false), true)
		equal(b, b.jobs(), "")
		b.lostLease(again)
	})
	t.Run("the end of an intent has the question asked at once", func(t *testing.T) {
		b := fresh(t)
		ticket := b.begin(write(index.Put, "rg", "vm"))
		b.settle(ticket, index.Ambiguous)
		b.clock.Pass(time.Second)
		held := b.one("a")
		b.ok(b.Jobs.Defer(b.ctx, held, b.clock.Now().Add(24*time.Hour), held.Payload))
		b.clock.Pass(intentLife)
		n, err := b.Expire(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		b.clock.Pass(time.Second)
		equal(b, b.one("a").Subject, held.Subject)
	})
	t.Run("an accepted write is followed, each kind by itself", func(t *testing.T) {
		b := fresh(t)
		follow := b.accept(b.begin(write(index.Put, "rg", "vm")), "/put")
		equal(b, b.jobs(), "follow PUT vm")
		job, payload := b.followed()
		equal(b, job.Incarnation, follow)
		equal(b, job.Due, b.clock.Now().Add(time.Minute))
		equal(b, payload, inventory.Follow{Kind: index.Put, Path: "/put", Query: "q"})
		b.accept(b.begin(write(index.Delete, "rg", "vm")), "/delete")
		equal(b, b.jobs(), "follow DELETE vm, follow PUT vm, verify vm") // the DELETE found a create that is followed
		row, err := b.Follows.End(b.ctx, Sub, id("rg", "vm"), index.Put, follow, nil)
		b.ok(err)
		equal(b, row.Verify, true)
		equal(b, b.jobs(), "follow DELETE vm, verify vm")
		equal(b, observe(b, false), true)
		equal(b, b.jobs(), "")
	})
	t.Run("a state that is not terminal is followed without a URL", func(t *testing.T) {
		b := fresh(t)
		ticket := b.begin(write(index.Put, "rg", "vm"))
		result, err := b.Settle(b.ctx, ticket, inventory.WriteResult{Outcome: index.Succeeded, Status: 201, ProvisioningState: "Creating"})
		b.ok(err)
		_, payload := b.followed()
		equal(b, payload, inventory.Follow{Kind: index.Put})
		equal(b, result.Follow == [16]byte{}, false)
		equal(b, observe(b, true), true)
		equal(b, b.jobs(), "")
	})
	t.Run("a newer acceptance takes the place of an older one, which counts as lost", func(t *testing.T) {
		b := fresh(t)
		first := b.accept(b.begin(write(index.Put, "rg", "vm")), "/first")
		b.clock.Pass(time.Minute)
		held := b.one("a")
		b.accept(b.begin(write(index.Put, "rg", "vm")), "/second")
		equal(b, b.jobs(), "follow PUT vm, verify vm")
		b.lostLease(held)
		b.is(b.Follows.EndByJob(b.ctx, held, nil), jobrow.ErrLeaseLost)
		_, err := b.Follows.End(b.ctx, Sub, id("rg", "vm"), index.Put, first, nil)
		b.ok(err)
		equal(b, b.row("rg", "vm").FollowPut, true)
		b.clock.Pass(time.Minute)
		jobs, _ := b.claim("a", 1, inventory.FollowJob)
		b.ok(b.Follows.EndByJob(b.ctx, jobs[0], nil))
		equal(b, b.row("rg", "vm").FollowPut, false)
		equal(b, observe(b, false), false) // the effect of the first may not show yet
		b.stands("vm", index.Pending, true)
		b.clock.Pass(intentLife)
		_, err = b.Expire(b.ctx, 10)
		b.ok(err)
		equal(b, observe(b, false), true)
		equal(b, b.jobs(), "")
	})
	t.Run("R6 a lost operation counts as a write without an answer for a while", func(t *testing.T) {
		b := fresh(t)
		b.accept(b.begin(write(index.Put, "rg", "vm")), "/put")
		b.clock.Pass(time.Minute)
		held := b.one("a")
		b.ok(b.Follows.LoseByJob(b.ctx, held, 0))
		b.is(b.Follows.LoseByJob(b.ctx, held, 0), jobrow.ErrLeaseLost)
		equal(b, b.jobs(), "verify vm")
		equal(b, observe(b, false), false)
		ticket := b.begin(write(index.Delete, "rg", "vm"))
		equal(b, b.settle(ticket, index.Gone).Settled, false)
		b.clock.Pass(intentLife)
		_, err := b.Expire(b.ctx, 10)
		b.ok(err)
		equal(b, observe(b, false), true)
	})
	t.Run("who lost the job ends no follow", func(t *testing.T) {
		b := fresh(t)
		b.accept(b.begin(write(index.Put, "rg", "vm")), "/put")
		b.clock.Pass(time.Minute)
		held := b.one("a")
		b.clock.Pass(lease)
		taken := b.one("b")
		b.is(b.Follows.EndByJob(b.ctx, held, nil), jobrow.ErrLeaseLost)
		equal(b, b.row("rg", "vm").FollowPut, true)
		b.ok(b.Follows.EndByJob(b.ctx, taken, nil))
	})
	t.Run("R10 what is below a parent that went is asked for", func(t *testing.T) {
		b := fresh(t)
		b.live("rg", "vm")
		b.settle(b.begin(disk(index.Put, "rg", "vm", "d1")), index.Succeeded)
		b.settle(b.begin(disk(index.Put, "rg", "vm", "d2")), index.Ambiguous)
		equal(b, b.jobs(), "verify d2")
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		equal(b, b.jobs(), "verify d1, verify d2")
	})
}
