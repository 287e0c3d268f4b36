package gateway_test

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/config"
	adminapi "portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/eventlog"
	"portico/inventory/jobrow"
	"portico/jobs/webhook"
)

// held is what an explanation says to hold a request up, of one reason.
func held(t *testing.T, e adminapi.Explanation, reason string) adminapi.Waiting {
	t.Helper()
	if len(e.HeldBy) != 1 || e.HeldBy[0].Reason != reason || e.HeldBy[0].Message == "" || e.HeldBy[0].Since.IsZero() {
		t.Fatalf("%s: held by %+v, want %s", e.Verdict.Summary, e.HeldBy, reason)
	}
	return e.HeldBy[0]
}

// A refusal names the deletion of the group that it is for, and how that goes.
func TestExplainNamesADeletion(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	accepted := s.ok(202, "DELETE", g+own, "")
	e := s.explained(adminapi.Question{Method: "PUT", Path: m + api, Content: westus})
	w := held(t, e, adminapi.DeletionUnderWay)
	if w.On != g || w.Job == "" || w.Command != "portico jobs show "+w.Job || w.Until == nil || w.Next == nil || !strings.Contains(w.LastOutcome, "resources are deleted") {
		t.Errorf("%+v", w)
	}
	// Whoever polls is told the same of the operation.
	poll := s.resultOf(accepted)
	e = s.explained(adminapi.Question{Method: "GET", Path: poll})
	if polled := held(t, e, adminapi.OperationPolled); polled.Job != w.Job {
		t.Errorf("%+v and %+v", polled, w)
	}
	s.ok(202, "GET", poll, "")
	// A read is not held up, and the group's detail has the deletion all the same.
	e = s.explained(adminapi.Question{Method: "GET", Path: g + own})
	if len(e.HeldBy) != 0 || len(e.Known.Waiting) != 1 || e.Known.Waiting[0].Job != w.Job || e.Known.Waiting[0].On != "" {
		t.Errorf("%+v, %+v", e.HeldBy, e.Known.Waiting)
	}
}

// A job that has ended holds up nothing.
func TestExplainNamesNoEndedJob(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	s.machine("g", "m", "westus")
	accepted := s.ok(202, "DELETE", g+own, "")
	s.work()
	s.end(accepted)
	if e := s.explained(adminapi.Question{Method: "GET", Path: s.resultOf(accepted)}); len(e.HeldBy) != 0 {
		t.Errorf("%+v", e.HeldBy)
	}
	if e := s.explained(adminapi.Question{Method: "PUT", Path: g + own, Content: westus}); len(e.HeldBy) != 0 || e.Known == nil || len(e.Known.Waiting) != 0 {
		t.Errorf("%+v, %+v", e.HeldBy, e.Known)
	}
}

// A move holds both of its groups, and is named for both.
func TestExplainNamesAMove(t *testing.T) {
	s := newSite(t, setup{})
	s.seed(secondSubscription, tenant, inventory.Enabled)
	from, m := s.group("from"), s.machine("from", "m", "westus")
	to := groupIn(secondSubscription, "to")
	s.ok(201, "PUT", to+own, westus)
	s.ok(200, "POST", "/subscriptions/"+secondSubscription+"/providers/Contoso.Compute/register"+own, "")
	s.ok(202, "POST", from+"/moveResources"+own, moveTo(to, m))
	for _, in := range []string{from, to} {
		e := s.explained(adminapi.Question{Method: "PUT", Path: in + "/providers/Contoso.Compute/virtualMachines/n" + api, Content: westus})
		w := held(t, e, adminapi.GroupMoveUnderWay)
		if w.On != in || w.Job == "" || w.Until == nil || !strings.Contains(w.LastOutcome, "resources are moved") {
			t.Errorf("%s: %+v", in, w)
		}
	}
}

