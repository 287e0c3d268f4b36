package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/config"
	adminapi "portico/gateway/admin/api"
	"portico/inventory/eventlog"
	"portico/inventory/jobrow"
	"portico/jobs/webhook"
)

// mailbox is a receiver of events. It answers each by what answer says of its subject.
type mailbox struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(subject string) int
	came   int      // messages
	taken  []string // sequences of events
}

func newMailbox(t *testing.T, answer func(subject string) int) *mailbox {
	m := &mailbox{answer: answer}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var e struct{ Subject, Sequence string }
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.came++
	status := m.answer(e.Subject)
	if status < 300 {
		m.taken = append(m.taken, e.Sequence)
	}
	w.WriteHeader(status)
}

func (m *mailbox) answers(answer func(subject string) int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

func (m *mailbox) messages() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.came
}

func (m *mailbox) has(sequences ...string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !slices.ContainsFunc(sequences, func(one string) bool { return !slices.Contains(m.taken, one) })
}

// patientSink waits for an hour before it tries anything again.
func patientSink(t *testing.T, m *mailbox, retrying, dead int) *webhook.Sink {
	t.Helper()
	at, err := url.Parse(m.URL)
	must(t, err)
	return &webhook.Sink{Sink: config.Sink{
		Name: "audit", URL: at, Earliest: true, Batch: 1, Concurrency: 1, Timeout: time.Minute, Backoff: hour, MaxBackoff: hour, GiveUpAfter: 1000 * hour, Retrying: retrying, Dead: dead,
	}}
}

func (s *site) sink() adminapi.Sink { return report[adminapi.Sink](s, "/admin/sinks/audit") }

func (s *site) retried() []adminapi.RetriedEvent {
	return report[adminapi.Page[adminapi.RetriedEvent]](s, "/admin/sinks/audit/retrying").Value
}

func onSink(step, event, reason string) string {
	return fmt.Sprintf(`{"sink":"audit","event":%q,"step":%q,"reason":%q}`, event, step, reason)
}

// unstickEvent orders a step of an event, and wants it taken.
func (s *site) unstickEvent(step, event string) adminapi.Unstuck {
	s.t.Helper()
	return decode[adminapi.Unstuck](s.t, s.request(200, "", "POST", "/admin/unstick", onSink(step, event, "the datacentre burnt down")))
}

// keepsEvent orders a step that is refused; says is part of why.
func (s *site) keepsEvent(status int, step, event, says string) {
	s.t.Helper()
	code := map[int]string{400: "InvalidRequestContent", 404: "ResourceNotFound", 409: "Conflict"}[status]
	if got := s.request(status, code, "POST", "/admin/unstick", onSink(step, event, "r")); !strings.Contains(got.text, says) {
		s.t.Errorf("%s of %s: %s", step, event, got.text)
	}
}

