package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
)

// deletion marks a group, like a client's DELETE.
func (b *bench) deletion(group, token string) (jobrow.Job, error) {
	return b.Deletions.Begin(b.ctx, Sub, group, inventory.DeletionRequest{
		Payload:   func(g inventory.Group) string { return `{"group":"` + g.Name + `"}` },
		Operation: polls.Operation{Token: token, Until: b.clock.Now().Add(time.Hour)},
	})
}

// claimDeletion claims the one job of a deletion.
func (b *bench) claimDeletion() jobrow.Job {
	b.Helper()
	b.clock.Pass(time.Minute)
	jobs, err := b.Jobs.Claim(b.ctx, "owner", time.Second, 10, inventory.GroupDeleteJob)
	b.ok(err)
	if len(jobs) != 1 {
		b.Fatalf("%d jobs", len(jobs))
	}
	return jobs[0]
}

// ofDelete is the deletion's write to the one resource of rg.
func ofDelete() inventory.Write {
	w := write(index.Delete, "rg", "vm")
	w.OfGroupDelete = true
	return w
}

func testDeletion(t *testing.T, database Database) {
	t.Run("R2 the mark and the job are one", func(t *testing.T) {
		b := newBench(t, database)
		b.group("RG")
		b.live("rg", "vm")
		job, err := b.deletion("rg", "first")
		b.ok(err)
		g, err := b.Group(b.ctx, Sub, "rg")
		b.ok(err)
		equal(b, g.State, index.GroupDeleting)
		equal(b, g.Generation, job.ID)
		equal(b, g.ETag, "1")
		equal(b, job.Payload, `{"group":"RG"}`)
		stored, err := b.Jobs.Get(b.ctx, Sub, job.ID)
		b.ok(err)
		equal(b, stored.Subject, "rg")
		for _, kind := range []index.WriteKind{index.Put, index.Delete} {
			_, err = b.Begin(b.ctx, write(kind, "rg", "vm"))
			refuses[*index.GroupStateError](b, err)
		}
		joined, err := b.deletion("rg", "second")
		b.ok(err)
		equal(b, joined.ID, job.ID)
		equal(b, joined.Incarnation, stored.Incarnation)
		for _, token := range []string{"first", "second"} {
			o, err := b.Operations.Operation(b.ctx, Sub, token)
			b.ok(err)
			equal(b, o.Follow, job.ID)
		}
		_, err = b.deletion("absent", "third")
		b.is(err, inventory.ErrNotFound)
	})
	t.Run("its own writes alone", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		_, err := b.Begin(b.ctx, ofDelete())
		refuses[*index.GroupStateError](b, err)
		_, err = b.deletion("rg", "x")
		b.ok(err)
		row, err := b.Resource(b.ctx, Sub, id("rg", "vm"))
		b.ok(err)
		w := ofDelete()
		w.Generation = row.Generation
		ticket := b.begin(w)
		_, err = b.Begin(b.ctx, w) // the intent has changed the row
		b.is(err, inventory.ErrChanged)
		b.settle(ticket, index.Gone)
		_, err = b.Begin(b.ctx, w)
		b.is(err, inventory.ErrChanged)
	})
	t.Run("R2 it closes with its job, over nothing that may land", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		_, err := b.deletion("rg", "x")
		b.ok(err)
		job := b.claimDeletion()
		b.ok(b.Deletions.SaveProgress(b.ctx, &job, `{"a":1}`, []inventory.DeletionRecord{{Key: "k", Payload: "{}", Error: "e"}}))
		refuses[*inventory.GroupNotEmptyError](b, b.Deletions.DeleteGroup(b.ctx, job, inventory.DeleteGroupConditions{}, "{}"))
		running := b.begin(ofDelete())
		b.settle(b.begin(ofDelete()), index.Gone)
		left := as[*inventory.GroupNotEmptyError](b, b.Deletions.DeleteGroup(b.ctx, job, inventory.DeleteGroupConditions{}, "{}"))
		equal(b, left.Intents, 1)
		b.settle(running, index.Ambiguous)
		b.ok(b.Deletions.DeleteGroup(b.ctx, job, inventory.DeleteGroupConditions{}, `{"end":1}`))
		ended, err := b.Jobs.Get(b.ctx, Sub, job.ID)
		b.ok(err)
		equal(b, ended.State, jobrow.Done)
		equal(b, ended.Payload, `{"end":1}`)
		_, err = b.Group(b.ctx, Sub, "rg")
		b.is(err, inventory.ErrNotFound)
		members, err := b.Deletions.Members(b.ctx, job, "", 0)
		b.ok(err)
		equal(b, len(members), 0)
	})
	t.Run("R7 a stale holder ends nothing, nor what was made anew", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		_, err := b.deletion("rg", "x")
		b.ok(err)
		stale := b.claimDeletion()
		job := b.claimDeletion()
		b.is(b.Deletions.DeleteGroup(b.ctx, stale, inventory.DeleteGroupConditions{}, "{}"), jobrow.ErrLeaseLost)
		b.is(b.Deletions.ReopenGroup(b.ctx, stale, jobrow.Failed, "{}", nil), jobrow.ErrLeaseLost)
		b.is(b.Deletions.SaveProgress(b.ctx, &stale, "{}", nil), jobrow.ErrLeaseLost)
		g, err := b.Group(b.ctx, Sub, "rg")
		b.ok(err)
		equal(b, g.State, index.GroupDeleting)
		b.ok(b.Deletions.DeleteGroup(b.ctx, job, inventory.DeleteGroupConditions{}, "{}"))
		b.group("rg")
		b.is(b.Deletions.DeleteGroup(b.ctx, job, inventory.DeleteGroupConditions{}, "{}"), inventory.ErrNotFound)
		b.is(b.Deletions.ReopenGroup(b.ctx, stale, jobrow.Failed, "{}", nil), jobrow.ErrLeaseLost)
		g, err = b.Group(b.ctx, Sub, "rg")
		b.ok(err)
		equal(b, g.State, index.GroupActive)
	})
	t.Run("it is given back", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		_, err := b.deletion("rg", "x")
		b.ok(err)
		job := b.claimDeletion()
		b.settle(b.begin(ofDelete()), index.Ambiguous) // R8: it may still hit a resource created meanwhile
		left := as[*inventory.GroupNotEmptyError](b, b.Deletions.ReopenGroup(b.ctx, job, jobrow.Failed, "{}", nil))
		equal(b, left.Intents, 1)
		writes, err := b.GroupWrites(b.ctx, Sub, "rg", 10)
		b.ok(err)
		equal(b, len(writes), 1)
		equal(b, writes[0].Ends, b.clock.Now().Add(intentLife))
		of, err := b.OpenWrites(b.ctx, Sub, writes[0].Key, 10)
		b.ok(err)
		equal(b, len(of), 1)
		equal(b, of[0], writes[0])
		of, err = b.OpenWrites(b.ctx, Sub, writes[0].Key+"x", 10)
		b.ok(err)
		equal(b, len(of), 0)
		b.clock.Pass(intentLife)
		b.ok(b.Deletions.ReopenGroup(b.ctx, job, jobrow.Failed, `{"end":2}`, nil))
		g, err := b.Group(b.ctx, Sub, "rg")
		b.ok(err)
		equal(b, g.State, index.GroupActive)
		equal(b, g.Generation == job.ID, false)
		equal(b, g.ETag, "1")
		_, err = b.Begin(b.ctx, ofDelete())
		refuses[*index.GroupStateError](b, err)
		b.begin(write(index.Put, "rg", "vm"))
		again, err := b.deletion("rg", "y")
		b.ok(err)
		equal(b, again.ID == job.ID, false)
	})
	t.Run("many at once begin one", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		var wait sync.WaitGroup
		ids := make([][16]byte, 20)
		for i := range ids {
			wait.Go(func() {
				job, err := b.deletion("rg", fmt.Sprint(i))
				if err != nil {
					b.Error(err)
				}
				ids[i] = job.ID
			})
		}
		wait.Wait()
		for _, id := range ids {
			equal(b, id, ids[0])
		}
		b.claimDeletion()
	})
	t.Run("what it remembers", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.ok(b.Deletions.RecordMemberError(b.ctx, Sub, "rg", id("rg", "vm"), "of no deletion"))
		_, err := b.deletion("rg", "x")
		b.ok(err)
		job := b.claimDeletion()
		b.ok(b.Deletions.SaveProgress(b.ctx, &job, "", []inventory.DeletionRecord{{Key: "a", Payload: "1", Error: "first"}, {Key: "b", Payload: "2"}}))
		b.ok(b.Deletions.SaveProgress(b.ctx, &job, "", []inventory.DeletionRecord{{Key: "a", Payload: "3"}}))
		b.ok(b.Deletions.RecordMemberError(b.ctx, Sub, "RG", "B", "told"))
		members, err := b.Deletions.Members(b.ctx, job, "", 1)
		b.ok(err)
		equal(b, members[0], inventory.DeletionRecord{Key: "a", Payload: "3"})
		members, err = b.Deletions.Members(b.ctx, job, "a", 0)
		b.ok(err)
		equal(b, members[0], inventory.DeletionRecord{Key: "b", Payload: "2"})
		for key, want := range map[string]string{"a": "first", "b": "told", "c": "", id("rg", "vm"): ""} {
			got, err := b.Deletions.MemberError(b.ctx, job, key)
			b.ok(err)
			equal(b, got, want)
		}
	})
	t.Run("R13 a stray goes where it is", func(t *testing.T) { testStrayDelete(newBench(t, database)) })
	t.Run("what is learnt", func(t *testing.T) {
		b := newBench(t, database)
		learnt := []inventory.TypeOrder{{Before: "A/b", After: "c/D"}, {Before: "a/a", After: "c/d"}}
		known := func() (text string) {
			orders, err := b.Deletions.TypeOrders(b.ctx, Sub)
			b.ok(err)
			for _, o := range orders {
				text += o.Before + " " + o.After + ", "
			}
			return text
		}
		const month = 30 * 24 * time.Hour
		b.ok(b.Deletions.LearnTypeOrders(b.ctx, Sub, learnt))
		equal(b, known(), "a/a c/d, a/b c/d, ")
		b.clock.Pass(month / 2)
		b.ok(b.Deletions.LearnTypeOrders(b.ctx, Sub, learnt[:1]))
		equal(b, known(), "a/b c/d, a/a c/d, ")
		b.clock.Pass(month / 2)
		equal(b, known(), "a/b c/d, ")
		b.clock.Pass(month / 4)
		many := make([]inventory.TypeOrder, 999)
		for i := range many {
			many[i] = inventory.TypeOrder{Before: fmt.Sprint("m/", i), After: "c/d"}
		}
		b.ok(b.Deletions.LearnTypeOrders(b.ctx, Sub, many))
		equal(b, strings.Count(known(), ","), 1000)
		b.clock.Pass(time.Second)
		b.ok(b.Deletions.LearnTypeOrders(b.ctx, Sub, learnt[1:]))
		equal(b, strings.HasPrefix(known(), "a/a c/d, m/0 c/d, "), true)
		equal(b, strings.Count(known(), ","), 1000)
		equal(b, strings.Contains(known(), "a/b"), false)
	})
}

