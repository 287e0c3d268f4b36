package storetest

import (
	"strings"
	"testing"
	"time"

	"portico/inventory"
)

// order records a batch of a caller, and returns its operation.
func (b *bench) order(content, object, token string) inventory.Operation {
	b.Helper()
	o := inventory.Operation{Token: token, TenantID: "t", ObjectID: object, Until: b.clock.Now().Add(48 * time.Hour)}
	b.ok(b.BeginRequestBatch(b.ctx, []byte(content), o, inventory.BatchLimits{Open: 2}))
	got, err := b.Operation(b.ctx, "", token)
	b.ok(err)
	return got
}

// carries claims the only batch that is due.
func (b *bench) carries(owner string) inventory.Job {
	b.Helper()
	jobs, err := b.ClaimJobs(b.ctx, owner, 10*time.Second, 10, inventory.RequestBatchJob)
	b.ok(err)
	if len(jobs) != 1 {
		b.Fatalf("%d batches are due", len(jobs))
	}
	return jobs[0]
}

func (b *bench) batch(job inventory.Job) inventory.RequestBatch {
	b.Helper()
	got, err := b.RequestBatch(b.ctx, job.ID)
	b.ok(err)
	return got
}

func (b *bench) answer(job inventory.Job, number int) string {
	b.Helper()
	got, err := b.RequestAnswer(b.ctx, job.ID, number)
	b.ok(err)
	return string(got)
}

func testRequestBatches(t *testing.T, database Database) {
	t.Run("what is recorded comes back, and is gone in time", func(t *testing.T) {
		b := newBench(t, database)
		content := strings.Repeat("x", 1<<20)
		o := b.order(content, "ann", "token")
		job := b.carries("one")
		equal(b, job.ID, o.Follow)
		got := b.batch(job)
		equal(b, string(got.Content) == content, true)
		equal(b, len(got.Parts), 0)

		first, err := b.BeginRequestPart(b.ctx, job, 3)
		b.ok(err)
		equal(b, first, true)
		again, err := b.BeginRequestPart(b.ctx, job, 3)
		b.ok(err)
		equal(b, again, false)
		_, err = b.RequestAnswer(b.ctx, job.ID, 3)
		b.is(err, inventory.ErrNotFound)
		begun := b.clock.Now()
		b.clock.Pass(time.Second)
		b.ok(b.EndRequestPart(b.ctx, job.ID, 3, []byte("written")))
		b.ok(b.EndRequestPart(b.ctx, job.ID, 3, []byte("late")))
		b.ok(b.EndRequestPart(b.ctx, job.ID, 0, []byte("read")))
		got = b.batch(job)
		equal(b, len(got.Parts), 2)
		equal(b, got.Parts[3], inventory.RequestPart{Begun: begun, Ended: b.clock.Now(), Answered: true, Size: 7})
		equal(b, got.Parts[0].Answered, true)
		equal(b, b.answer(job, 3)+" "+b.answer(job, 0), "written read")

		b.ok(b.EndRequestBatch(b.ctx, job, inventory.JobDone, `{"progress":{}}`, 48*time.Hour))
		got = b.batch(job)
		equal(b, len(got.Content), 0)
		equal(b, len(got.Parts), 2)
		equal(b, b.answer(job, 3), "written")
		ended, err := b.Job(b.ctx, "", job.ID)
		b.ok(err)
		equal(b, ended.State, inventory.JobDone)
		b.ok(b.EndRequestPart(b.ctx, job.ID, 5, []byte("too late")))
		equal(b, len(b.batch(job).Parts), 2)

		b.clock.Pass(47 * time.Hour)
		n, err := b.ForgetRequestBatches(b.ctx, 10)
		b.ok(err)
		equal(b, n, 0)
		b.clock.Pass(2 * time.Hour)
		n, err = b.ForgetRequestBatches(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		_, err = b.RequestBatch(b.ctx, job.ID)
		b.is(err, inventory.ErrNotFound)
		_, err = b.RequestAnswer(b.ctx, job.ID, 3)
		b.is(err, inventory.ErrNotFound)
	})
	t.Run("who was replaced begins and ends nothing, but may bring an answer", func(t *testing.T) {
		b := newBench(t, database)
		b.order("{}", "ann", "token")
		stale := b.carries("one")
		first, err := b.BeginRequestPart(b.ctx, stale, 0)
		b.ok(err)
		equal(b, first, true)
		b.clock.Pass(11 * time.Second)
		job := b.carries("two")
		_, err = b.BeginRequestPart(b.ctx, stale, 1)
		b.is(err, inventory.ErrDeposed)
		b.is(b.EndRequestBatch(b.ctx, stale, inventory.JobDone, "", 48*time.Hour), inventory.ErrDeposed)
		again, err := b.BeginRequestPart(b.ctx, job, 0)
		b.ok(err)
		equal(b, again, false)
		b.ok(b.EndRequestPart(b.ctx, stale.ID, 0, []byte("known")))
		b.ok(b.EndRequestPart(b.ctx, job.ID, 0, []byte("unknown")))
		equal(b, b.answer(job, 0), "known")
	})
	t.Run("a caller has a number of them under way", func(t *testing.T) {
		b := newBench(t, database)
		b.order("{}", "ann", "1")
		job := b.carries("one")
		b.order("{}", "ann", "2")
		third := inventory.Operation{Token: "3", TenantID: "t", ObjectID: "ann", Until: b.clock.Now().Add(time.Hour)}
		b.is(b.BeginRequestBatch(b.ctx, []byte("{}"), third, inventory.BatchLimits{Open: 2}), inventory.ErrTooManyBatches)
		_, err := b.Operation(b.ctx, "", "3")
		b.is(err, inventory.ErrNotFound)
		b.order("{}", "bob", "4")
		b.ok(b.EndRequestBatch(b.ctx, job, inventory.JobFailed, "", 48*time.Hour))
		b.ok(b.BeginRequestBatch(b.ctx, []byte("{}"), third, inventory.BatchLimits{Open: 2}))
	})
}
