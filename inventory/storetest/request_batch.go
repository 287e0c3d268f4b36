package storetest

import (
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/inventory/transaction"
)

// order records a batch of a caller, and returns its operation.
func (b *bench) order(content, object, token string) polls.Operation {
	b.Helper()
	o := polls.Operation{Token: token, TenantID: "t", ObjectID: object, Until: b.clock.Now().Add(48 * time.Hour)}
	_, err := b.Batches.Begin(b.ctx, []byte(content), o, polls.BatchLimits{Open: 2})
	b.ok(err)
	got, err := b.Operations.Operation(b.ctx, "", token)
	b.ok(err)
	return got
}

// claimBatch claims the only batch that is due.
func (b *bench) claimBatch(owner string) jobrow.Job {
	b.Helper()
	jobs, err := b.Jobs.Claim(b.ctx, owner, 10*time.Second, 10, polls.BatchJob)
	b.ok(err)
	if len(jobs) != 1 {
		b.Fatalf("%d batches are due", len(jobs))
	}
	return jobs[0]
}

func (b *bench) batch(job jobrow.Job) polls.Batch {
	b.Helper()
	got, err := b.Batches.Batch(b.ctx, job.ID)
	b.ok(err)
	return got
}

func (b *bench) answer(job jobrow.Job, number int) string {
	b.Helper()
	got, err := b.Batches.Answer(b.ctx, job.ID, number)
	b.ok(err)
	return string(got)
}

