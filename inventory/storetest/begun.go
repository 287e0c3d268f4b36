package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"portico/arm"
	"portico/events"
	"portico/inventory"
	"portico/inventory/index"
)

// by is a context whose changes somebody makes.
func (b *bench) by(who string) context.Context {
	return events.With(b.ctx, &events.Cause{ObjectID: who, Correlation: "of " + who, Request: "request of " + who})
}

func (b *bench) beginBy(who string, w inventory.Write) inventory.Ticket {
	b.Helper()
	ticket, err := b.Begin(b.by(who), w)
	b.ok(err)
	return ticket
}

func (b *bench) settleBy(who string, ticket inventory.Ticket, a inventory.WriteResult) inventory.SettleResult {
	b.Helper()
	result, err := b.Settle(b.by(who), ticket, a)
	b.ok(err)
	return result
}

// seen records a read of the machine by another caller, which shows a state; "" shows none.
func (b *bench) seen(state string) {
	b.Helper()
	row := b.row("rg", "vm")
	_, _, err := b.Observe(b.by("reader"), Sub, row.Key, row.Generation, inventory.Observation{Found: state != "", ProvisioningState: state})
	b.ok(err)
}

// story is what events say, and of whom.
func story(found []events.Event) string {
	var all []string
	for _, e := range found {
		verb := e.Action[strings.LastIndexByte(e.Action, '/')+1:]
		text := fmt.Sprintf("%s %s by %s", verb, e.Status, e.Cause.ObjectID)
		if e.Cause.ObjectID != "" && (e.Cause.Correlation != "of "+e.Cause.ObjectID || e.Cause.Request != "request of "+e.Cause.ObjectID) {
			text += " of another request"
		}
		if e.Error != nil {
			text += ": " + string(e.Error.Code)
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// The end of a write is told of who began it, whoever learns of it, and how: by a job, by
// another caller's GET, after a restart.
func testEventsNameWhoBegan(t *testing.T, database Database) {
	accepted := inventory.WriteResult{Outcome: index.Accepted, Status: 202}
	why := &arm.Error{Code: "NoCores", Message: "there are none"}
	for _, c := range []struct {
		name  string
		steps func(b *bench)
		want  string
	}{
		{"an accepted create that succeeds", func(b *bench) {
			ticket := b.beginBy("ann", write(index.Put, "rg", "vm"))
			b.follow(ticket, b.settleBy("ann", ticket, accepted).Follow, nil)
			b.seen("Succeeded")
			b.seen("Succeeded")
		}, "write Accepted by ann\nwrite Succeeded by ann"},
		{"one that fails, and is there", func(b *bench) {
			ticket := b.beginBy("ann", write(index.Put, "rg", "vm"))
			b.follow(ticket, b.settleBy("ann", ticket, accepted).Follow, why)
			b.seen("Failed")
		}, "write Accepted by ann\nwrite Failed by ann: NoCores\nwrite Succeeded by "},
		{"one that fails, and is not there", func(b *bench) {
			ticket := b.beginBy("ann", write(index.Put, "rg", "vm"))
			b.follow(ticket, b.settleBy("ann", ticket, accepted).Follow, why)
			b.seen("")
		}, "write Accepted by ann\nwrite Failed by ann: NoCores"},
		{"a delete that succeeds", func(b *bench) {
			b.live("rg", "vm")
			ticket := b.beginBy("ann", write(index.Delete, "rg", "vm"))
			b.follow(ticket, b.settleBy("ann", ticket, accepted).Follow, nil)
			b.seen("")
		}, "write Succeeded by \ndelete Accepted by ann\ndelete Succeeded by ann"},
		{"a delete that fails", func(b *bench) {
			b.live("rg", "vm")
			ticket := b.beginBy("ann", write(index.Delete, "rg", "vm"))
			b.follow(ticket, b.settleBy("ann", ticket, accepted).Follow, why)
			b.seen("Succeeded")
		}, "write Succeeded by \ndelete Accepted by ann\ndelete Failed by ann: NoCores\nwrite Succeeded by "},
		{"an accepted PATCH that succeeds, and does not show before its end", func(b *bench) {
			b.live("rg", "vm")
			ticket := b.beginBy("ann", write(index.Patch, "rg", "vm"))
			follow := b.settleBy("ann", ticket, accepted).Follow
			b.seen("Succeeded") // a GET ends no PATCH
			equal(b, b.row("rg", "vm").FollowPatch, true)
			b.follow(ticket, follow, nil)
			equal(b, b.row("rg", "vm").Verify, true)
			b.seen("Succeeded")
			equal(b, b.row("rg", "vm").Verify || b.row("rg", "vm").FollowPatch, false)
		}, "write Succeeded by \nwrite Accepted by ann\nwrite Succeeded by ann"},
		{"an accepted PATCH that fails, and its resource does not show that", func(b *bench) {
			b.live("rg", "vm")
			ticket := b.beginBy("ann", write(index.Patch, "rg", "vm"))
			b.follow(ticket, b.settleBy("ann", ticket, accepted).Follow, why)
			b.seen("Succeeded")
		}, "write Succeeded by \nwrite Accepted by ann\nwrite Failed by ann: NoCores"},
		{"a write whose sender dies", func(b *bench) {
			b.beginBy("ann", write(index.Put, "rg", "vm"))
			b.clock.Pass(intentLife)
			_, err := b.Expire(b.by("a job"), 10)
			b.ok(err)
			b.seen("Succeeded")
		}, "write Started by ann\nwrite Succeeded by ann"},
		{"one that no one answers", func(b *bench) {
			b.settleBy("ann", b.beginBy("ann", write(index.Put, "rg", "vm")), inventory.WriteResult{Outcome: index.Ambiguous})
			b.seen("Succeeded")
		}, "write Started by ann\nwrite Succeeded by ann"},
		{"two at a time", func(b *bench) {
			ticket := b.beginBy("ann", write(index.Put, "rg", "vm"))
			follow := b.settleBy("ann", ticket, accepted).Follow
			b.settleBy("bob", b.beginBy("bob", write(index.Put, "rg", "vm")), inventory.WriteResult{Outcome: index.Refused, Status: 409, Error: why})
			b.follow(ticket, follow, nil)
			b.seen("Succeeded")
		}, "write Accepted by ann\nwrite Failed by bob: NoCores\nwrite Succeeded by ann"},
		{"a resource that goes with the one above it", func(b *bench) {
			b.live("rg", "vm")
			ticket, err := b.Begin(b.ctx, disk(index.Put, "rg", "vm", "d"))
			b.ok(err)
			b.settle(ticket, index.Succeeded)
			b.settleBy("ann", b.beginBy("ann", write(index.Delete, "rg", "vm")), inventory.WriteResult{Outcome: index.Gone, Status: 200})
			row, err := b.Resource(b.ctx, Sub, ticket.Key)
			b.ok(err)
			_, _, err = b.Observe(b.by("reader"), Sub, row.Key, row.Generation, inventory.Observation{})
			b.ok(err)
		}, "write Succeeded by \nwrite Succeeded by \ndelete Succeeded by ann\ndelete Succeeded by ann"},
		{"a write that a delete without an answer overtakes", func(b *bench) {
			b.live("rg", "vm")
			b.settleBy("ann", b.beginBy("ann", write(index.Delete, "rg", "vm")), inventory.WriteResult{Outcome: index.Ambiguous, Status: 502, Error: why})
			b.settleBy("bob", b.beginBy("bob", write(index.Put, "rg", "vm")), inventory.WriteResult{Outcome: index.Succeeded, Status: 200})
			b.clock.Pass(intentLife)
			_, err := b.Expire(b.by("a job"), 10)
			b.ok(err)
			b.seen("")
		}, "write Succeeded by \ndelete Started by ann: NoCores\nwrite Succeeded by bob\ndelete Started by ann\ndelete Succeeded by ann\nwrite Failed by bob"},
		{"a resource that somebody looks at, and it is gone", func(b *bench) {
			b.live("rg", "vm")
			b.seen("")
		}, "write Succeeded by \ndelete Succeeded by "},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, database)
			b.group("rg")
			before := int64(len(b.eventsAfter(0)))
			c.steps(b)
			found := b.eventsAfter(before)
			if got := story(found); got != c.want {
				t.Errorf("the events are\n%s\nwant\n%s", got, c.want)
			}
			exists := map[string]bool{}
			for _, e := range found {
				if e.Cause.ObjectID == "reader" {
					t.Errorf("who reads changes nothing: %+v", e)
				}
				if is, reported := e.Exists(); reported {
					exists[e.Key] = is
				}
			}
			for key, is := range exists {
				if _, err := b.Resource(b.ctx, Sub, key); is != (err == nil) {
					t.Errorf("the events say that %s exists: %t; the index says otherwise", key, is)
				}
			}
		})
	}
}

// follow ends the operation of an accepted write.
func (b *bench) follow(ticket inventory.Ticket, follow [16]byte, why *arm.Error) {
	b.Helper()
	_, err := b.Follows.End(b.by("a job"), ticket.Subscription, ticket.Key, ticket.Kind, follow, why)
	b.ok(err)
}
