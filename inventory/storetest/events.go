package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/events"
	"portico/inventory"
	"portico/inventory/eventlog"
	"portico/inventory/index"
)

// reported is what events say, in their order: what is left of an action behind the last but
// one slash, and the status.
func (b *bench) reported(found []events.Event) (all []string) {
	b.Helper()
	for _, e := range found {
		text := fmt.Sprintf("%s %s %s", e.Action, e.Status, e.Origin)
		if e.Payload.Resource == "" || e.ID == [16]byte{} || e.At.IsZero() {
			b.Errorf("an event says too little: %+v", e)
		}
		all = append(all, text)
	}
	return all
}

// eventsAfter numbers what there is and returns what is behind a number.
func (b *bench) eventsAfter(number int64) []events.Event {
	b.Helper()
	for {
		n, err := b.Events.Number(b.ctx, 7)
		b.ok(err)
		if n == 0 {
			break
		}
	}
	found, err := b.Events.After(b.ctx, number, 0)
	b.ok(err)
	for i, e := range found {
		if e.Number != number+int64(i)+1 {
			b.Fatalf("number %d follows %d", e.Number, number+int64(i))
		}
	}
	return found
}

func testEvents(t *testing.T, database Database) {
	// says runs steps and compares what they leave.
	says := func(t *testing.T, steps func(b *bench), want ...string) []events.Event {
		t.Helper()
		b := newBench(t, database)
		b.group("rg")
		before := int64(len(b.eventsAfter(0)))
		steps(b)
		found := b.eventsAfter(before)
		if got, want := fmt.Sprint(b.reported(found)), fmt.Sprint(want); got != want {
			t.Errorf("the events are\n%s, want\n%s", got, want)
		}
		return found
	}
	const vms = "Contoso.Compute/virtualMachines"
	t.Run("a write that succeeds, one that is refused, one that is accepted", func(t *testing.T) {
		found := says(t, func(b *bench) {
			ctx := events.With(b.ctx, &events.Cause{ObjectID: "somebody", Correlation: "c"})
			ticket, err := b.Begin(ctx, write(index.Put, "rg", "vm"))
			b.ok(err)
			_, err = b.Settle(ctx, ticket, inventory.WriteResult{Outcome: index.Succeeded, Status: 201})
			b.ok(err)
			b.settle(b.begin(write(index.Put, "rg", "vm")), index.Refused)
			b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Accepted)
		}, vms+"/write Succeeded answer", vms+"/write Failed answer", vms+"/delete Accepted answer")
		if e := found[0]; e.Cause.ObjectID != "somebody" || e.Cause.Correlation != "c" || e.HTTPStatus != 201 || e.Began.IsZero() || e.Key == e.Resource {
			t.Errorf("the first event is %+v", e)
		}
		if found[1].Cause != (events.Cause{}) {
			t.Errorf("an event of no one has the cause of its neighbour: %+v", found[1].Cause)
		}
	})
	t.Run("a write whose answer is lost, and what a GET finds", func(t *testing.T) {
		says(t, func(b *bench) {
			b.begin(write(index.Put, "rg", "vm"))
			b.clock.Pass(intentLife)
			_, err := b.Expire(b.ctx, 10)
			b.ok(err)
			_, _, err = b.Observe(b.ctx, Sub, id("rg", "vm"), b.row("rg", "vm").Generation, inventory.Observation{Found: true, ProvisioningState: "Succeeded"})
			b.ok(err)
		}, vms+"/write Started timeout", vms+"/write Succeeded verification")
	})
	t.Run("a write without a definite answer", func(t *testing.T) {
		says(t, func(b *bench) {
			b.settle(b.begin(write(index.Put, "rg", "vm")), index.Ambiguous)
		}, vms+"/write Started answer")
	})
	t.Run("a GET that settles nothing says nothing", func(t *testing.T) {
		says(t, func(b *bench) {
			row := b.live("rg", "vm")
			_, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{Found: true, ProvisioningState: "Succeeded"})
			b.ok(err)
		}, vms+"/write Succeeded answer")
	})
	t.Run("what a sweep finds", func(t *testing.T) {
		says(t, func(b *bench) { b.adopts(b.discovery("rg", "vm"), inventory.Adopted) }, vms+"/write Succeeded sweep")
	})
	t.Run("Portico's own resources", func(t *testing.T) {
		says(t, func(b *bench) {
			b.group("RG")
			_, err := b.lock("rg", "/subscriptions/"+Sub+"/resourcegroups/rg", "l", inventory.LockCanNotDelete)
			b.ok(err)
			b.ok(b.Locks.Delete(b.ctx, Sub, "rg", "/subscriptions/"+Sub+"/resourcegroups/rg", "l", func(inventory.Lock) error { return nil }))
			b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		}, "Microsoft.Resources/subscriptions/resourceGroups/write Succeeded portico",
			"Microsoft.Authorization/locks/write Succeeded portico", "Microsoft.Authorization/locks/delete Succeeded portico",
			"Microsoft.Resources/subscriptions/resourceGroups/delete Succeeded portico")
	})
	t.Run("a refused change leaves none", func(t *testing.T) {
		says(t, func(b *bench) {
			refuses[*inventory.LocationConflictError](b, func() error {
				b.live("rg", "vm")
				elsewhere := write(index.Put, "rg", "vm")
				elsewhere.Region, elsewhere.Location = "eastus", "eastus"
				return b.begins(elsewhere)
			}())
		}, vms+"/write Succeeded answer")
	})
	t.Run("retention", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) { o.EventAge, o.MostEvents = time.Hour, 3 })
		b.group("rg")
		for range 5 {
			b.live("rg", "vm")
		}
		all := b.eventsAfter(0)
		last := all[len(all)-1].Number
		n, err := b.forgetEvents(100)
		b.ok(err)
		equal(b, n, len(all)-3)
		forgotten := as[*eventlog.ForgottenError](b, func() error { _, err := b.Events.After(b.ctx, 0, 0); return err }())
		equal(b, forgotten.First, last-2)
		left, err := b.Events.After(b.ctx, last-3, 0)
		b.ok(err)
		equal(b, len(left), 3)
		b.clock.Pass(2 * time.Hour)
		n, err = b.forgetEvents(100)
		b.ok(err)
		equal(b, n, 3)
		b.live("rg", "vm")
		equal(b, b.eventsAfter(last)[0].Number, last+1)
	})
	t.Run("too many events of one subscription end no one else's", func(t *testing.T) {
		const most, noisy = 20, "00000000-0000-0000-0000-0000000000a2"
		b := newBench(t, database, func(o *inventory.Options) { o.MostEvents = most })
		b.ok(b.SeedSubscriptions(b.ctx, []inventory.Subscription{{ID: noisy, TenantID: "t"}}))
		b.group("rg")
		define := func(sub string, n int) {
			for i := range n {
				_, _, err := b.Tags.Define(b.ctx, sub, fmt.Sprint("tag", i), "", anyTag, nil)
				b.ok(err)
			}
		}
		define(noisy, 100)
		b.live("rg", "vm")
		all := b.eventsAfter(0)
		quiet, err := b.Events.OfSubscription(b.ctx, Sub, 0, 0)
		b.ok(err)
		newestOfNoisy, err := b.Events.OfSubscription(b.ctx, noisy, 0, 1)
		b.ok(err)
		for { // a few at a time
			n, err := b.forgetEvents(7)
			b.ok(err)
			if n == 0 {
				break
			}
		}
		left, err := b.Events.OfSubscription(b.ctx, Sub, 0, 0)
		b.ok(err)
		equal(b, len(left), len(quiet))
		ofNoisy, err := b.Events.OfSubscription(b.ctx, noisy, 0, 0)
		b.ok(err)
		equal(b, len(left)+len(ofNoisy), most)
		equal(b, ofNoisy[0].Number, newestOfNoisy[0].Number)
		counts, err := b.Events.Count(b.ctx)
		b.ok(err)
		equal(b, counts, eventlog.Counts{Kept: most})
		// Whoever is before what was forgotten is told, though earlier ones are kept, and
		// whoever is behind it misses nothing.
		forgotten := as[*eventlog.ForgottenError](b, func() error { _, err := b.Events.After(b.ctx, left[len(left)-1].Number, 0); return err }())
		equal(b, forgotten.First, ofNoisy[len(ofNoisy)-1].Number)
		behind, err := b.Events.After(b.ctx, forgotten.First-1, 0)
		b.ok(err)
		for i, e := range behind {
			equal(b, e.Number, forgotten.First+int64(i))
		}
		equal(b, behind[len(behind)-1].Number, all[len(all)-1].Number)
		// Where several have many, the fewest are as safe as before.
		define(Sub, 50)
		for range 20 {
			_, err := b.forgetEvents(5)
			b.ok(err)
		}
		counts, err = b.Events.Count(b.ctx)
		b.ok(err)
		equal(b, counts.Kept, int64(most))
		for _, sub := range []string{Sub, noisy} {
			of, err := b.Events.OfSubscription(b.ctx, sub, 0, 0)
			b.ok(err)
			if len(of) < most/2-1 || len(of) > most/2+1 {
				t.Errorf("%s keeps %d events of %d", sub, len(of), most)
			}
		}
	})
	t.Run("time ends also what is rare", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) { o.EventAge, o.MostEvents = time.Hour, 10 })
		b.group("rg")
		for i := range 30 {
			b.clock.Pass(time.Minute)
			b.live("rg", fmt.Sprint("vm", i))
		}
		for range 10 {
			_, err := b.forgetEvents(9)
			b.ok(err)
		}
		b.clock.Pass(time.Hour - 5*time.Minute + time.Second)
		n, err := b.forgetEvents(100)
		b.ok(err)
		equal(b, n, 5) // of ten, one a minute
		b.clock.Pass(time.Hour)
		n, err = b.forgetEvents(100)
		b.ok(err)
		equal(b, n, 5)
		counts, err := b.Events.Count(b.ctx)
		b.ok(err)
		equal(b, counts, eventlog.Counts{})
	})
	t.Run("a number is on disk before it is read", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.eventsAfter(0)
		b.live("rg", "vm")
		before := b.Stats().Flushes
		n, err := b.Events.Number(b.ctx, 100)
		b.ok(err)
		equal(b, n, 1)
		equal(b, b.Stats().Flushes-before, uint64(1))
	})
	t.Run("what waits to be numbered is counted", func(t *testing.T) {
		b := newBench(t, database)
		b.eventsAfter(0)
		b.group("rg")
		b.clock.Pass(time.Minute)
		b.live("rg", "vm")
		counts, err := b.Events.Count(b.ctx)
		b.ok(err)
		equal(b, counts.Waiting, int64(2))
		equal(b, counts.Oldest, time.Minute)
	})
	t.Run("of a subscription, of a resource", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.live("rg", "other")
		all := b.eventsAfter(0)
		of, err := b.Events.OfSubscription(b.ctx, Sub, 0, 2)
		b.ok(err)
		equal(b, of[0].Number, all[len(all)-1].Number)
		equal(b, len(of), 2)
		at, err := b.Events.OfResource(b.ctx, Sub, id("rg", "vm"), 0, 10)
		b.ok(err)
		equal(b, len(at), 1)
		equal(b, at[0].Resource, id("rg", "vm"))
	})
}

