package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

// mailbox is a receiver of events that can refuse those of the group that is named so.
type mailbox struct {
	*httptest.Server
	takesAll atomic.Bool
	refused  atomic.Int64
	taken    atomic.Int64 // of that group
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	m := new(mailbox)
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var e struct{ Subject string }
	_ = json.NewDecoder(r.Body).Decode(&e) // what is none is no one's
	switch {
	case !strings.HasSuffix(e.Subject, "/refused"):
	case !m.takesAll.Load():
		m.refused.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		return
	default:
		m.taken.Add(1)
	}
	w.WriteHeader(http.StatusNoContent)
}

// sink is YAML of a sink that waits for minutes before it tries anything again.
func (m *mailbox) sink(name string) string {
	return fmt.Sprintf("\nevents: {sinks: [{name: %s, url: %q, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, backoff: 1m}]}", name, m.URL)
}

// What a receiver does not take is shown, tried again and replayed; what an operator gave
// up says why.
func testSinks(b *tab, at string, w *harness.World, m *mailbox) {
	giveUp := func() {
		b.t.Helper()
		failed := ""
		harness.Await(b.t, bound, "an event that fails", func() bool {
			for _, e := range admin(b.t, w, http.MethodGet, "/admin/sinks/audit/retrying", "").Values(b.t) {
				if e["attempts"].(float64) > 0 {
					failed = e["id"].(string)
				}
			}
			return failed != ""
		})
		order, err := json.Marshal(map[string]string{"sink": "audit", "event": failed, "step": "giveUp", "reason": hostile})
		if err != nil {
			b.t.Fatal(err)
		}
		admin(b.t, w, http.MethodPost, "/admin/unstick", string(order)).Want(b.t, 200)
	}
	b.open(at + "/#/sinks")
	b.sees("audit", "Delivering", strings.TrimPrefix(m.URL, "http://"), "No events to retry.", "No dead letters.")
	for range 2 {
		w.PutGroup(b.t, "refused")
	}
	b.sees("failed, 500", "waits for an earlier event of its resource", "/resourceGroups/refused")
	b.click("#test-audit")
	b.sees("The test was delivered, 204.")

	giveUp()
	b.sees(hostile, "Dead letters", "Replay all dead letters")
	harness.Await(b.t, bound, "the one behind it", func() bool { return m.refused.Load() >= 2 })
	m.takesAll.Store(true)
	b.click("#ask-audit")
	b.sees("Waiting events are retried now.", "No events to retry.")
	if n := m.taken.Load(); n != 1 {
		b.t.Errorf("%d events were taken", n)
	}
	b.click("#replay-audit")
	b.sees("Retry all 1 dead letters of audit?")
	b.keys("\x1b") // nothing is done by mistake
	b.holds("the question has gone", `!document.querySelector('dialog')`)
	b.click("[id^=replay-audit-]")
	b.sees("1 events will be retried.", "No dead letters.")
	harness.Await(b.t, bound, "what was replayed", func() bool { return m.taken.Load() == 2 })
	if !strings.Contains(w.Portico.Log(), `"resource":"/admin/sinks/audit/dead/replay","status":202,"outcome":"answered","name":"Operator"`) {
		b.t.Error("the audit log does not tell who replayed it")
	}

	m.takesAll.Store(false) // so that there is something to look at
	w.PutGroup(b.t, "refused")
	w.PutGroup(b.t, "refused")
	b.sees("waits for an earlier event of its resource")
	giveUp()
	b.sees(hostile, "failed, 500")
}