// A stray's delete keeps its group open, whether the group closes or is given back, and
// does not touch the row of the same ID.
func testStrayDelete(b *bench) {
	b.group("rg")
	b.live("rg", "vm")
	row, err := b.Resource(b.ctx, Sub, id("rg", "vm"))
	b.ok(err)
	elsewhere := inventory.Discovery{ListedSince: b.clock.Now(), Resource: inventory.Resource{
		Subscription: Sub, Group: "rg", ID: id("rg", "vm"), Type: row.Type, Region: "elsewhere",
	}}
	result, err := b.Adopt(b.ctx, elsewhere)
	b.ok(err)
	equal(b, result, inventory.Strayed)
	strays, err := b.Strays.List(b.ctx, Sub, "rg")
	b.ok(err)
	w := inventory.Write{APIVersion: "v"}
	_, err = b.Strays.BeginDelete(b.ctx, strays[0], w)
	refuses[*index.GroupStateError](b, err)
	_, err = b.deletion("rg", "x")
	b.ok(err)
	job := b.claimDeletion()
	first, err := b.Strays.BeginDelete(b.ctx, strays[0], w)
	b.ok(err)
	b.ok(b.Strays.SettleDelete(b.ctx, strays[0], first, inventory.WriteResult{Outcome: index.Ambiguous}))
	open := as[*inventory.GroupNotEmptyError](b, b.Deletions.ReopenGroup(b.ctx, job, jobrow.Failed, "{}", nil))
	equal(b, open.Intents, 1)
	second, err := b.Strays.BeginDelete(b.ctx, strays[0], w)
	b.ok(err)
	b.ok(b.Strays.SettleDelete(b.ctx, strays[0], second, inventory.WriteResult{Outcome: index.Gone}))
	strays2, err := b.Strays.List(b.ctx, Sub, "rg")
	b.ok(err)
	equal(b, len(strays2), 0)
	_, err = b.Strays.BeginDelete(b.ctx, strays[0], w)
	b.is(err, inventory.ErrChanged)
	now, err := b.Resource(b.ctx, Sub, id("rg", "vm"))
	b.ok(err)
	equal(b, now.Generation, row.Generation)
	b.clock.Pass(intentLife)
	b.ok(b.Deletions.ReopenGroup(b.ctx, job, jobrow.Failed, "{}", nil))
}

