package gateway_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/arm"
	"portico/config"
	"portico/fanout"
	"portico/gateway/admin"
	adminapi "portico/gateway/admin/api"
	"portico/gateway/observe"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/webhook"
)

// survey is a kind that only tests know: its jobs work on a resource group.
type survey struct {
	s     *site
	limit time.Duration
}

func (survey) Run(context.Context, *jobs.Claim) (jobs.Result, error) { return jobs.Result{}, nil }

func (k survey) Describe() jobs.Description {
	return jobs.Description{
		Cancellable: true, Limit: k.limit, LimitSetting: "survey.limit",
		Problems: jobs.Problems{Subject: "The survey of a group"},
		Reason:   "surveyUnderWay", Message: "The group is being surveyed.", Refusals: []arm.Code{arm.ResourceNotFound},
		Remedy: func(j jobrow.Job) []string { return []string{"unstick", j.Name(), "--ask"} },
		Show: func(j jobrow.Job) jobs.ProgressReport {
			var p struct{ Progress struct{ Done int } }
			_ = j.Read(&p)
			return jobs.ProgressReport{On: inSubscription + "/resourceGroups/" + j.Subject, Done: p.Progress.Done, Of: 9, Left: "much is left", Outcome: "Something is surveyed.", WaitingFor: []string{"eastus"}}
		},
		HoldsAt: func(ctx context.Context, path *arm.Path) ([]jobs.Hold, error) {
			return jobs.HoldOf(ctx, k.s.store.Jobs, "", jobrow.ID("survey", path.Group()), inSubscription+"/resourceGroups/"+path.Group())
		},
	}
}

// surveying has an admin listener know the kind and no other.
func (s *site) surveying() {
	registry, log := prometheus.NewRegistry(), zap.NewNop()
	runner := jobs.NewRunner(jobs.Options{Store: s.store, Owner: jobs.NewOwner(), Lease: time.Minute, Floor: time.Second, CallerShare: 100, Log: log, Metrics: registry})
	runner.Add(map[string]jobs.Kind{"survey": survey{s, hour}})
	service := s.admin
	explain := func(_ context.Context, q adminapi.Question) (e adminapi.Explanation, err error) {
		body, err := json.Marshal(q)
		must(s.t, err)
		e = decode[adminapi.Explanation](s.t, exchangeWith(s.t, service, "POST", "/admin/explain", string(body)))
		e.Known, e.HeldBy = nil, nil
		return e, nil
	}
	s.admin = httptest.NewServer(admin.New(admin.Options{
		Config: s.config, Store: s.store, Jobs: runner, Upstream: s.upstream, Sweeps: s.gateway.Sweeper(), Started: time.Now(), Metrics: registry,
		Sinks: webhook.New(webhook.Deliverer{Store: s.store, Log: log}), Draining: func() bool { return false }, Recent: observe.NewRecent(s.store.Errors, "replica"), Generations: new(config.History),
		Audit: observe.NewAudit(log), Explain: explain, Lists: fanout.NewLister(fanout.Options{}), Log: log,
	}))
	s.t.Cleanup(service.Close)
}

// A kind is listed, cancelled, unstuck, shown as a hold and by status by what it says of
// itself: nothing else knows it.
func TestAKindIsKnownByItsDescription(t *testing.T) {
	s := newSite(t, setup{})
	s.surveying()
	g := s.group("g")
	name := s.addJob("survey", "g", `{"secret":"x","progress":{"done":7}}`)

	kinds := report[adminapi.Page[adminapi.JobKind]](s, "/admin/jobKinds").Value
	if !slices.Equal(kinds, []adminapi.JobKind{{Kind: "survey", Cancellable: true, Limit: "survey.limit"}}) {
		t.Errorf("%+v", kinds)
	}
	listed := report[adminapi.Page[adminapi.Job]](s, "/admin/jobs?kind=survey").Value
	if len(listed) != 1 {
		t.Fatalf("%+v", listed)
	}
	remedy := "portico unstick " + name + " --ask"
	if j := listed[0]; j.Subject != "g" || j.On != g || j.Command != remedy || !j.Cancellable || *j.Steps != (adminapi.Steps{Done: 7, Of: 9}) || !j.Until.Equal(j.Created.Add(hour)) || j.Limit != "survey.limit" {
		t.Errorf("%+v", j)
	}

	missing := s.explained(adminapi.Question{Path: machinePath("g", "m") + api})
	w := held(t, missing, "surveyUnderWay")
	if w.On != g || w.Job != name || w.Command != remedy || w.Until == nil || w.Message != "The group is being surveyed." || w.LastOutcome != "Something is surveyed. These regions do not answer: eastus." {
		t.Errorf("%+v", w)
	}
	if shown := report[adminapi.ResourceDetail](s, "/admin/resource?id="+g).Waiting; len(shown) != 1 || shown[0].Job != name || shown[0].On != "" {
		t.Errorf("%+v", shown)
	}

	s.clock.advance(hour + time.Minute)
	if p := s.problems()[adminapi.JobTooLong]; p.Subject != g || p.Summary != "The survey of a group has been running beyond survey.limit: much is left." || p.Next != "portico jobs show "+name {
		t.Errorf("%+v", p)
	}

	if done := s.unsticks("job", name, "ask"); !slices.Equal(done.Jobs, []string{name}) {
		t.Errorf("%+v", done)
	}
	if done := s.unsticks("job", name, "giveUp"); done.Outcome != "The job is being canceled. Something is surveyed." {
		t.Errorf("%+v", done)
	}
	if j := report[adminapi.Job](s, "/admin/jobs/"+name); j.State != "Cancelling" || j.Cancellable {
		t.Errorf("%+v", j)
	}
}