// apart is by how much the clocks of two stores differ: by no more than their writes are
// given, or one would end those of the other.
const apart = 3 * time.Minute

// longestLag is for how long events are left to be numbered.
const longestLag = 200 * time.Millisecond

// follower reads events while they are written and numbered: none is missing, none comes
// twice, none appears behind the last one that was read.
type follower struct {
	b    *bench
	last int64
	take func(events.Event)
}

func (f *follower) read() {
	f.b.Helper()
	found, err := f.b.Events.After(f.b.ctx, f.last, 0)
	f.b.ok(err)
	for _, e := range found {
		if f.last++; e.Number != f.last {
			f.b.Fatalf("number %d follows %d", e.Number, f.last-1)
		}
		f.take(e)
	}
}

// during lets two stores number what writers write, some events at a time, while the
// follower reads; then it reads the rest.
func (f *follower) during(pair [2]*bench, writers ...func()) {
	f.b.Helper()
	f.last = int64(len(pair[0].eventsAfter(0)))
	var writing, numbering sync.WaitGroup
	written := make(chan struct{})
	for _, write := range writers {
		writing.Go(write)
	}
	for _, b := range pair {
		numbering.Go(func() {
			for {
				if _, err := b.Events.Number(b.ctx, 20); err != nil {
					b.Error(err)
					return
				}
				// Meanwhile several changes of one resource are recorded, through both stores.
				select {
				case <-written:
					return
				case <-time.After(rand.N(longestLag)):
				}
			}
		})
	}
	go func() { writing.Wait(); close(written) }()
	for reading := true; reading; {
		select {
		case <-written:
			reading = false
		default:
		}
		f.read()
	}
	numbering.Wait()
	pair[0].eventsAfter(f.last)
	f.read()
}