func testLocks(t *testing.T, database Database) {
	subscription, group, vm := "/subscriptions/"+Sub, "/subscriptions/"+Sub+"/resourceGroups/RG", id("rg", "VM")
	put := func(b *bench, in, scope string, level inventory.LockLevel) {
		b.Helper()
		_, _, err := b.Locks.Edit(b.ctx, Sub, in, scope, "L", func(*inventory.Lock) (*inventory.Lock, error) {
			return &inventory.Lock{ScopeID: scope, Name: "L", Level: level, ETag: "e"}, nil
		})
		b.ok(err)
	}
	t.Run("forbid what their level says", func(t *testing.T) {
		for _, c := range []struct{ in, scope string }{{"", subscription}, {"rg", group}, {"rg", vm}} {
			b := newBench(t, database)
			b.group("rg")
			b.live("rg", "vm")
			b.live("rg", "vm2")
			b.ok(b.checkLocks("rg", vm+"/actions/a", index.Delete))
			put(b, c.in, c.scope, inventory.LockCanNotDelete)
			b.ok(b.checkLocks("rg", vm+"/actions/a", index.Put))
			refuses[*inventory.LockedError](b, b.checkLocks("rg", vm+"/actions/a", index.Delete))
			equal(b, b.checkLocks("", subscription+"/providers/x", index.Delete) == nil, c.in != "")
			b.settle(b.begin(write(index.Put, "rg", "vm")), index.Refused)
			_, err := b.Begin(b.ctx, write(index.Delete, "rg", "vm"))
			locked := as[*inventory.LockedError](b, err)
			equal(b, locked.Scopes()[0], c.scope)
			_, err = b.deletion("rg", "x")
			refuses[*inventory.LockedError](b, err)
			refuses[*inventory.LockedError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
			put(b, c.in, c.scope, inventory.LockReadOnly)
			_, err = b.Begin(b.ctx, write(index.Put, "rg", "vm"))
			refuses[*inventory.LockedError](b, err)
			_, err = b.Begin(b.ctx, write(index.Put, "rg", "vm2"))
			equal(b, err == nil, c.scope == vm)
			b.ok(b.Locks.Delete(b.ctx, Sub, c.in, c.scope, "l", func(inventory.Lock) error { return nil }))
			b.is(b.Locks.Delete(b.ctx, Sub, c.in, c.scope, "l", func(inventory.Lock) error { return nil }), inventory.ErrNotFound)
			b.begin(write(index.Delete, "rg", "vm"))
		}
	})
	t.Run("R10 go with what they stand on", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		_, err := b.deletion("rg", "x")
		b.ok(err)
		job := b.claimDeletion()
		_, _, err = b.Locks.Edit(b.ctx, Sub, "rg", group, "l", nil)
		refuses[*index.GroupStateError](b, err)
		b.ok(b.Deletions.ReopenGroup(b.ctx, job, jobrow.Failed, "{}", nil))
		put(b, "rg", vm+"/disks/d", inventory.LockReadOnly)
		put(b, "rg", vm+"s", inventory.LockReadOnly)
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		locks, err := b.Locks.List(b.ctx, Sub, group, true)
		b.ok(err)
		equal(b, len(locks), 1)
		equal(b, locks[0].ScopeID, vm+"s")
		_, err = b.Locks.Get(b.ctx, Sub, vm, "l")
		b.is(err, inventory.ErrNotFound)
	})
	t.Run("a lock and the deletion of its group at once: one of them is refused", func(t *testing.T) {
		b := newBench(t, database)
		for i := range 20 {
			name := fmt.Sprintf("rg%d", i)
			b.group(name)
			var wait sync.WaitGroup
			var locked, started error
			wait.Go(func() {
				_, _, locked = b.Locks.Edit(b.ctx, Sub, name, "/subscriptions/"+Sub+"/resourceGroups/"+name, "l", func(*inventory.Lock) (*inventory.Lock, error) {
					return &inventory.Lock{Level: inventory.LockCanNotDelete}, nil
				})
			})
			wait.Go(func() { _, started = b.deletion(name, fmt.Sprint(i)) })
			wait.Wait()
			if (locked == nil) == (started == nil) {
				b.Fatalf("lock: %v, deletion: %v", locked, started)
			}
		}
	})
}
