package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// RunShared runs the tests of engines that several processes can share, in addition to
// [Run]: each test has two stores or more over one database.
func RunShared(t *testing.T, database Database) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Database)
	}{
		{"Opening", testOpeningAtOnce},
		{"ReadYourWrites", testReadYourWrites},
		{"Groups", testGroupsAtOnce},
		{"GroupDelete", testGroupDeleteAgainstCreate},
		{"UnregisterAgainstCreate", testUnregisterAgainstCreate},
		{"UnregisterAgainstMove", testUnregisterAgainstMove},
		{"ChangeAgainstNotice", testChangeAgainstNotice},
		{"Quota", testQuotaAtOnce},
		{"Usage", testUsageNeverDrifts},
		{"Locks", testLocksAtOnce},
		{"Roles", testRolesAtOnce},
		{"Tags", testTagsAtOnce},
		{"LateAnswers", testLateAnswers},
		{"Paging", testPagingMeanwhile},
		{"Takeover", testTakeover},
		{"ClaimedOnce", testClaimedOnce},
		{"EventsInOrder", testEventsInOrder},
		{"OwnEventsInOrder", testOwnEventsInOrder},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, database)
		})
	}
}

// newPair opens one database twice; both stores have the same clock.
func newPair(t *testing.T, database Database, adjust ...func(*inventory.Options)) [2]*bench {
	t.Helper()
	open := database(t)
	same := func(*testing.T) Opener { return open }
	a, b := newBench(t, same, adjust...), newBench(t, same, adjust...)
	// The clock stands still, so either store's will do.
	return [2]*bench{a, b}
}