// testEventsInOrder lets many writers change few resources through two stores whose clocks
// are minutes apart: of one resource events come in the order of its changes.
func testEventsInOrder(t *testing.T, database Database) {
	pair := newPair(t, database)
	pair[1].clock.Pass(apart)
	pair[0].group("rg")
	const resources, writers, each = 4, 3, 8 // writers of each resource
	var writes []func()
	for n := range resources {
		var mu sync.Mutex // decides the order of changes
		changes := 0
		change := func(b *bench) {
			mu.Lock()
			defer mu.Unlock()
			ticket, err := b.Begin(b.ctx, write(index.Put, "rg", fmt.Sprint("vm", n)))
			if err == nil {
				_, err = b.Settle(b.ctx, ticket, inventory.WriteResult{Outcome: index.Succeeded, Status: 200 + changes})
			}
			if err != nil {
				b.Error(err)
			}
			changes++
		}
		for w := range writers {
			writes = append(writes, func() {
				for i := range each {
					change(pair[(w+i)%2])
				}
			})
		}
	}
	next := map[string]int{}
	f := follower{b: pair[1], take: func(e events.Event) {
		if e.HTTPStatus != 200+next[e.Key] {
			t.Fatalf("of %s the change %d follows the change %d", e.Key, e.HTTPStatus-200, next[e.Key]-1)
		}
		next[e.Key]++
	}}
	f.during(pair, writes...)
	equal(pair[0], len(next), resources)
	for key, n := range next {
		if n != writers*each {
			t.Errorf("of %s there are %d events", key, n)
		}
	}
}

