package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// A receiver refuses the events of one resource, until the sink has no room for more: an
// operator has the first tried again, and gives it up, by commands that ask either gateway,
// whichever delivers. What was given up outlives a kill, and is replayed.
func TestUnstickASinkByCommand(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	patient := strings.Replace(h.sink("h", "from: earliest, retrying: 3, concurrency: 1"), "backoff: 20ms, maxBackoff: 200ms", "backoff: 1m, maxBackoff: 1h", 1)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config:   harness.Config{Postgres: harness.StartPostgres(t).CreateDatabase(t, "sinks"), Extra: withSinks(patient)},
	})
	o := commander{}
	by := func(p *harness.Portico, exit int, line string) (text, says string) {
		t.Helper()
		return o.run(t, exit, append(strings.Fields(line), "--admin", p.AdminURL)...)
	}
	one, other := w.Replicas[0], w.Replicas[1]
	awaitSink(t, one, "h")
	h.answers(func(e hookEvent) int {
		if strings.HasSuffix(e.Subject, "/bad") {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	for n := range 5 {
		mustPutGroup(t, w, "bad", n)
	}
	mustPutGroup(t, w, "good", 0)
	harness.Await(t, hookBound, "a sink that is stuck", func() bool { s := sinkOf(t, one, "h"); return s.Retrying == 3 && s.LagEvents > 0 })
	if text, _ := by(other, 0, "sinks list"); !strings.Contains(text, "failed, 500") {
		t.Errorf("%s", text)
	}
	type retried struct {
		ID       string
		Attempts int
	}
	waiting := func() []retried {
		t.Helper()
		text, _ := by(one, 0, "sinks retrying h -o json")
		var page struct{ Value []retried }
		if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Value) == 0 {
			t.Fatalf("%v: %s", err, text)
		}
		return page.Value
	}
	first, second := waiting()[0], waiting()[1]
	if first.Attempts == 0 || second.Attempts != 0 {
		t.Errorf("%+v %+v", first, second)
	}

	for i, p := range w.Replicas { // one of which does not deliver
		if text, _ := by(p, 0, "unstick sink/h/"+first.ID+" --ask"); !strings.Contains(text, "sink/h/"+first.ID) {
			t.Errorf("%s", text)
		}
		harness.Await(t, hookBound, "another attempt", func() bool { return waiting()[0].Attempts >= i+2 })
	}
	if _, says := by(other, 1, "unstick sink/h/"+second.ID+" --give-up --reason r"); !strings.Contains(says, "event "+first.ID) {
		t.Errorf("%s", says)
	}
	by(other, 1, "unstick sink/h/"+first.ID+" --give-up")
	by(other, 1, "sinks forget h "+first.ID+" --reason r --yes")
	by(other, 0, "unstick sink/h/"+first.ID+" --give-up --reason ticket-4711")
	for _, p := range w.Replicas {
		p.Kill(t)
	}
	for _, p := range w.Replicas {
		p.Restart(t)
	}
	if text, _ := by(one, 0, "sinks dead h"); !strings.Contains(text, first.ID) || !strings.Contains(text, "ticket-4711") {
		t.Errorf("%s", text)
	}
	harness.Await(t, hookBound, "the next one to be tried", func() bool { now := waiting(); return now[0].ID == second.ID && now[0].Attempts > 0 })

	h.answers(nil)
	if text, _ := by(one, 0, "sinks test h"); !strings.Contains(text, "delivered, 204") {
		t.Errorf("%s", text)
	}
	by(other, 0, "unstick sink/h --ask")
	harness.Await(t, hookBound, "all but the one that was given up", func() bool { s := sinkOf(t, one, "h"); return s.Retrying == 0 && s.LagEvents == 0 })
	last := 0
	for _, e := range h.got() {
		if !strings.HasSuffix(e.Subject, "/bad") {
			continue
		}
		if e.Sequence == first.ID || e.number() < last {
			t.Errorf("event %s came behind %d; %s was given up", e.Sequence, last, first.ID)
		}
		last = e.number()
	}
	by(one, 1, "sinks replay h 999999")
	if text, _ := by(other, 0, "sinks replay h --all"); !strings.Contains(text, "1 event is") {
		t.Errorf("%s", text)
	}
	harness.Await(t, hookBound, "what was replayed", func() bool { return h.subjects()["bad"] == 5 && sinkOf(t, one, "h").Dead == 0 })
	if log := one.Logs() + other.Logs(); !strings.Contains(log, `"step":"giveUp","target":"sink/h/`+first.ID+`","reason":"ticket-4711","done":true`) {
		t.Error("the audit log has no line of it")
	}
}
