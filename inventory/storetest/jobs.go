package storetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
)

const (
	lease = 10 * time.Second
	nope  = `{"progress":"a stale holder's"}`
)

func (b *bench) addJob(kind, subject string, due time.Time) jobrow.Job {
	b.Helper()
	j := jobrow.Job{Subscription: Sub, ID: jobrow.ID(kind, subject), Kind: kind, Subject: subject, Due: due, Payload: `{}`}
	added, err := b.Jobs.Add(b.ctx, j)
	b.ok(err)
	equal(b, added, true)
	return b.job(j.ID)
}

func (b *bench) job(id [16]byte) jobrow.Job {
	b.Helper()
	j, err := b.Jobs.Get(b.ctx, Sub, id)
	b.ok(err)
	return j
}

// claim claims jobs and returns their subjects, sorted.
func (b *bench) claim(owner string, limit int, kinds ...string) (jobs []jobrow.Job, subjects string) {
	b.Helper()
	jobs, err := b.Jobs.Claim(b.ctx, owner, lease, limit, kinds...)
	b.ok(err)
	var names []string
	for _, j := range jobs {
		names = append(names, j.Subject)
	}
	slices.Sort(names)
	return jobs, strings.Join(names, " ")
}

// one claims the one job that is due.
func (b *bench) one(owner string) jobrow.Job {
	b.Helper()
	jobs, _ := b.claim(owner, 10)
	if len(jobs) != 1 {
		b.Fatalf("claimed %d jobs, want 1", len(jobs))
	}
	return jobs[0]
}

// lostLease asserts that a former holder can do nothing more, and that its attempts
// changed nothing.
func (b *bench) lostLease(stale jobrow.Job) {
	b.Helper()
	before, known := b.Jobs.Get(b.ctx, Sub, stale.ID)
	b.is(b.Jobs.Renew(b.ctx, &stale, lease), jobrow.ErrLeaseLost)
	b.is(b.Jobs.Save(b.ctx, &stale, nope), jobrow.ErrLeaseLost)
	b.is(b.Jobs.Defer(b.ctx, stale, b.clock.Now().Add(time.Hour), nope), jobrow.ErrLeaseLost)
	b.is(b.Jobs.End(b.ctx, stale, jobrow.Done, nope), jobrow.ErrLeaseLost)
	if after, err := b.Jobs.Get(b.ctx, Sub, stale.ID); known == nil {
		b.ok(err)
		equal(b, after, before)
	}
}