// A fence is named with its job, for the ID and what would lie below it.
func TestExplainNamesAFence(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	stop := s.working()
	s.removed(g)
	stop()
	s.group("g")
	e := s.explained(adminapi.Question{Method: "PUT", Path: m + api, Content: westus})
	if e.Verdict.Code != "Conflict" {
		t.Errorf("%+v", e.Verdict)
	}
	w := held(t, e, adminapi.FenceStands)
	if w.Kind != "DELETE" || w.Region != "westus" || w.Job == "" || w.Until == nil || !strings.EqualFold(w.Command, "portico unstick "+m+" --fence --ask") {
		t.Errorf("%+v", w)
	}
	s.want(409, "Conflict", "PUT", m+api, westus)
	below := s.explained(adminapi.Question{Method: "GET", Path: m + "/extensions/x" + api})
	if i := slices.IndexFunc(below.Known.Waiting, func(w adminapi.Waiting) bool { return w.Reason == adminapi.FenceStands }); i < 0 || !strings.EqualFold(below.Known.Waiting[i].On, m) {
		t.Errorf("%+v", below.Known.Waiting)
	}
}

// A write without an answer delays those that follow, by the question that is asked first.
func TestExplainNamesAnOpenWrite(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	e := s.explained(adminapi.Question{Method: "PUT", Path: m + api, Content: eastus})
	var reasons []string
	for _, w := range e.HeldBy {
		reasons = append(reasons, w.Reason)
		if w.Reason == adminapi.VerificationPending && w.Command != "portico unstick "+m+" --ask" {
			t.Errorf("%+v", w)
		}
	}
	if e.Verdict.Outcome != adminapi.Open || !slices.Contains(reasons, adminapi.WriteWithoutAnswer) || !slices.Contains(reasons, adminapi.VerificationPending) {
		t.Errorf("%s: %v", e.Verdict.Summary, reasons)
	}
}

// Of a subscription there are the notices that endpoints have not got; of a resource, the
// sinks that have not got its events.
func TestExplainNamesNoticesAndSinks(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(receiver.Close)
	at, err := url.Parse(receiver.URL)
	must(t, err)
	s := newSite(t, setup{sinks: []*webhook.Sink{{Sink: config.Sink{
		Name: "audit", URL: at, Batch: 10, Concurrency: 1, Timeout: 5 * time.Second, Backoff: time.Millisecond, MaxBackoff: time.Second, GiveUpAfter: hour, Retrying: 10, Dead: 10,
	}}}})
	s.request(201, "", "PUT", "/admin/subscriptions/"+foreign, `{"tenantId":"`+tenant+`"}`)
	e := s.explained(adminapi.Question{Path: "/subscriptions/" + foreign})
	notices := 0
	for _, w := range e.Known.Waiting {
		if w.Reason == adminapi.NoticePending && w.Job != "" && strings.Contains(w.Message, w.Region) && w.Command == "portico jobs show "+w.Job {
			notices++
		}
	}
	if notices == 0 || len(e.HeldBy) > 0 {
		t.Errorf("%+v", e.Known.Waiting)
	}
	stop := s.working()
	s.within("its job", func() bool {
		_, err := s.store.Jobs.Get(t.Context(), "", jobrow.ID(eventlog.SinkJob, "audit"))
		return err == nil
	})
	g := s.group("g")
	s.within("the sink that is behind", func() bool {
		_, err := s.store.Events.Number(t.Context(), 1000)
		e := s.explained(adminapi.Question{Path: g})
		return err == nil && slices.ContainsFunc(e.Known.Waiting, func(w adminapi.Waiting) bool {
			return w.Reason == adminapi.EventsUndelivered && strings.Contains(w.Message, "audit") && w.LastOutcome != "" && !w.Since.IsZero() &&
				(w.Command == "portico sinks show audit" || strings.HasPrefix(w.Command, "portico unstick sink/audit/"))
		})
	})
	stop()
}

// A row in a region that the map has lost says so.
func TestExplainNamesALostRegion(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	gone := func() int {
		return slices.IndexFunc(s.explained(adminapi.Question{Path: m}).Known.Waiting, func(w adminapi.Waiting) bool {
			return w.Reason == adminapi.RegionGone && w.Command == "portico retire atlantis --dry-run"
		})
	}
	if gone() >= 0 {
		t.Error("westus is there")
	}
	db, err := sql.Open("sqlite", s.path)
	must(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE resources SET region = 'atlantis' WHERE key = ?", strings.ToLower(m)); err != nil {
		t.Fatal(err)
	}
	if gone() < 0 {
		t.Errorf("%+v", s.explained(adminapi.Question{Path: m}).Known)
	}
}
