package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/eventlog"
	"portico/inventory/jobrow"
)

// addSinkJob adds the job of the sink s.
func (b *bench) addSinkJob() (id [16]byte) {
	b.Helper()
	id = jobrow.ID(eventlog.SinkJob, "s")
	_, err := b.Jobs.Add(b.ctx, jobrow.Job{ID: id, Kind: eventlog.SinkJob, Subject: "s", Payload: `{}`})
	b.ok(err)
	return id
}

// claimSinkJob claims that job, which is due.
func (b *bench) claimSinkJob() jobrow.Job {
	b.Helper()
	jobs, err := b.Jobs.Claim(b.ctx, "owner", lease, 1, eventlog.SinkJob)
	b.ok(err)
	equal(b, len(jobs), 1)
	return jobs[0]
}

// What a sink has not taken is recorded with how far it has come, by the holder of its job
// alone; what was given up is an operator's.
func testSinkEvents(t *testing.T, database Database) {
	b := newBench(t, database)
	id := b.addSinkJob()
	claim := b.claimSinkJob
	since := b.Now().Truncate(time.Microsecond)
	event := func(number int64, state eventlog.SinkEventState) eventlog.SinkEvent {
		return eventlog.SinkEvent{
			Sink: "s", Subscription: Sub, Number: number, Key: "/k", State: state, Attempts: number, Since: since, Due: since.Add(time.Minute),
			Status: 500, Failure: "failed",
		}
	}
	numbers := func(state eventlog.SinkEventState, after int64, limit int) string {
		t.Helper()
		var all []int64
		found, err := b.Sinks.Events(b.ctx, "s", state, after, limit)
		b.ok(err)
		for _, e := range found {
			all = append(all, e.Number)
			if want := event(e.Number, state); state == eventlog.SinkRetrying {
				e.Changed, e.Since, e.Due, want.Since, want.Due = time.Time{}, e.Since.UTC(), e.Due.UTC(), want.Since.UTC(), want.Due.UTC()
				equal(b, e, want)
			}
		}
		return fmt.Sprint(all)
	}
	first := claim()
	var kept []eventlog.SinkEvent
	for n := int64(1); n <= 6; n++ {
		kept = append(kept, event(n, eventlog.SinkEventState(n%2)))
	}
	b.ok(b.Sinks.Save(b.ctx, &first, eventlog.SinkChanges{Payload: `{"progress":{"cursor":6}}`, Kept: kept}))
	equal(b, first.Payload, `{"progress":{"cursor":6}}`)
	equal(b, numbers(eventlog.SinkRetrying, 2, 0), "[4 6]")
	equal(b, numbers(eventlog.SinkDead, 0, 2), "[1 3]")

	b.ok(b.Sinks.Save(b.ctx, &first, eventlog.SinkChanges{
		Payload: `{"progress":{"cursor":7}}`, Kept: []eventlog.SinkEvent{event(2, eventlog.SinkDead)}, Settled: []eventlog.SinkEvent{event(4, 0)},
	}))
	equal(b, numbers(eventlog.SinkRetrying, 0, 0), "[6]")

	// Another holds the job: the former holder records nothing any more.
	b.ok(b.Jobs.Defer(b.ctx, first, since, ""))
	second := claim()
	late := eventlog.SinkChanges{Payload: `{}`, Kept: []eventlog.SinkEvent{event(9, 0)}, Settled: []eventlog.SinkEvent{event(6, 0)}}
	if err := b.Sinks.Save(b.ctx, &first, late); !errors.Is(err, jobrow.ErrLeaseLost) {
		t.Errorf("a former holder: %v", err)
	}
	equal(b, numbers(eventlog.SinkRetrying, 0, 0), "[6]")
	equal(b, b.loadJob(id).Payload, `{"progress":{"cursor":7}}`)

	// An operator changes only what was given up.
	for number, want := range map[int64]int{6: 0, 8: 0, 1: 1} {
		n, err := b.Sinks.Replay(b.ctx, "s", number)
		b.ok(err)
		equal(b, n, want)
		if gone, err := b.Sinks.DeleteDead(b.ctx, "s", number); err != nil || gone {
			t.Errorf("%d is none that was given up, and was deleted: %v", number, err)
		}
	}
	gone, err := b.Sinks.DeleteDead(b.ctx, "s", 2)
	b.ok(err)
	equal(b, gone, true)
	n, err := b.Sinks.Replay(b.ctx, "s", 0)
	b.ok(err)
	equal(b, n, 2)
	counts, err := b.Sinks.Count(b.ctx, "s")
	b.ok(err)
	equal(b, counts, [3]int{eventlog.SinkRetrying: 1, eventlog.SinkReplayed: 3})

	b.ok(b.Sinks.Save(b.ctx, &second,
		eventlog.SinkChanges{Payload: `{}`, Kept: []eventlog.SinkEvent{event(3, eventlog.SinkDead), event(5, eventlog.SinkDead)}}))
	n, err = b.Sinks.ForgetDead(b.ctx, "s", 5)
	b.ok(err)
	equal(b, n, 1)
	equal(b, numbers(eventlog.SinkDead, 0, 0), "[5]")
	all, err := b.Sinks.Forget(b.ctx, "s")
	b.ok(err)
	equal(b, all, true)
	counts, err = b.Sinks.Count(b.ctx, "s")
	b.ok(err)
	equal(b, counts, [3]int{})
}