func testRequestBatches(t *testing.T, database Database) {
	t.Run("what is recorded comes back, and is gone in time", func(t *testing.T) {
		b := newBench(t, database)
		content := strings.Repeat("x", 1<<20)
		o := b.order(content, "ann", "token")
		job := b.claimBatch("one")
		equal(b, job.ID, o.Follow)
		got := b.batch(job)
		equal(b, string(got.Content) == content, true)
		equal(b, len(got.Parts), 0)

		first, err := b.Batches.BeginPart(b.ctx, job, 3)
		b.ok(err)
		equal(b, first, true)
		again, err := b.Batches.BeginPart(b.ctx, job, 3)
		b.ok(err)
		equal(b, again, false)
		_, err = b.Batches.Answer(b.ctx, job.ID, 3)
		b.is(err, inventory.ErrNotFound)
		started := b.clock.Now()
		b.clock.Pass(time.Second)
		b.ok(b.Batches.EndPart(b.ctx, job.ID, 3, []byte("written")))
		b.ok(b.Batches.EndPart(b.ctx, job.ID, 3, []byte("late")))
		b.ok(b.Batches.EndPart(b.ctx, job.ID, 0, []byte("read")))
		got = b.batch(job)
		equal(b, len(got.Parts), 2)
		equal(b, got.Parts[3], polls.Part{Started: started, Ended: b.clock.Now(), Answered: true, Size: 7})
		equal(b, got.Parts[0].Answered, true)
		equal(b, b.answer(job, 3)+" "+b.answer(job, 0), "written read")

		b.ok(b.Batches.End(b.ctx, job, jobrow.Done, `{"progress":{}}`, 48*time.Hour))
		got = b.batch(job)
		equal(b, len(got.Content), 0)
		equal(b, len(got.Parts), 2)
		equal(b, b.answer(job, 3), "written")
		ended, err := b.Jobs.Get(b.ctx, "", job.ID)
		b.ok(err)
		equal(b, ended.State, jobrow.Done)
		b.ok(b.Batches.EndPart(b.ctx, job.ID, 5, []byte("too late")))
		equal(b, len(b.batch(job).Parts), 2)

		b.clock.Pass(47 * time.Hour)
		n, err := b.Batches.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 0)
		b.clock.Pass(2 * time.Hour)
		n, err = b.Batches.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		_, err = b.Batches.Batch(b.ctx, job.ID)
		b.is(err, inventory.ErrNotFound)
		_, err = b.Batches.Answer(b.ctx, job.ID, 3)
		b.is(err, inventory.ErrNotFound)
	})
	t.Run("who was replaced begins and ends nothing, but may bring an answer", func(t *testing.T) {
		b := newBench(t, database)
		b.order("{}", "ann", "token")
		stale := b.claimBatch("one")
		first, err := b.Batches.BeginPart(b.ctx, stale, 0)
		b.ok(err)
		equal(b, first, true)
		b.clock.Pass(11 * time.Second)
		job := b.claimBatch("two")
		_, err = b.Batches.BeginPart(b.ctx, stale, 1)
		b.is(err, jobrow.ErrLeaseLost)
		b.is(b.Batches.End(b.ctx, stale, jobrow.Done, "", 48*time.Hour), jobrow.ErrLeaseLost)
		again, err := b.Batches.BeginPart(b.ctx, job, 0)
		b.ok(err)
		equal(b, again, false)
		b.ok(b.Batches.EndPart(b.ctx, stale.ID, 0, []byte("known")))
		b.ok(b.Batches.EndPart(b.ctx, job.ID, 0, []byte("unknown")))
		equal(b, b.answer(job, 0), "known")
	})
	t.Run("bytes are counted for the caller and for all, until they are gone", func(t *testing.T) {
		b := newBench(t, database)
		const sealing = 28
		limits := polls.BatchLimits{Stored: 3000, TotalStored: 5000, Answer: 1000}
		used := func(object string) (own, all int64) {
			b.Helper()
			own, all, err := b.Batches.Room(b.ctx, "t", object, limits)
			b.ok(err)
			return 3000 - own, 5000 - all
		}
		want := func(object string, own, all int64) {
			b.Helper()
			gotOwn, gotAll := used(object)
			equal(b, [2]int64{gotOwn, gotAll}, [2]int64{own, all})
		}
		begin := func(object, token string, size int) error {
			o := polls.Operation{Token: token, TenantID: "t", ObjectID: object, Until: b.clock.Now().Add(48 * time.Hour)}
			_, err := b.Batches.Begin(b.ctx, make([]byte, size-sealing), o, limits)
			return err
		}
		want("ann", 0, 0)
		b.ok(begin("ann", "1", 2000))
		quota := as[*transaction.QuotaError](b, begin("ann", "2", 100)) // an answer must fit as well
		equal(b, *quota, transaction.QuotaError{Kind: transaction.QuotaBatches, Limit: 2000, Current: 2000})
		b.ok(begin("bob", "3", 2000))
		equal(b, as[*transaction.QuotaError](b, begin("eve", "4", 100)).Kind, transaction.QuotaAllBatches)
		want("ann", 2000, 4000)
		jobs, err := b.Jobs.Claim(b.ctx, "one", 10*time.Second, 10, polls.BatchJob)
		b.ok(err)
		for _, job := range jobs {
			b.ok(b.Batches.EndPart(b.ctx, job.ID, 0, make([]byte, 500-sealing)))
			b.ok(b.Batches.EndPart(b.ctx, job.ID, 0, make([]byte, 700))) // the first stands
		}
		want("ann", 2500, 5000)
		for _, job := range jobs {
			b.ok(b.Batches.End(b.ctx, job, jobrow.Done, "", time.Hour))
			b.ok(b.Batches.EndPart(b.ctx, job.ID, 1, make([]byte, 500)))
		}
		want("ann", 500, 1000)
		b.ok(b.Batches.Shorten(b.ctx, jobs[0].ID, b.clock.Now().Add(5*time.Minute)))
		b.ok(b.Batches.Shorten(b.ctx, jobs[1].ID, b.clock.Now().Add(5*time.Hour))) // no longer than before
		b.clock.Pass(6 * time.Minute)
		n, err := b.Batches.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		_, all := used("ann")
		equal(b, all, 500)
		n, err = b.Jobs.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		n, err = b.Operations.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		b.clock.Pass(time.Hour)
		n, err = b.Batches.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		want("ann", 0, 0)
		want("bob", 0, 0)
		_, err = b.Operations.Operation(b.ctx, "", "3")
		b.is(err, inventory.ErrNotFound)
	})
	t.Run("one whose time is over before it was carried ends", func(t *testing.T) {
		b := newBench(t, database)
		b.order("{}", "ann", "token")
		b.clock.Pass(49 * time.Hour)
		n, err := b.Batches.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		job := b.claimBatch("one")
		_, err = b.Batches.Batch(b.ctx, job.ID)
		b.is(err, inventory.ErrNotFound)
		b.ok(b.Batches.End(b.ctx, job, jobrow.Failed, "", time.Hour))
		own, _, err := b.Batches.Room(b.ctx, "t", "ann", polls.BatchLimits{Stored: 100})
		b.ok(err)
		equal(b, own, 100)
	})
	t.Run("a caller has a number of them under way", func(t *testing.T) {
		b := newBench(t, database)
		b.order("{}", "ann", "1")
		job := b.claimBatch("one")
		b.order("{}", "ann", "2")
		third := polls.Operation{Token: "3", TenantID: "t", ObjectID: "ann", Until: b.clock.Now().Add(time.Hour)}
		_, err := b.Batches.Begin(b.ctx, []byte("{}"), third, polls.BatchLimits{Open: 2})
		b.is(err, polls.ErrTooManyBatches)
		_, err = b.Operations.Operation(b.ctx, "", "3")
		b.is(err, inventory.ErrNotFound)
		b.order("{}", "bob", "4")
		b.ok(b.Batches.End(b.ctx, job, jobrow.Failed, "", 48*time.Hour))
		_, err = b.Batches.Begin(b.ctx, []byte("{}"), third, polls.BatchLimits{Open: 2})
		b.ok(err)
	})
}
