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
	"portico/inventory/index"
)

// told is what events say, in their order: what is left of an action behind the last but
// one slash, and the status.
func (b *bench) told(found []events.Event) (all []string) {
	b.Helper()
	for _, e := range found {
		text := fmt.Sprintf("%s %s %s", e.Action, e.Status, e.Origin)
		if e.Told.Resource == "" || e.ID == [16]byte{} || e.At.IsZero() {
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
		n, err := b.NumberEvents(b.ctx, 7)
		b.ok(err)
		if n == 0 {
			break
		}
	}
	found, err := b.EventsAfter(b.ctx, number, 0)
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
		if got, want := fmt.Sprint(b.told(found)), fmt.Sprint(want); got != want {
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
			_, err = b.Settle(ctx, ticket, inventory.Answer{Outcome: index.Succeeded, Status: 201})
			b.ok(err)
			b.settle(b.begin(write(index.Put, "rg", "vm")), index.Refused)
			b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Accepted)
		}, vms+"/write Succeeded answer", vms+"/write Failed answer", vms+"/delete Accepted answer")
		if e := found[0]; e.Cause.ObjectID != "somebody" || e.Cause.Correlation != "c" || e.HTTPStatus != 201 || e.Began.IsZero() || e.Key == e.Resource {
			t.Errorf("the first event is %+v", e)
		}
		if found[1].Cause != (events.Cause{}) {
			t.Errorf("an event of nobody has the cause of its neighbour: %+v", found[1].Cause)
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
			b.ok(b.DeleteLock(b.ctx, Sub, "rg", "/subscriptions/"+Sub+"/resourcegroups/rg", "l", func(inventory.Lock) error { return nil }))
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
		n, err := b.ForgetEvents(b.ctx, 100)
		b.ok(err)
		equal(b, n, len(all)-3)
		forgotten := as[*inventory.EventsForgottenError](b, func() error { _, err := b.EventsAfter(b.ctx, 0, 0); return err }())
		equal(b, forgotten.First, last-2)
		left, err := b.EventsAfter(b.ctx, last-3, 0)
		b.ok(err)
		equal(b, len(left), 3)
		b.clock.Pass(2 * time.Hour)
		n, err = b.ForgetEvents(b.ctx, 100)
		b.ok(err)
		equal(b, n, 3)
		b.live("rg", "vm")
		equal(b, b.eventsAfter(last)[0].Number, last+1)
	})
	t.Run("of a subscription, of a resource", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.live("rg", "other")
		all := b.eventsAfter(0)
		of, err := b.SubscriptionEvents(b.ctx, Sub, 0, 2)
		b.ok(err)
		equal(b, of[0].Number, all[len(all)-1].Number)
		equal(b, len(of), 2)
		at, err := b.ResourceEvents(b.ctx, Sub, id("rg", "vm"), 0, 10)
		b.ok(err)
		equal(b, len(at), 1)
		equal(b, at[0].Resource, id("rg", "vm"))
	})
}

// testEventsInOrder has several stores write, and number, while a reader goes on from the
// last number that it saw: it misses none, sees none twice, and of one resource in the
// order of its changes.
func testEventsInOrder(t *testing.T, database Database) {
	pair := newPair(t, database)
	pair[0].group("rg")
	seen := int64(len(pair[0].eventsAfter(0)))
	const writers, each = 6, 15
	var writing, numbering sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			b := pair[w%2]
			for i := range each {
				ticket, err := b.Begin(b.ctx, write(index.Put, "rg", fmt.Sprint("vm", w)))
				if err == nil {
					_, err = b.Settle(b.ctx, ticket, inventory.Answer{Outcome: index.Succeeded, Status: 200 + i})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	for _, b := range pair {
		numbering.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := b.NumberEvents(b.ctx, 5); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	next := map[string]int{}
	read := func() {
		found, err := pair[1].EventsAfter(pair[1].ctx, seen, 0)
		pair[1].ok(err)
		for _, e := range found {
			if e.Number != seen+1 {
				t.Fatalf("number %d follows %d", e.Number, seen)
			}
			if e.HTTPStatus != 200+next[e.Key] {
				t.Fatalf("of %s the change %d follows the change %d", e.Key, e.HTTPStatus-200, next[e.Key]-1)
			}
			seen++
			next[e.Key]++
		}
	}
	finished := make(chan struct{})
	go func() { writing.Wait(); close(finished) }()
	for running := true; running; {
		select {
		case <-finished:
			running = false
		default:
		}
		read()
	}
	close(done)
	numbering.Wait()
	pair[0].eventsAfter(0)
	read()
	equal(pair[0], len(next), writers)
	for key, n := range next {
		if n != each {
			t.Errorf("of %s there are %d events", key, n)
		}
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
			found := random.IntN(2) == 0
			steps = append(steps, fmt.Sprint("observe ", name, " ", found))
			_, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{Found: found})
			b.ok(err)
		}
	}
	for range 400 {
		step()
		for _, e := range b.eventsAfter(seen) {
			seen = e.Number
			if e.Status == events.Succeeded && !e.InDoubt {
				exists[e.Resource[len(e.Resource)-1:]] = e.Action == "Contoso.Compute/virtualMachines/write"
			}
		}
		for _, name := range names {
			row, err := b.Resource(b.ctx, Sub, id("rg", name))
			switch {
			case errors.Is(err, inventory.ErrNotFound) && exists[name]:
				t.Fatalf("the events say that %s exists, the index does not know it, after\n%s", name, strings.Join(steps, "\n"))
			case err == nil && row.Phase == index.Live && !row.Verify && !exists[name]:
				t.Fatalf("the index holds %s, and no event says so, after\n%s", name, strings.Join(steps, "\n"))
			}
		}
	}
}