// An order is answered by the holder of the sink's job alone, together with what comes of
// it; one that was withdrawn is answered by no one.
func testSinkOrders(t *testing.T, database Database) {
	b := newBench(t, database)
	id := b.addSinkJob()
	claim := b.claimSinkJob
	order := func(sink string, number int64) eventlog.SinkOrder {
		t.Helper()
		o, err := b.Sinks.PutOrder(b.ctx, eventlog.SinkOrder{Sink: sink, Number: number, Step: eventlog.GiveUpSink, Reason: "ticket 4711"})
		b.ok(err)
		return o
	}
	given := func(o eventlog.SinkOrder) eventlog.SinkChanges {
		o.Answer, o.Behind = "done", 3
		return eventlog.SinkChanges{Payload: `{"n":1}`, Answered: []eventlog.SinkOrder{o}, Kept: []eventlog.SinkEvent{
			{Subscription: Sub, Number: o.Number, Key: "/k", State: eventlog.SinkDead, Reason: o.Reason},
		}}
	}
	dead := func() int {
		t.Helper()
		counts, err := b.Sinks.Count(b.ctx, "s")
		b.ok(err)
		return counts[eventlog.SinkDead]
	}
	held := claim()
	one := order("s", 17)
	order("another", 17)
	all, err := b.Sinks.Orders(b.ctx, "s")
	b.ok(err)
	equal(b, len(all), 1)
	equal(b, all[0].ID, one.ID)
	equal(b, all[0].Number, 17)
	equal(b, all[0].Step, eventlog.GiveUpSink)
	equal(b, all[0].Reason, "ticket 4711")
	equal(b, all[0].Answer, "")
	if all[0].Ordered.IsZero() {
		t.Error("nobody knows when it was ordered")
	}

	b.ok(b.Sinks.Save(b.ctx, &held, given(one)))
	answered, err := b.Sinks.Order(b.ctx, "s", one.ID)
	b.ok(err)
	equal(b, answered.Answer+fmt.Sprint(answered.Behind), "done3")
	letters, err := b.Sinks.Events(b.ctx, "s", eventlog.SinkDead, 0, 10)
	b.ok(err)
	equal(b, len(letters), 1)
	equal(b, letters[0].Reason, "ticket 4711")
	last, err := b.Sinks.WithdrawOrder(b.ctx, "s", one.ID)
	b.ok(err)
	equal(b, last.Answer, "done")
	for _, gone := range []func() (eventlog.SinkOrder, error){
		func() (eventlog.SinkOrder, error) { return b.Sinks.WithdrawOrder(b.ctx, "s", one.ID) },
		func() (eventlog.SinkOrder, error) { return b.Sinks.Order(b.ctx, "s", one.ID) },
	} {
		if _, err := gone(); !errors.Is(err, inventory.ErrNotFound) {
			t.Errorf("an order that was withdrawn: %v", err)
		}
	}

	// One that is withdrawn before its answer: nothing of what came of it is recorded.
	late := order("s", 18)
	_, err = b.Sinks.WithdrawOrder(b.ctx, "s", late.ID)
	b.ok(err)
	changes := given(late)
	changes.Payload = `{"n":2}`
	if err := b.Sinks.Save(b.ctx, &held, changes); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("an order that was withdrawn was answered: %v", err)
	}
	equal(b, dead(), 1)
	equal(b, b.loadJob(id).Payload, `{"n":1}`)

	// A former holder answers none.
	open := order("s", 19)
	b.ok(b.Jobs.Defer(b.ctx, held, time.Time{}, ""))
	claim()
	if err := b.Sinks.Save(b.ctx, &held, given(open)); !errors.Is(err, jobrow.ErrLeaseLost) {
		t.Errorf("a former holder: %v", err)
	}
	equal(b, dead(), 1)
	still, err := b.Sinks.Order(b.ctx, "s", open.ID)
	b.ok(err)
	equal(b, still.Answer, "")

	// They go with the sink, and those of others stay.
	_, err = b.Sinks.Forget(b.ctx, "another")
	b.ok(err)
	for sink, want := range map[string]int{"s": 1, "another": 0} {
		left, err := b.Sinks.Orders(b.ctx, sink)
		b.ok(err)
		equal(b, len(left), want)
	}

	// What is replayed is the delivery's again: the operator's reason has gone.
	_, err = b.Sinks.Replay(b.ctx, "s", 17)
	b.ok(err)
	replayed, err := b.Sinks.Events(b.ctx, "s", eventlog.SinkReplayed, 0, 10)
	b.ok(err)
	equal(b, len(replayed), 1)
	equal(b, replayed[0].Reason, "")
}

// loadJob reads a job that belongs to no subscription.
func (b *bench) loadJob(id [16]byte) jobrow.Job {
	b.Helper()
	j, err := b.Jobs.Get(b.ctx, "", id)
	b.ok(err)
	return j
}