// testOwnEventsInOrder creates and deletes resources of Portico's own through two stores whose
// clocks are minutes apart, at once: replayed, the events say what there is, and none goes
// that has not come.
func testOwnEventsInOrder(t *testing.T, database Database) {
	pair := newPair(t, database)
	pair[1].clock.Pass(apart)
	pair[0].group("rg")
	const scope = "/subscriptions/" + Sub + "/resourcegroups/rg"
	kinds := []struct {
		action     string
		come, goes func(b *bench, n int) error
	}{
		{"Microsoft.Resources/subscriptions/resourceGroups", func(b *bench, n int) error {
			_, _, err := b.EditGroup(b.ctx, Sub, fmt.Sprint("own", n), func(*inventory.Group) (*inventory.Group, error) {
				return &inventory.Group{Location: "westus"}, nil
			})
			return err
		}, func(b *bench, n int) error {
			return b.DeleteGroup(b.ctx, Sub, fmt.Sprint("own", n), inventory.DeleteGroupConditions{})
		}},
		{"Microsoft.Authorization/locks", func(b *bench, n int) error {
			_, err := b.lock("rg", scope, fmt.Sprint("l", n), inventory.LockCanNotDelete)
			return err
		}, func(b *bench, n int) error {
			return b.Locks.Delete(b.ctx, Sub, "rg", scope, fmt.Sprint("l", n), func(inventory.Lock) error { return nil })
		}},
		{"Microsoft.Resources/subscriptions/tagNames", func(b *bench, n int) error {
			_, _, err := b.Tags.Define(b.ctx, Sub, fmt.Sprint("t", n), "", anyTag, nil)
			return err
		}, func(b *bench, n int) error {
			_, err := b.Tags.Remove(b.ctx, Sub, fmt.Sprint("t", n), "", anyTag)
			return err
		}},
		{"Microsoft.Authorization/roleAssignments", func(b *bench, n int) error {
			return b.assign(scope, n, fmt.Sprint("p", n), "acdd72a7-3385-48ef-bd42-f606fba81ae7")
		}, func(b *bench, n int) error { return b.unassign(scope, n) }},
	}
	const each, steps = 2, 20
	var writes []func()
	for _, kind := range kinds {
		for n := range each {
			for _, b := range pair {
				writes = append(writes, func() {
					for i := range steps {
						step := kind.come
						if i%2 == 1 {
							step = kind.goes
						}
						// The other may have been faster.
						if err := step(b, n+1); err != nil && !errors.Is(err, inventory.ErrNotFound) {
							b.Errorf("%s: %v", kind.action, err)
						}
					}
				})
			}
		}
	}
	stands, went := map[string]bool{}, map[string]int{}
	f := follower{b: pair[0], take: func(e events.Event) {
		action, deleted := strings.CutSuffix(e.Action, "/delete")
		if deleted {
			if went[action]++; !stands[e.Key] {
				t.Fatalf("%s goes, and has not come", e.Key)
			}
		}
		stands[e.Key] = !deleted
	}}
	f.during(pair, writes...)
	for _, kind := range kinds {
		if went[kind.action] == 0 {
			t.Errorf("no event says that one of %s goes", kind.action)
		}
	}
	for n := range each {
		_, err := pair[0].Group(pair[0].ctx, Sub, fmt.Sprint("own", n+1))
		equal(pair[0], stands[fmt.Sprintf("/subscriptions/%s/resourcegroups/own%d", Sub, n+1)], err == nil)
	}
}

