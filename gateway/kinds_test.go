package gateway

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/arm"
	adminapi "portico/gateway/admin/api"
	"portico/inventory/jobrow"
	"portico/jobs"
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
		Show: func(j jobrow.Job) jobs.Standing {
			var p struct{ Progress struct{ Done int } }
			_ = j.Read(&p)
			return jobs.Standing{On: inSubscription + "/resourceGroups/" + j.Subject, Done: p.Progress.Done, Of: 9, Left: "much is left", Outcome: "Something is surveyed.", WaitingFor: []string{"eastus"}}
		},
		HeldAt: func(ctx context.Context, path *arm.Path) ([]jobs.Hold, error) {
			return jobs.HoldOf(ctx, k.s.store, "", jobrow.ID("survey", path.Group()), inSubscription+"/resourceGroups/"+path.Group())
		},
	}
}

// addSurveys has the gateway know the kind.
func (s *site) addSurveys() {
	kinds := s.gateway.kinds()
	kinds["survey"] = survey{s, hour}
	s.gateway.runner.Replace(kinds)
}

// A kind is listed, cancelled, unstuck, shown as a hold and by status by what it says of
// itself: nothing else knows it.
func TestAKindIsKnownByItsDescription(t *testing.T) {
	s := newSite(t, setup{})
	s.addSurveys()
	g := s.group("g")
	name := s.addJob("survey", "g", `{"secret":"x","progress":{"done":7}}`)

	kinds := report[adminapi.Page[adminapi.JobKind]](s, "/admin/jobKinds").Value
	if i := slices.Index(s.gateway.runner.Kinds(), "survey"); kinds[i] != (adminapi.JobKind{Kind: "survey", Cancellable: true, Limit: "survey.limit"}) {
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
	if done := s.unsticks("job", name, "giveUp"); done.Outcome != "The job is being canceled." {
		t.Errorf("%+v", done)
	}
	if j := report[adminapi.Job](s, "/admin/jobs/"+name); j.State != "Cancelling" || j.Cancellable {
		t.Errorf("%+v", j)
	}
}

// Each problem that a kind names is described, and each of its settings exists.
func TestDescriptionsOfKinds(t *testing.T) {
	s := newSite(t, setup{})
	var codes, settings []string
	for _, k := range adminapi.ProblemKinds() {
		codes = append(codes, k.Code)
	}
	for _, v := range s.config.Lines() {
		settings = append(settings, v.Path)
	}
	for name, kind := range s.gateway.kinds() {
		d := kind.Describe()
		for _, code := range []string{d.Problems.TooLong, d.Problems.Waiting, d.Problems.Slow} {
			if code != "" && !slices.Contains(codes, code) {
				t.Errorf("%s: there is no problem %s", name, code)
			}
		}
		if d.LimitSetting != "" && (d.Limit == 0 || !slices.Contains(settings, d.LimitSetting)) {
			t.Errorf("%s: its limit is %v by %q", name, d.Limit, d.LimitSetting)
		}
		if d.HeldAt != nil && (d.Reason == "" || d.Message == "") {
			t.Errorf("%s holds up requests, and does not say why", name)
		}
	}
	kinds := NotResumed()
	if got := strings.Join(kinds.Cancelled, " ") + "; " + strings.Join(kinds.Removed, " "); got != "batch deployment group-delete move validate-move; erase notice" {
		t.Errorf("a restored database does not go on with: %s", got)
	}
}
