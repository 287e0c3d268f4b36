package webhook

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portico/events"
	"portico/inventory/eventlog"
)

// outside is what is known outside of the process: what a kill leaves.
type outside struct {
	cursor int64
	rows   map[int64]eventlog.SinkEvent
	taken  map[int64]bool
	dead   map[int64]bool
	last   map[string]int64 // of each resource, the last event that was taken
}

// Whatever is taken, fails, is saved, or is killed in which order: no event is lost, and
// those of a resource are first taken in their order.
func TestQueueLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const all, keys = 40, 4
		event := func(n int64) *events.Event {
			return &events.Event{Number: n, Subscription: "s", Key: fmt.Sprint("k", n*n%keys)}
		}
		o := &outside{rows: map[int64]eventlog.SinkEvent{}, taken: map[int64]bool{}, dead: map[int64]bool{}, last: map[string]int64{}}
		mostKept := rapid.IntRange(1, 12).Draw(t, "kept at most")
		now := time.Unix(1000, 0)
		var q *queue
		var under [][]*item
		begin := func() {
			q, under = newQueue(o.cursor, mostKept), nil
			for _, n := range slices.Sorted(maps.Keys(o.rows)) {
				if o.rows[n].State == eventlog.SinkRetrying {
					q.restore(o.rows[n])
				}
			}
		}
		save := func() {
			for i, state := range q.changed {
				o.rows[i.number] = i.row(state)
			}
			for _, row := range q.settled {
				delete(o.rows, row.Number)
			}
			o.cursor = q.cursor()
			q.onSaved()
		}
		taken := func(i *item) {
			if !o.taken[i.number] && !o.dead[i.number] && o.last[i.key] > i.number {
				t.Fatalf("%d of %s first came behind %d", i.number, i.key, o.last[i.key])
			}
			o.taken[i.number], o.last[i.key] = true, max(o.last[i.key], i.number)
		}
		end := func(items []*item, how int) {
			for _, i := range items {
				switch {
				case how == 0:
					taken(i)
					q.drop(i)
				case i.done || i != i.line.head():
				case how == 1:
					i.alone, i.due, i.attempts = true, now.Add(time.Duration(i.attempts+1)*time.Second), i.attempts+1
					q.keepLine(i.line)
					if i.kept {
						q.changed[i] = eventlog.SinkRetrying
					}
				case how == 2: // away
					i.alone, i.due = true, now.Add(time.Second)
				default:
					o.dead[i.number] = true
					q.giveUp(i)
				}
			}
			q.endSending(items)
		}
		send := func() {
			if items := q.takeDue(now, rapid.IntRange(1, 4).Draw(t, "batch")); len(items) > 0 {
				under = append(under, items)
			}
		}
		begin()
		t.Repeat(map[string]func(*rapid.T){
			"read": func(*rapid.T) {
				if q.read < all && len(q.window) < 20 {
					q.read++
					q.add(event(q.read))
				}
			},
			"send": func(*rapid.T) { send() },
			"answer": func(t *rapid.T) {
				if len(under) > 0 {
					n := rapid.IntRange(0, len(under)-1).Draw(t, "which")
					items := under[n]
					under = slices.Delete(under, n, n+1)
					end(items, rapid.IntRange(0, 3).Draw(t, "how"))
				}
			},
			"operator": func(t *rapid.T) {
				i := q.find(int64(rapid.IntRange(1, all).Draw(t, "event")))
				if i == nil {
					return
				}
				if i.line.sending == 0 && i == i.line.head() && rapid.Bool().Draw(t, "gives up") {
					o.dead[i.number] = true
					q.giveUpIdle(i)
					return
				}
				q.trigger(now)
			},
			"wait": func(*rapid.T) { now = now.Add(time.Second) },
			"save": func(*rapid.T) { save() },
			"kill": func(*rapid.T) { begin() },
			"": func(t *rapid.T) {
				if q.kept > mostKept && len(o.rows) == 0 {
					t.Fatalf("%d are kept", q.kept)
				}
				sending := map[string]bool{}
				for _, items := range under {
					mine := map[string]bool{}
					for _, i := range items {
						if sending[i.key] {
							t.Fatalf("two messages at a time for %s", i.key)
						}
						mine[i.key] = true
					}
					maps.Copy(sending, mine)
				}
			},
		})
		// In the end everything is taken.
		for _, items := range under {
			end(items, 0)
		}
		under = nil
		for rounds := 0; q.read < all || len(q.lines) > 0; rounds++ {
			if rounds > 10*all {
				t.Fatalf("it does not end: %d lines at %d", len(q.lines), q.read)
			}
			if q.read < all {
				q.read++
				q.add(event(q.read))
			}
			now = now.Add(time.Minute)
			send()
			for _, items := range under {
				end(items, 0)
			}
			under = nil
		}
		save()
		for n := int64(1); n <= all; n++ {
			if !o.taken[n] && !o.dead[n] {
				t.Fatalf("%d was lost", n)
			}
		}
		for n, row := range o.rows {
			if row.State != eventlog.SinkDead {
				t.Fatalf("%d is left", n)
			}
		}
		if o.cursor != all {
			t.Fatalf("the cursor is %d", o.cursor)
		}
	})
}