// A receiver refuses the events of one resource, which fill what a sink may leave behind:
// an operator has the first tried again, gives it up, and what waited for it goes on in its
// order.
func TestUnstickEventsOfASink(t *testing.T) {
	refusing := func(subject string) int {
		if strings.HasSuffix(subject, "/bad") {
			return 500
		}
		return 204
	}
	m := newMailbox(t, refusing)
	s := newSite(t, setup{sinks: []*webhook.Sink{patientSink(t, m, 2, 1)}})
	s.group("bad")
	for range 2 {
		s.ok(200, "PUT", groupPath("bad")+own, westus)
	}
	s.group("good")
	s.work()
	s.within("what is left behind", func() bool { r := s.retried(); return len(r) == 2 && r[0].Attempts == 1 })
	all := s.retried()
	first, second := all[0].ID, all[1].ID
	if all[0].Failure != "failed" || all[0].Status != 500 || all[0].Next == nil || all[0].Event == nil || all[1].Attempts != 0 || all[1].Next != nil {
		t.Errorf("%+v", all)
	}
	s.within("the others", func() bool { now := s.sink(); return now.FailedEvent == first && now.Delivered > 0 })
	if page := report[adminapi.Page[adminapi.RetriedEvent]](s, "/admin/sinks/audit/retrying?limit=1"); len(page.Value) != 1 || page.NextLink == "" {
		t.Errorf("%+v", page)
	}

	s.keepsEvent(409, "giveUp", second, "waits for the event "+first)
	s.keepsEvent(409, "giveUp", "", "need an event")
	s.keepsEvent(409, "forget", "", "need an event")
	s.keepsEvent(404, "forget", first, "no such dead letter")
	s.keepsEvent(404, "ask", "9999", "is not waiting")
	s.keepsEvent(404, "giveUp", "9999", "is not waiting")
	s.keepsEvent(400, "ask", "first", "a sequence number")
	s.request(400, "InvalidRequestContent", "POST", "/admin/unstick", onSink("giveUp", first, "")).says(t, "The request content was invalid and could not be deserialized: 'giving up an event requires a reason'.")
	s.request(400, "InvalidRequestContent", "POST", "/admin/unstick", fmt.Sprintf(`{"id":%q,"event":"1","step":"ask"}`, groupPath("bad")))
	s.request(404, "ResourceNotFound", "POST", "/admin/unstick", `{"sink":"none","step":"ask"}`)

	if done := s.unstickEvent("ask", first); done.Target != "sink/audit/"+first || done.Step != "ask" {
		t.Errorf("%+v", done)
	}
	s.within("another attempt", func() bool { r := s.retried(); return len(r) == 2 && r[0].Attempts == 2 })
	s.unstickEvent("ask", second) // which has the first one tried
	s.within("one more", func() bool { r := s.retried(); return len(r) == 2 && r[0].Attempts == 3 })

	s.request(200, "", "POST", "/admin/unstick", fmt.Sprintf(`{"sink":"audit","event":%q,"step":"giveUp","dryRun":true}`, first))
	s.unstickEvent("giveUp", first) // which is still there
	dead := report[adminapi.Page[adminapi.DeadLetter]](s, "/admin/sinks/audit/dead").Value
	if len(dead) != 1 || dead[0].ID != first || dead[0].Failure != "failed" || dead[0].Attempts != 3 || dead[0].Reason != "the datacentre burnt down" || dead[0].Event == nil {
		t.Errorf("%+v", dead)
	}
	waiting := report[adminapi.ResourceDetail](s, "/admin/resource?id="+url.QueryEscape(groupPath("bad"))).Waiting
	for _, want := range []string{"portico sinks replay audit " + first, "portico unstick sink/audit/" + second + " --ask"} {
		if !slices.ContainsFunc(waiting, func(w adminapi.Waiting) bool { return w.Reason == adminapi.EventsUndelivered && w.Command == want }) {
			t.Errorf("nothing goes on by %s: %+v", want, waiting)
		}
	}
	s.keepsEvent(409, "giveUp", first, "was already given up")
	s.within("the next one", func() bool { r := s.retried(); return len(r) > 0 && r[0].ID == second && r[0].Attempts == 1 })
	s.keepsEvent(409, "giveUp", second, "the maximum number of dead letters")
	s.unstickEvent("forget", first)
	s.keepsEvent(404, "forget", first, "no such dead letter")

	m.answers(func(string) int { return 204 })
	if done := s.unstickEvent("ask", ""); done.Target != "sink/audit" {
		t.Errorf("%+v", done)
	}
	s.within("all others", func() bool { now := s.sink(); return now.Lag == 0 && now.Retrying == 0 && now.Dead == 0 })
	if m.has(first) || !m.has(second) {
		t.Error("what was given up was sent, or what waited for it was not")
	}
	s.keepsEvent(404, "ask", second, "is not waiting")
	job := jobrow.Job{ID: jobrow.ID(eventlog.SinkJob, "audit")}
	if done := s.unsticks("job", job.Name(), "ask"); done.Target != "sink/audit" {
		t.Errorf("%+v", done)
	}
	log := s.log.String()
	for _, line := range []string{`"step":"giveUp","target":"sink/audit/` + first + `","reason":"the datacentre burnt down","done":true`, `"step":"forget","target":"sink/audit/` + first + `"`, "an operator gave up an event"} {
		if !strings.Contains(log, line) {
			t.Errorf("the log has no %s", line)
		}
	}
}

// A receiver that takes nothing is asked at once where an operator says so, and need not
// be waited for.
func TestUnstickASinkThatIsAway(t *testing.T) {
	m := newMailbox(t, func(string) int { return 401 })
	s := newSite(t, setup{sinks: []*webhook.Sink{patientSink(t, m, 10, 10)}})
	s.group("g")
	s.work()
	s.within("the receiver to be away", func() bool { now := s.sink(); return now.State == "Away" && now.FailedEvent != "" })
	first := s.sink().FailedEvent
	if r := s.retried(); len(r) != 0 {
		t.Errorf("a receiver that is away has others overtake: %+v", r)
	}
	before := m.messages()
	s.unstickEvent("ask", "")
	s.within("an attempt", func() bool { return m.messages() > before })
	m.answers(func(string) int { return 204 })
	s.inTime("what it takes again", func() bool {
		if s.sink().State == "Delivering" {
			return true
		}
		s.unstickEvent("ask", "")
		return false
	})
	if !m.has(first) {
		t.Error("the event was lost")
	}

	// One that was never in a row of its own is given up all the same.
	m.answers(func(string) int { return 401 })
	s.group("h")
	s.within("the receiver to be away again", func() bool { now := s.sink(); return now.State == "Away" && now.FailedEvent != first })
	second := s.sink().FailedEvent
	s.unstickEvent("giveUp", second)
	if dead := report[adminapi.Page[adminapi.DeadLetter]](s, "/admin/sinks/audit/dead").Value; len(dead) != 1 || dead[0].ID != second || dead[0].Failure != "denied" {
		t.Errorf("%+v", dead)
	}
	s.within("the cursor to go on", func() bool { return s.sink().Lag == 0 })
}

// Where no one delivers an order is taken back, and nothing comes of it later.
func TestOrderOfASinkThatNoOneHolds(t *testing.T) {
	m := newMailbox(t, func(string) int { return 422 })
	sinks := []*webhook.Sink{patientSink(t, m, 10, 10)}
	s := newSite(t, setup{sinks: sinks})
	s.group("g")
	stop := s.working()
	s.within("a failure", func() bool { return s.sink().FailedEvent != "" })
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := webhook.New(webhook.Deliverer{Sinks: sinks, Store: s.store, Log: zap.NewNop()}).Order(ctx, sinks[0], webhook.Order{Event: 1, Step: eventlog.GiveUpSink, Reason: "r"})
	if !errors.Is(err, webhook.ErrNotTaken) {
		t.Errorf("%v", err)
	}
	if left, err := s.store.Sinks.Orders(t.Context(), "audit"); err != nil || len(left) != 0 {
		t.Errorf("%+v, %v", left, err)
	}
}