// testEventsTellTheIndex holds events to the index: what they say of a resource, replayed,
// is what the index knows of it, whatever answers came, were lost or were overtaken.
func testEventsTellTheIndex(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	seen := int64(len(b.eventsAfter(0)))
	names := []string{"a", "b", "c"}
	exists := map[string]bool{} // as the events say
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var steps []string
	var open []inventory.Ticket
	step := func() {
		name := names[random.IntN(len(names))]
		row, err := b.Resource(b.ctx, Sub, id("rg", name))
		known := err == nil
		switch n := random.IntN(10); {
		case n < 5:
			kind := []index.WriteKind{index.Put, index.Put, index.Delete, index.Patch}[random.IntN(4)]
			ticket, err := b.Begin(b.ctx, write(kind, "rg", name))
			if err != nil {
				return // a PATCH of nothing
			}
			open = append(open, ticket)
			steps = append(steps, fmt.Sprint("begin ", kind, " ", name))
		case n < 8 && len(open) > 0:
			i := random.IntN(len(open))
			ticket := open[i]
			open = append(open[:i:i], open[i+1:]...)
			outcomes := []index.Outcome{index.Ambiguous, index.NotSent, index.Refused, index.Accepted, index.Succeeded, index.Succeeded, index.Succeeded}
			outcome := outcomes[random.IntN(len(outcomes))]
			if outcome == index.Succeeded && ticket.Kind == index.Delete {
				outcome = index.Gone
			}
			steps = append(steps, fmt.Sprint("settle ", ticket.Kind, " ", ticket.ID[len(ticket.ID)-1:], " ", outcome))
			b.settle(ticket, outcome)
		case n == 8:
			steps = append(steps, "time passes")
			b.clock.Pass(intentLife)
			_, err := b.Expire(b.ctx, 100)
			b.ok(err)
		case known:
			seen := inventory.Observation{Found: random.IntN(2) == 0}
			if seen.Found {
				seen.ProvisioningState = []string{"", "Failed", "Updating"}[random.IntN(3)]
			}
			steps = append(steps, fmt.Sprint("observe ", name, " ", seen.Found, " ", seen.ProvisioningState))
			_, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, seen)
			b.ok(err)
		}
	}
	for range 400 {
		step()
		for _, e := range b.eventsAfter(seen) {
			seen = e.Number
			if is, reported := e.Exists(); reported {
				exists[e.Resource[len(e.Resource)-1:]] = is
			}
		}
		for _, name := range names {
			row, err := b.Resource(b.ctx, Sub, id("rg", name))
			switch {
			case errors.Is(err, inventory.ErrNotFound) && exists[name]:
				t.Fatalf("the events say that %s exists, the index does not know it, after\n%s", name, strings.Join(steps, "\n"))
			case err == nil && !row.NeedsVerify() && !row.FollowPut && !exists[name]:
				t.Fatalf("the index holds %s, and no event says so, after\n%s", name, strings.Join(steps, "\n"))
			}
		}
	}
}

// forgetEvents numbers and forgets events as housekeeping does. It returns how many it has
// forgotten.
func (b *bench) forgetEvents(limit int) (int, error) {
	if _, err := b.Events.Number(b.ctx, limit); err != nil {
		return 0, err
	}
	return b.Events.Forget(b.ctx, limit)
}