func testOpeningAtOnce(t *testing.T, database Database) {
	open := database(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	stores := make([]*inventory.Store, 4)
	errs := make([]error, len(stores))
	var wait sync.WaitGroup
	for i := range stores {
		wait.Go(func() { stores[i], errs[i] = open(ctx, Options(NewClock())) })
	}
	wait.Wait()
	for i, s := range stores {
		if errs[i] != nil {
			t.Errorf("store %d: %v", i, errs[i])
			continue
		}
		if err := errors.Join(s.Ready(ctx), s.Close()); err != nil {
			t.Errorf("store %d: %v", i, err)
		}
	}
}

func testReadYourWrites(t *testing.T, database Database) {
	pair := newPair(t, database)
	pair[0].group("rg")
	for i := range 50 {
		writer, reader := pair[i%2], pair[1-i%2]
		name := fmt.Sprint("vm", i)
		ticket := writer.begin(write(index.Put, "rg", name))
		equal(writer, reader.row("rg", name).Generation, ticket.Generation)
		row := writer.settle(ticket, index.Succeeded).Row
		equal(writer, reader.row("rg", name).Generation, row.Generation)
		// One store may settle what the other began.
		equal(writer, reader.settle(writer.begin(write(index.Delete, "rg", name)), index.Gone).Settled, true)
		writer.absent(name)
	}
}

func testGroupsAtOnce(t *testing.T, database Database) {
	pair := newPair(t, database)
	for i := range 40 {
		name := fmt.Sprint("rg", i)
		var groups [2]inventory.Group
		var created [2]bool
		var wait sync.WaitGroup
		for k, b := range pair {
			wait.Go(func() {
				var err error
				groups[k], created[k], err = b.EditGroup(b.ctx, Sub, name, func(*inventory.Group) (*inventory.Group, error) {
					return &inventory.Group{Location: "westus"}, nil
				})
				if err != nil {
					b.Error(err)
				}
			})
		}
		wait.Wait()
		equal(pair[0], created[0] != created[1], true)
		equal(pair[0], groups[0].Incarnation, groups[1].Incarnation)
	}
	unmoved(pair[0])
}

// unmoved asserts that every quota's usage equals the count.
func unmoved(b *bench) {
	b.Helper()
	off, err := b.Recount(b.ctx, Sub, false)
	b.ok(err)
	if len(off) > 0 {
		b.Errorf("usage has drifted: %+v", off)
	}
}

// testGroupDeleteAgainstCreate is the race of R2, from two processes: the intent
// reads an Active group, the delete finds nothing left in it, and a resource
// outlives its group.
func testGroupDeleteAgainstCreate(t *testing.T, database Database) {
	pair := newPair(t, database)
	var won [2]int
	for i := range 120 {
		name := fmt.Sprint("rg", i)
		pair[0].group(name)
		begins, deletes := pair[i%2], pair[1-i%2]
		lead := time.Duration(rand.IntN(2000)-1000) * time.Microsecond
		var started, deleted error
		var wait sync.WaitGroup
		wait.Go(func() {
			time.Sleep(max(lead, 0))
			_, started = begins.Begin(begins.ctx, write(index.Put, name, "vm"))
		})
		wait.Go(func() {
			time.Sleep(max(-lead, 0))
			deleted = deletes.DeleteGroup(deletes.ctx, Sub, name, inventory.DeleteGroupConditions{})
		})
		wait.Wait()
		_, groupErr := begins.Group(begins.ctx, Sub, name)
		_, rowErr := deletes.Resource(deletes.ctx, Sub, id(name, "vm"))
		if started == nil {
			won[0]++
			refuses[*inventory.GroupNotEmptyError](deletes, deleted)
			begins.ok(errors.Join(groupErr, rowErr))
			continue
		}
		won[1]++
		begins.is(started, index.ErrGroupNotFound)
		deletes.ok(deleted)
		begins.is(groupErr, inventory.ErrNotFound)
		begins.is(rowErr, inventory.ErrNotFound)
	}
	if won[0] == 0 || won[1] == 0 {
		t.Errorf("one side always won: %v", won)
	}
}

func testQuotaAtOnce(t *testing.T, database Database) {
	pair := newPair(t, database, func(o *inventory.Options) {
		o.Limits = inventory.Limits{ResourcesPerTypeAndGroup: 70}
	})
	pair[0].group("rg")
	var created, refused atomic.Int64
	var wait sync.WaitGroup
	for i := range 200 {
		b := pair[i%2]
		wait.Go(func() {
			_, err := b.Begin(b.ctx, write(index.Put, "rg", fmt.Sprint("vm", i)))
			var quota *transaction.QuotaError
			switch {
			case err == nil:
				created.Add(1)
			case errors.As(err, &quota):
				refused.Add(1)
			default:
				b.Error(err)
			}
		})
	}
	wait.Wait()
	equal(pair[0], created.Load(), 70)
	equal(pair[0], refused.Load(), 130)
	rows, err := pair[1].Resources(pair[1].ctx, inventory.ResourceQuery{Subscription: Sub, Group: "rg"})
	pair[1].ok(err)
	equal(pair[1], len(rows), 70)
	unmoved(pair[1])
}

// testUsageNeverDrifts makes writes, answers and reads of a few resources from both
// stores at once, so that batches of both change the same rows.
func testUsageNeverDrifts(t *testing.T, database Database) {
	pair := newPair(t, database, func(o *inventory.Options) {
		o.Limits = inventory.Limits{ResourcesPerTypeAndGroup: 9}
	})
	groups := []string{"rg", "rg-1", "r_g"}
	for _, g := range groups {
		pair[0].group(g)
	}
	var wait sync.WaitGroup
	for i := range 16 {
		b := pair[i%2]
		wait.Go(func() {
			for range 40 {
				if err := b.stir(groups[rand.IntN(len(groups))], fmt.Sprint("vm", rand.IntN(12))); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	unmoved(pair[0])
}

// stir makes one random write and ends it.
func (b *bench) stir(group, name string) error {
	w := write(index.Put, group, name)
	if rand.IntN(3) == 0 {
		w.Kind = index.Delete
	}
	if rand.IntN(4) == 0 {
		w = disk(w.Kind, group, name, "d")
	}
	ticket, err := b.Begin(b.ctx, w)
	var quota *transaction.QuotaError
	if errors.As(err, &quota) || errors.Is(err, inventory.ErrParentNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	outcomes := []index.Outcome{index.Succeeded, index.Succeeded, index.Refused, index.NotSent, index.Ambiguous, index.Accepted}
	if w.Kind == index.Delete {
		outcomes = []index.Outcome{index.Gone, index.Gone, index.Refused, index.Ambiguous, index.Accepted}
	}
	result, err := b.Settle(b.ctx, ticket, inventory.WriteResult{Outcome: outcomes[rand.IntN(len(outcomes))], Status: 400})
	if err != nil || result.Row == nil {
		return err
	}
	_, _, err = b.Observe(b.ctx, Sub, result.Row.Key, result.Row.Generation, inventory.Observation{Found: rand.IntN(2) == 0})
	return err
}

// testLateAnswers makes overlapping writes that one store begins and the other settles.
func testLateAnswers(t *testing.T, database Database) {
	pair := newPair(t, database)
	a, b := pair[0], pair[1]
	a.group("rg")
	a.live("rg", "vm")
	// R5: of two opposing writes neither is proof.
	p, d := a.begin(write(index.Put, "rg", "vm")), b.begin(write(index.Delete, "rg", "vm"))
	equal(a, b.settle(p, index.Succeeded).Settled, false)
	equal(a, a.settle(d, index.Gone).Settled, false)
	b.stands("vm", index.Live, true)
	// R7: nor is a GET's answer about a row that the other has changed since.
	row := a.row("rg", "vm")
	b.settle(b.begin(write(index.Put, "rg", "vm")), index.Succeeded)
	settled, _, err := a.Observe(a.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
	a.ok(err)
	equal(a, settled, false)
	// An answer counts once, whichever store records it.
	ticket := a.begin(write(index.Delete, "rg", "vm"))
	equal(b, b.settle(ticket, index.Gone).Settled, true)
	equal(a, a.settle(ticket, index.Gone).Settled, false)
	a.absent("vm")

	// At once, in any order: of all answers to one DELETE exactly one settles, and any
	// other open write keeps its row flagged or its intent.
	for i := range 40 {
		name := fmt.Sprint("vm", i)
		a.live("rg", name)
		d := b.begin(write(index.Delete, "rg", name))
		var settled atomic.Int64
		var wait sync.WaitGroup
		for _, by := range pair {
			wait.Go(func() {
				result, err := by.Settle(by.ctx, d, inventory.WriteResult{Outcome: index.Gone})
				if err != nil {
					by.Error(err)
				}
				if result.Settled {
					settled.Add(1)
				}
			})
		}
		var started inventory.Ticket
		wait.Go(func() {
			var err error
			if started, err = a.Begin(a.ctx, write(index.Put, "rg", name)); err != nil {
				a.Error(err)
			}
		})
		wait.Wait()
		if settled.Load() > 1 {
			t.Fatalf("%d answers to one write settled", settled.Load())
		}
		row := a.row("rg", name) // the PUT is open, so there is one
		if created := started.CreatedRow; created != (row.Phase == index.Pending) || created != (settled.Load() == 1) {
			t.Fatalf("the PUT made a row: %v, now %s; %d answers settled", created, row.Phase, settled.Load())
		}
	}
}

// testPagingMeanwhile pages through one store while the other writes: rows that exist
// throughout are listed once.
func testPagingMeanwhile(t *testing.T, database Database) {
	pair := newPair(t, database)
	a, b := pair[0], pair[1]
	a.group("rg")
	var want []string
	for i := range 40 {
		want = append(want, a.live("rg", fmt.Sprintf("Keep_%02d", i)).Key)
	}
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			b.settle(b.begin(write(index.Put, "rg", fmt.Sprintf("keep_%02d-%d", i%40, i))), index.Succeeded)
		}
	})
	for range 5 {
		var got []string
		for _, key := range pages(a, func(after string) ([]inventory.Resource, error) {
			return a.Resources(a.ctx, inventory.ResourceQuery{Subscription: Sub, Group: "rg", After: after, Limit: 7})
		}, func(r inventory.Resource) string { return r.Key }) {
			if slices.Contains(want, key) {
				got = append(got, key)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %d of what was there, want %d", len(got), len(want))
		}
	}
	close(done)
	wait.Wait()
}

// testTakeover makes a runner outlive its lease: after another has taken its job, its
// writes are refused.
func testTakeover(t *testing.T, database Database) {
	open := database(t)
	clock := NewClock()
	shared := func(o *inventory.Options) { o.Now = clock.Now }
	same := func(*testing.T) Opener { return open }
	a, b := newBench(t, same, shared), newBench(t, same, shared)
	_, err := a.Jobs.Add(a.ctx, jobrow.Job{Subscription: Sub, Kind: "test", Subject: "x", Payload: "{}"})
	a.ok(err)
	claim := func(by *bench, want int) []jobrow.Job {
		by.Helper()
		jobs, err := by.Jobs.Claim(by.ctx, "owner", 10*time.Second, 5, "test")
		by.ok(err)
		equal(by, len(jobs), want)
		return jobs
	}
	stale := claim(a, 1)[0]
	claim(b, 0)
	clock.Pass(10 * time.Second)
	fresh := claim(b, 1)[0]
	equal(b, fresh.Token > stale.Token, true)
	a.is(a.Jobs.Renew(a.ctx, &stale, time.Minute), jobrow.ErrLeaseLost)
	a.is(a.Jobs.Save(a.ctx, &stale, `{"stale":true}`), jobrow.ErrLeaseLost)
	a.is(a.Jobs.Defer(a.ctx, stale, clock.Now(), `{"stale":true}`), jobrow.ErrLeaseLost)
	a.is(a.Jobs.End(a.ctx, stale, jobrow.Done, `{"stale":true}`), jobrow.ErrLeaseLost)
	b.ok(b.Jobs.Save(b.ctx, &fresh, `{"step":1}`))
	b.ok(b.Jobs.End(b.ctx, fresh, jobrow.Done, `{"step":2}`))
	seen, err := a.Jobs.Get(a.ctx, Sub, fresh.ID)
	a.ok(err)
	equal(a, seen.Payload, `{"step":2}`)
	equal(a, seen.State, jobrow.Done)
}

// testClaimedOnce claims from many goroutines at once: each job goes to one of them.
func testClaimedOnce(t *testing.T, database Database) {
	pair := newPair(t, database)
	const jobs = 60
	for i := range jobs {
		_, err := pair[0].Jobs.Add(pair[0].ctx, jobrow.Job{Subscription: Sub, Kind: "test", Subject: fmt.Sprint(i), Payload: "{}"})
		pair[0].ok(err)
	}
	var mu sync.Mutex
	claimed := map[[16]byte]int{}
	var wait sync.WaitGroup
	for i := range 8 {
		b := pair[i%2]
		wait.Go(func() {
			for range 10 {
				got, err := b.Jobs.Claim(b.ctx, fmt.Sprint("owner", i), time.Minute, 7, "test")
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				for _, j := range got {
					claimed[j.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	equal(pair[0], len(claimed), jobs)
	for job, times := range claimed {
		if times != 1 {
			t.Errorf("job %x was claimed %d times", job, times)
		}
	}
}