func testJobs(t *testing.T, database Database) {
	t.Run("a job is made once, and anew when it has ended", func(t *testing.T) {
		b := newBench(t, database)
		first := b.addJob("sweep", "s", time.Time{})
		equal(b, first.State, jobrow.Waiting)
		equal(b, first.Due, b.clock.Now())
		equal(b, first.Created, b.clock.Now())
		equal(b, first.Incarnation == [16]byte{}, false)
		again := jobrow.Job{Subscription: Sub, ID: first.ID, Kind: "sweep", Subject: "other", Payload: nope}
		added, err := b.Jobs.Add(b.ctx, again)
		b.ok(err)
		equal(b, added, false)
		equal(b, b.job(first.ID), first)
		held := b.one("a")
		b.ok(b.Jobs.End(b.ctx, held, jobrow.Done, `{"progress":1}`))
		ended := b.job(first.ID)
		equal(b, ended.State, jobrow.Done)
		equal(b, ended.Payload, `{"progress":1}`)
		added, err = b.Jobs.Add(b.ctx, again)
		b.ok(err)
		equal(b, added, true)
		b.lostLease(held)
		equal(b, b.one("b").Subject, "other")
		b.lostLease(held)
	})
	t.Run("one of two claims it, the other after the lease", func(t *testing.T) {
		b := newBench(t, database)
		b.addJob("verify", "r", time.Time{})
		held := b.one("a")
		equal(b, held.Owner, "a")
		equal(b, held.Attempts, 1)
		equal(b, held.Until, b.clock.Now().Add(lease))
		b.clock.Pass(lease - time.Microsecond)
		_, got := b.claim("b", 10)
		equal(b, got, "")
		b.ok(b.Jobs.Renew(b.ctx, &held, lease))
		b.clock.Pass(lease - time.Microsecond)
		_, got = b.claim("b", 10)
		equal(b, got, "")
		b.clock.Pass(time.Microsecond)
		taken := b.one("b")
		equal(b, taken.Owner, "b")
		equal(b, taken.Attempts, 2)
		equal(b, taken.Token > held.Token, true)
		equal(b, taken.Incarnation, held.Incarnation)
		b.lostLease(held)
		b.ok(b.Jobs.Save(b.ctx, &taken, `{"n":1}`))
		b.ok(b.Jobs.End(b.ctx, taken, jobrow.Failed, taken.Payload))
		b.lostLease(taken)
	})
	t.Run("its last steps are kept, the newest first", func(t *testing.T) {
		b := newBench(t, database)
		id := b.addJob("verify", "r", time.Time{}).ID
		want := func(outcomes ...string) []jobrow.HistoryEntry {
			b.Helper()
			steps, err := b.Jobs.History(b.ctx, Sub, id)
			b.ok(err)
			var got []string
			for _, s := range steps {
				got = append(got, strings.TrimSpace(s.Replica+" "+s.Outcome))
			}
			equal(b, strings.Join(got, ", "), strings.Join(outcomes, ", "))
			return steps
		}
		want()
		held := b.one("a")
		held.Step = jobrow.HistoryEntry{Outcome: "again", Did: strings.Repeat("ö<\n", 1000)}
		b.ok(b.Jobs.Defer(b.ctx, held, b.clock.Now(), ""))
		b.one("a") // which dies
		b.clock.Pass(lease)
		held = b.one("b")
		steps := want("a expired", "a again")
		equal(b, steps[0].At, b.clock.Now())
		equal(b, len(steps[1].Did) < 200 && strings.HasPrefix(steps[1].Did, "ö<\nö"), true)
		b.ok(b.CancelJob(b.ctx, Sub, id))
		b.lostLease(held)
		b.ok(b.Jobs.End(b.ctx, b.one("c"), jobrow.Cancelled, ""))
		want("c cancelled", "cancelled", "a expired", "a again")
		b.addJob("verify", "r", time.Time{}) // another one
		want()
		for i := range 60 {
			held := b.one("host-0123456789abcdef")
			held.Step = jobrow.HistoryEntry{Outcome: "failed", Did: strings.Repeat(string(rune('0'+i)), 100)}
			b.ok(b.Jobs.Defer(b.ctx, held, b.clock.Now(), ""))
		}
		equal(b, len(want(slices.Repeat([]string{"host-0123456789abcdef failed"}, 50)...)), 50)
	})
	t.Run("many who claim at once get each job once", func(t *testing.T) {
		b := newBench(t, database)
		for name := range strings.SplitSeq("abcdefghijklmnop", "") {
			b.addJob("verify", name, time.Time{})
		}
		var mu sync.Mutex
		var got []string
		var wait sync.WaitGroup
		for _, owner := range []string{"x", "y", "z"} {
			wait.Go(func() {
				for range 10 {
					jobs, err := b.Jobs.Claim(b.ctx, owner, lease, 3)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					for _, j := range jobs {
						got = append(got, j.Subject)
					}
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		slices.Sort(got)
		equal(b, strings.Join(got, ""), "abcdefghijklmnop")
	})
	t.Run("what has been due for longest comes first, of any shard", func(t *testing.T) {
		b := newBench(t, database)
		now := b.clock.Now()
		for i, name := range strings.Split("abcdefghij", "") {
			b.addJob("verify", name, now.Add(time.Duration(i)*time.Second))
		}
		b.addJob("follow", "z", now.Add(-time.Hour))
		b.clock.Pass(5 * time.Second)
		_, got := b.claim("x", 3, "verify")
		equal(b, got, "a b c")
		_, got = b.claim("x", 2)
		equal(b, got, "d z")
		_, got = b.claim("x", 10, "none", "verify")
		equal(b, got, "e f")
	})
	t.Run("a job that is given back waits until it is due", func(t *testing.T) {
		b := newBench(t, database)
		b.addJob("verify", "r", time.Time{})
		held := b.one("a")
		held.Attempts = 0
		b.ok(b.Jobs.Defer(b.ctx, held, b.clock.Now().Add(time.Minute), `{"n":2}`))
		b.clock.Pass(time.Minute - time.Microsecond)
		_, got := b.claim("b", 10)
		equal(b, got, "")
		b.clock.Pass(time.Microsecond)
		taken := b.one("b")
		equal(b, taken.Payload, `{"n":2}`)
		equal(b, taken.Attempts, 1)
		b.lostLease(held)
		// Progress that the holder does not know of is not undone.
		stale := taken
		b.ok(b.Jobs.Save(b.ctx, &taken, `{"n":3}`))
		b.ok(b.Jobs.Defer(b.ctx, stale, b.clock.Now(), ""))
		taken = b.one("c")
		equal(b, taken.Payload, `{"n":3}`)
		b.ok(b.Jobs.End(b.ctx, taken, jobrow.Done, ""))
		equal(b, b.job(taken.ID).Payload, `{"n":3}`)
	})
	t.Run("cancelling ends the lease of the holder and is for the next one to carry out", func(t *testing.T) {
		b := newBench(t, database)
		b.addJob("sweep", "s", time.Time{})
		held := b.one("a")
		b.ok(b.CancelJob(b.ctx, Sub, held.ID))
		b.lostLease(held)
		b.ok(b.CancelJob(b.ctx, Sub, held.ID))
		taken := b.one("b")
		equal(b, taken.State, jobrow.Cancelling)
		b.ok(b.CancelJob(b.ctx, Sub, held.ID)) // it is running: no holder loses a lease
		b.ok(b.Jobs.End(b.ctx, taken, jobrow.Cancelled, taken.Payload))
		b.is(b.CancelJob(b.ctx, Sub, held.ID), jobrow.ErrEnded)
		b.is(b.CancelJob(b.ctx, Sub, [16]byte{1}), inventory.ErrNotFound)
	})
	t.Run("what has ended is kept for a time, and not done again", func(t *testing.T) {
		b := newBench(t, database)
		b.addJob("sweep", "s", time.Time{})
		held := b.one("a")
		b.ok(b.Jobs.End(b.ctx, held, jobrow.Done, held.Payload))
		b.clock.Pass(48*time.Hour - time.Microsecond)
		_, got := b.claim("b", 10)
		equal(b, got, "")
		n, err := b.Jobs.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 0)
		b.clock.Pass(time.Microsecond)
		n, err = b.Jobs.Forget(b.ctx, 10)
		b.ok(err)
		equal(b, n, 1)
		_, err = b.Jobs.Get(b.ctx, Sub, held.ID)
		b.is(err, inventory.ErrNotFound)
		b.lostLease(held)
	})
	t.Run("lists have every job once", func(t *testing.T) {
		b := newBench(t, database)
		want := map[string]bool{}
		for _, kind := range []string{"verify", "sweep"} {
			for _, subject := range []string{"a", "b", "c"} {
				added := b.addJob(kind, subject, time.Time{})
				want[added.Name()] = true
			}
		}
		all := jobrow.Job{ID: jobrow.ID("sweep", ""), Kind: "sweep"}
		_, err := b.Jobs.Add(b.ctx, all)
		b.ok(err)
		want[all.Name()] = true
		var q jobrow.Query
		q.Limit = 2
		for range 4 {
			page, err := b.Jobs.List(b.ctx, q)
			b.ok(err)
			for _, j := range page {
				equal(b, want[j.Name()], true)
				delete(want, j.Name())
				sub, id, err := jobrow.ParseName(j.Name())
				b.ok(err)
				equal(b, sub == j.Subscription && id == j.ID, true)
				q.After = j.Place()
			}
		}
		equal(b, len(want), 0)
		sweeps, err := b.Jobs.List(b.ctx, jobrow.Query{Kind: "sweep"})
		b.ok(err)
		equal(b, len(sweeps), 4)
		_, _, err = jobrow.ParseName("-.00")
		equal(b, err != nil, true)
	})
	testClaimsByRegion(t, database)
	t.Run("one question says which kinds are due", func(t *testing.T) {
		b := newBench(t, database)
		now := b.clock.Now()
		b.addJob("verify", "a", now)
		b.addJob("verify", "b", now.Add(time.Second))
		b.addJob("follow", "c", now.Add(2*time.Second))
		b.addJob("other", "d", now)
		kinds := []string{"verify", "follow", "never"}
		for _, expected := range [][]string{{"verify"}, {"verify"}, {"verify", "follow"}} {
			due, err := b.Jobs.DueKinds(b.ctx, kinds)
			b.ok(err)
			equal(b, strings.Join(due, " "), strings.Join(expected, " "))
			b.clock.Pass(time.Second)
		}
		held, _ := b.claim("a", 9, "verify")
		b.ok(b.Jobs.End(b.ctx, held[0], jobrow.Done, ""))
		due, err := b.Jobs.DueKinds(b.ctx, kinds)
		b.ok(err)
		equal(b, strings.Join(due, " "), "follow") // the other is held
		b.clock.Pass(lease)
		due, err = b.Jobs.DueKinds(b.ctx, kinds)
		b.ok(err)
		equal(b, strings.Join(due, " "), "verify follow")
		due, err = b.Jobs.DueKinds(b.ctx, nil)
		b.ok(err)
		equal(b, len(due), 0)
	})
	t.Run("counts", func(t *testing.T) {
		b := newBench(t, database)
		now := b.clock.Now()
		for i, subject := range []string{"a", "b", "c", "d", "e"} {
			b.addJob("verify", subject, now.Add(time.Duration(i)*time.Second))
		}
		b.addJob("follow", "f", now)
		b.clock.Pass(12 * time.Second)
		b.addJob("verify", "g", now)
		b.addJob("verify", "h", now.Add(time.Hour))
		all, err := b.Jobs.Count(b.ctx, 10*time.Second, time.Second)
		b.ok(err)
		equal(b, len(all), 2)
		counts, err := b.Jobs.CountKind(b.ctx, "verify", 10*time.Second, time.Second)
		b.ok(err)
		equal(b, counts, jobrow.Counts{All: 7, Due: 6, Overdue: 4, Oldest: 12 * time.Second, Old: 5})
		equal(b, all["verify"], counts)
		for range jobrow.ManyAttempts + 1 {
			counts, err = b.Jobs.CountKind(b.ctx, "follow", 0, 0)
			b.ok(err)
			equal(b, counts.PutOff, 0)
			held, _ := b.claim("a", 1, "follow")
			b.ok(b.Jobs.Defer(b.ctx, held[0], b.clock.Now(), ""))
		}
		counts, err = b.Jobs.CountKind(b.ctx, "follow", 0, 0)
		b.ok(err)
		equal(b, counts, jobrow.Counts{All: 1, Due: 1, Overdue: 1, Old: 1, PutOff: 1})
	})
}

func testJobsOutlive(t *testing.T, database Database) {
	open := database(t)
	clock := NewClock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	start := func(t *testing.T) *bench {
		store, err := open(ctx, Options(clock))
		if err != nil {
			t.Fatal(err)
		}
		return &bench{T: t, Store: store, ctx: ctx, clock: clock}
	}
	b := start(t)
	b.addJob("sweep", "s", time.Time{})
	held := b.one("a")
	b.ok(b.Jobs.Save(ctx, &held, `{"n":1}`))
	b.ok(b.Close())
	b = start(t)
	defer func() { b.ok(b.Close()) }()
	_, got := b.claim("b", 1)
	equal(b, got, "")
	clock.Pass(lease)
	taken := b.one("b")
	equal(b, taken.Payload, `{"n":1}`)
	equal(b, taken.Attempts, 2)
	b.lostLease(held)
}
