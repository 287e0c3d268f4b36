package gateway_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/config"
	described "portico/gateway/admin/api"
	"portico/inventory/eventlog"
	"portico/inventory/jobrow"
	"portico/jobs/webhook"
	"portico/regions/health"
	"portico/upstream"
)

// problems are what the admin listener says is wrong, by code.
func (s *site) problems() map[string]described.Problem {
	s.t.Helper()
	all := map[string]described.Problem{}
	status := report[described.Status](s, "/admin/status")
	if status.Problems == nil {
		s.t.Error("null")
	}
	for _, p := range status.Problems {
		if p.Summary == "" || strings.Count(p.Summary, ". ") > 0 || !strings.HasSuffix(p.Summary, ".") {
			s.t.Errorf("%+v", p)
		}
		all[p.Code] = p
	}
	return all
}

func (s *site) wantProblems(want ...string) map[string]described.Problem {
	s.t.Helper()
	all := s.problems()
	var codes []string
	for code := range all {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	if slices.Sort(want); !slices.Equal(codes, want) {
		s.t.Errorf("%+v, want %v", all, want)
	}
	return all
}

func TestAdminStatus(t *testing.T) {
	began := time.Now().Add(-time.Second)
	s := newSite(t, setup{})
	got := report[described.Status](s, "/admin/status")
	if got.Version == "" || got.Region != "westus" || got.Started.Before(began) || got.Started.After(time.Now()) || got.Generation != 1 || got.Store != "sqlite" || got.Replicas != 1 || len(got.Problems) != 0 {
		t.Errorf("%+v", got)
	}
	s.request(405, "", "POST", "/admin/status", "")
	s.request(400, "InvalidQueryParameter", "GET", "/admin/status?nothing=1", "")
	s.request(400, "InvalidQueryParameter", "GET", "/admin/changes?since=1", "")

	must(t, s.store.Close())
	if down := s.wantProblems(described.StoreDown)[described.StoreDown]; down.Severity != described.Critical || down.Since == nil || down.Next == "" {
		t.Errorf("%+v", down)
	}
}

// What waits for too long is told of, by what the store has of it.
func TestStatusOfWhatWaits(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.ok(202, "PUT", machinePath("g", "m")+api, westus, "x-contoso-async", "accepted", "x-contoso-duration", "1h")
	s.machine("g", "flagged", "westus")
	must(t, s.store.RequestVerify(t.Context(), subscription, machinePath("g", "flagged")))
	name := s.addJob("survey", "a", "{}")
	for range jobrow.ManyAttempts + 1 {
		if _, err := s.store.Jobs.Claim(t.Context(), "me", 0, 1, "survey"); err != nil {
			t.Fatal(err)
		}
	}
	put := s.wantProblems(described.JobsPutOff)[described.JobsPutOff]
	if put.Subject != "survey" || put.Count != 1 || put.Severity != described.Warning || put.Next != "portico jobs list --kind survey" {
		t.Errorf("%+v", put)
	}
	if err := s.store.CancelJob(t.Context(), "", jobrow.ID("survey", "a")); err != nil {
		t.Fatal(name, err)
	}
	s.clock.advance(2 * time.Minute)
	all := s.wantProblems(described.JobsOverdue, described.EventsWaiting)
	if late := all[described.JobsOverdue]; late.Severity != described.Critical || late.Count == 0 || late.Since == nil {
		t.Errorf("%+v", late)
	}
	if waits := all[described.EventsWaiting]; waits.Count < 3 || waits.Since == nil {
		t.Errorf("%+v", waits)
	}
	s.clock.advance(25 * hour)
	all = s.wantProblems(described.JobsOverdue, described.EventsWaiting, described.FollowsTooLong, described.VerificationsTooLong)
	if follows := all[described.FollowsTooLong]; follows.Count != 1 || follows.Next != "portico doubts" {
		t.Errorf("%+v", follows)
	}
}

func TestStatusOfADeletion(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("G")
	s.machine("G", "m", "westus")
	s.ok(202, "DELETE", g+own, "")
	report[described.Changes](s, "/admin/changes") // nothing waits to be numbered
	for _, c := range []struct {
		after time.Duration
		code  string
	}{{31 * time.Minute, described.GroupDeleteSlow}, {hour, described.GroupDeleteTooLong}} {
		s.clock.advance(c.after)
		slow := s.problems()[c.code]
		if slow.Subject != g || slow.Since == nil || !strings.HasPrefix(slow.Next, "portico jobs show ") {
			t.Errorf("%s: %+v", c.code, slow)
		}
		s.request(200, "", "GET", "/admin/jobs/"+strings.TrimPrefix(slow.Next, "portico jobs show "), "")
	}
}

// A region that no one can reach is the first thing that is told, with what waits for it.
func TestStatusOfARegionThatIsDown(t *testing.T) {
	s := newSite(t, setup{callTimeout: 5 * time.Second, hurried: true, health: upstream.Health{Settings: health.Settings{Failures: 3, Open: time.Minute, MaxOpen: time.Minute}}})
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	s.at("eastus").server.Close()
	began := time.Now().Add(-time.Second)
	s.within("an open circuit", func() bool {
		s.do("GET", m+api, "")
		return s.problems()[described.RegionDown].Subject == "eastus"
	})
	status := report[described.Status](s, "/admin/status")
	down := status.Problems[0]
	if down.Code != described.RegionDown || down.Severity != described.Critical || down.Since == nil || down.Since.Before(began) || !strings.Contains(down.Summary, "eastus") {
		t.Errorf("%+v", status.Problems)
	}
	if only := s.wantProblems(described.RegionDown)[described.RegionDown]; !strings.HasPrefix(only.Detail, "Contoso.Compute in eastus and Contoso.Insight in eastus: "+s.at("eastus").server.URL+" (") || !strings.Contains(only.Detail, "refused") {
		t.Errorf("%+v", only)
	}
	for _, r := range report[described.Page[described.Region]](s, "/admin/regions").Value {
		if is := r.State == described.Down; is != (r.Name == "eastus") {
			t.Errorf("%+v", r)
		}
		if a := r.Endpoints[0].Addresses[0]; r.Name == "eastus" && (a.State != described.Down || a.Circuit == "closed" || a.Reason == "" || a.Since == nil || a.Failures < 3) {
			t.Errorf("%+v", a)
		}
	}
	if e := s.explained(described.Question{Method: "GET", Path: m + api}).Verdict; e.Status != 503 || e.RetryAfter == "" || !strings.HasSuffix(e.Summary, " Retry-After: "+e.RetryAfter+" s.") {
		t.Errorf("%+v", e)
	}
	s.work()
	s.ok(202, "DELETE", g+own, "")
	s.inTime("the wait", func() bool {
		waits := s.problems()[described.GroupDeleteWaiting]
		return waits.Subject == g && strings.Contains(waits.Summary, "eastus") && waits.CausedBy == "eastus"
	})
}

// Nothing has connected while a circuit is half-open: the region is still down, and a
// request is an attempt.
func TestStatusWhileAConnectionIsTried(t *testing.T) {
	s := newSite(t, setup{callTimeout: 5 * time.Second, hurried: true, health: upstream.Health{Settings: health.Settings{Failures: 3, Open: 100 * time.Millisecond, MaxOpen: 100 * time.Millisecond}}})
	s.group("g")
	m := s.machine("g", "m", "eastus")
	s.at("eastus").server.Close()
	circuit := func() string {
		return report[described.Page[described.Region]](s, "/admin/regions").Value[0].Endpoints[0].Addresses[0].Circuit
	}
	s.within("an open circuit", func() bool {
		s.do("GET", m+api, "")
		return circuit() != "closed"
	})
	s.within("a half-open circuit", func() bool { return circuit() == "half-open" })
	if down := s.problems()[described.RegionDown]; down.Subject != "eastus" {
		t.Errorf("%+v", s.problems())
	}
	e := s.explained(described.Question{Method: "GET", Path: m + api}).Verdict
	if e.Outcome != described.Forwarded || !strings.HasPrefix(e.Summary, "would go to Contoso.Compute in eastus at "+s.at("eastus").server.URL+", which is down: ") || !strings.Contains(e.Summary, "refused") {
		t.Errorf("%+v", e)
	}
}

func TestStatusOfTheIndex(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.machine("g", "m", "westus")
	s.at("eastus").do("PUT", machinePath("g", "m")+api, eastus, 201)
	s.work()
	s.swept(s.request(202, "", "POST", "/admin/sweeps", ""), "Done")
	all := s.problems()
	if drift := all[described.IndexDrift]; drift.Count != 1 || drift.Since == nil || drift.Next != "portico jobs list --kind sweep" {
		t.Errorf("%+v", drift)
	}
	if strays := all[described.Strays]; strays.Count != 1 || !strings.HasPrefix(strays.Summary, "1 resource exists ") {
		t.Errorf("%+v", strays)
	}
	if _, incomplete := all[described.SweepIncomplete]; incomplete {
		t.Errorf("%+v", all)
	}
	s.at("eastus").fault("GET", "/virtualMachines", "status=400")
	s.swept(s.request(202, "", "POST", "/admin/sweeps", ""), "Failed")
	if all := s.problems(); all[described.SweepIncomplete].Since == nil {
		t.Errorf("%+v", all)
	}
}

func TestStatusOfAFence(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	stop := s.working()
	s.removed(g)
	stop()
	if _, reported := s.problems()[described.FencesTooLong]; reported {
		t.Error("a young fence is told of")
	}
	s.clock.advance(25 * hour)
	if long := s.problems()[described.FencesTooLong]; long.Count != 1 || long.Next != "portico fences" {
		t.Errorf("%+v", long)
	}
}

func TestStatusOfSinks(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(receiver.Close)
	at, err := url.Parse(receiver.URL)
	must(t, err)
	s := newSite(t, setup{sinks: []*webhook.Sink{{Sink: config.Sink{
		Name: "audit", URL: at, Batch: 10, Concurrency: 1, Timeout: 5 * time.Second, Backoff: time.Millisecond, MaxBackoff: time.Second, GiveUpAfter: hour, Retrying: 10, Dead: 10,
	}}}})
	s.work()
	s.within("its job", func() bool {
		_, err := s.store.Jobs.Get(t.Context(), "", jobrow.ID(eventlog.SinkJob, "audit"))
		return err == nil
	})
	s.group("g")
	s.inTime("the receiver that takes nothing", func() bool { return s.problems()[described.SinkAway].Subject == "audit" })
	s.clock.advance(10 * time.Minute)
	behind := s.problems()[described.SinkBehind]
	if behind.Subject != "audit" || behind.Count == 0 || behind.Since == nil || behind.Next != "portico sinks show audit" {
		t.Errorf("%+v", behind)
	}
}

// A store that takes long says so, and answers all the same.
func TestStatusOfASlowStore(t *testing.T) {
	s := newSite(t, setup{})
	other, err := sql.Open("sqlite", s.path+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	must(t, err)
	t.Cleanup(func() { _ = other.Close() })
	tx, err := other.BeginTx(t.Context(), nil)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	go func() { <-ctx.Done(); _ = tx.Rollback() }()
	if slow := s.problems()[described.StoreSlow]; slow.Severity != described.Warning {
		t.Errorf("%+v", slow)
	}
	<-ctx.Done()
	s.within("a store that does not", func() bool { return len(s.problems()) == 0 })
}
