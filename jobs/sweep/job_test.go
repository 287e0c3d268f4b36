package sweep_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/jobstest"
	"portico/jobs/sweep"
)

// work runs the site's sweeps, as one replica would.
func (s *site) work() *jobstest.Runner {
	s.T.Helper()
	r := s.Run(s.Store, map[string]jobs.Kind{sweep.Job: s.sweeper})
	s.registry, s.stop = r.Registry, r.Stop
	return r
}

// measure stops the runner, which measures as well, and updates the metrics.
func (s *site) measure() {
	s.T.Helper()
	s.stop()
	s.ok(s.sweeper.Measure(s.T.Context(), 0))
}

func (s *site) order(o sweep.Order) jobrow.Job {
	s.T.Helper()
	job, err := s.sweeper.Order(s.T.Context(), o)
	s.ok(err)
	return job
}

// state is where a job stands, and its report.
func (s *site) state(j jobrow.Job) (jobrow.State, sweep.Report) {
	s.T.Helper()
	now, err := s.Store.Jobs.Get(context.Background(), j.Subscription, j.ID)
	s.ok(err)
	var payload struct{ Progress sweep.Report }
	s.ok(json.Unmarshal([]byte(now.Payload), &payload))
	return now.State, payload.Progress
}

func (s *site) ends(j jobrow.Job, want jobrow.State) sweep.Report {
	s.T.Helper()
	s.Within("the end of the sweep", func() bool { state, _ := s.state(j); return state.Ended() })
	state, report := s.state(j)
	if state != want {
		s.T.Fatalf("it ended as %s: %+v", state, report)
	}
	return report
}

func (s *site) gauge(name string, labels ...string) float64 {
	s.T.Helper()
	return (&jobstest.Runner{Registry: s.registry}).Metric(s.T, name, labels...)
}

func TestSweepJob(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("v"))
	s.east.hold(vm("v"), machineID(secondSub, "nobodys", "x"))
	first, second := s.order(everything), s.order(everything)
	if first.Name() != second.Name() {
		t.Errorf("two jobs for one order: %s, %s", first.Name(), second.Name())
	}
	dry := s.order(sweep.Order{DryRun: true})
	one := s.order(sweep.Order{Subscription: jobstest.Subscription})
	if dry.Name() == first.Name() || one.Name() == first.Name() || one.Subscription != jobstest.Subscription {
		t.Errorf("%s, %s, %s", first.Name(), dry.Name(), one.Name())
	}
	s.west.fail(always(http.StatusForbidden))
	s.work()
	s.ends(first, jobrow.Failed)
	s.west.fail(nil)
	again := s.order(everything)
	if again.Name() != first.Name() || again.Incarnation == first.Incarnation {
		t.Error("a sweep that has ended was joined")
	}
	report := s.ends(again, jobrow.Done)
	if !report.Complete() || report.CorrelationID == "" || !s.knows(vm("v")) {
		t.Errorf("%+v", report)
	}
	s.measure()
	if got := s.gauge("portico_index_drift", "unknown_group"); got != 1 {
		t.Errorf("drift %v", got)
	}
	if s.gauge("portico_index_strays") != 1 || s.gauge("portico_sweep_last_success_timestamp_seconds") < float64(first.Created.Unix()) {
		t.Error("the metrics do not tell of the sweep")
	}
}

func (s *site) knows(id string) bool {
	_, err := s.Store.Resource(s.T.Context(), jobstest.Subscription, id)
	return err == nil
}

// A sweep that was interrupted goes on behind the last step that was recorded,
// with what it had found until then.
func TestSweepResumes(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("v"), machineID(secondSub, "g", "w"))
	s.group(secondSub, "g")
	for _, sub := range []string{jobstest.Subscription, secondSub} { // so that no other sweep begins
		for _, typ := range []string{jobstest.Machines, disks} {
			for _, region := range []string{"westus", "eastus"} {
				s.ok(s.Store.Coverage.Cover(t.Context(), sub, typ, region, time.Now()))
			}
		}
	}
	job := s.order(everything)
	claimed, err := s.Store.Jobs.Claim(t.Context(), "dead", time.Millisecond, 1)
	s.ok(err)
	var payload map[string]any
	s.ok(json.Unmarshal([]byte(claimed[0].Payload), &payload))
	payload["place"] = map[string]string{"subscription": jobstest.Subscription, "type": strings.ToLower(disks)}
	payload["progress"] = map[string]any{"started": time.Now().Add(-time.Hour), "correlationId": "c", "missingRows": map[string]any{"count": 41}}
	text, err := json.Marshal(payload)
	s.ok(err)
	s.ok(s.Store.Jobs.Save(t.Context(), &claimed[0], string(text)))
	s.work()
	report := s.ends(job, jobrow.Done)
	if report.MissingRows.Count != 42 || report.CorrelationID != "c" || report.Done != 8 || report.Ended.Sub(report.Started) < time.Hour {
		t.Errorf("%+v", report)
	}
	if slices.ContainsFunc(s.west.lists, func(path string) bool { return strings.Contains(path, jobstest.Subscription) }) {
		t.Errorf("it began again: %q", s.west.lists)
	}
	s.absent(vm("v"))
}

func TestSweepIsCancelled(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("v"))
	started, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(ended) })
	s.west.fail(func(r *http.Request) int {
		select {
		case started <- struct{}{}:
		default:
		}
		select {
		case <-r.Context().Done():
		case <-ended:
		}
		return http.StatusServiceUnavailable
	})
	job := s.order(everything)
	s.work()
	<-started
	s.ok(s.Store.CancelJob(t.Context(), job.Subscription, job.ID))
	s.ends(job, jobrow.Cancelled)
	if s.knows(vm("v")) {
		t.Error("it went on")
	}
}

func TestSweepsAreScheduled(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("v"))
	s.sweeper = s.newSweeper(150 * time.Millisecond)
	// What is not covered is swept at once, the subscription of the second row
	// too, again until every region has answered.
	s.east.fail(always(http.StatusServiceUnavailable))
	s.work()
	s.Within("adoption", func() bool { return s.knows(vm("v")) })
	s.Within("the cover of what answers", func() bool { return slices.Equal(s.uncovered(jobstest.Machines), []string{"eastus"}) })
	s.west.hold(vm("later"))
	s.Within("a scheduled sweep", func() bool { return s.knows(vm("later")) })
	s.west.hold(vm("latest"))
	s.Within("the next one", func() bool { return s.knows(vm("latest")) })
	var kinds []string
	for _, job := range s.Jobs() {
		kinds = append(kinds, job.Subject)
	}
	slices.Sort(kinds)
	if len(kinds) != 3 {
		t.Errorf("jobs: %q", kinds)
	}
	s.east.fail(nil)
	s.Within("cover", func() bool { return len(s.uncovered(jobstest.Machines))+len(s.uncovered(disks)) == 0 })
	s.Within("an end of what was to be covered", func() bool {
		return !slices.ContainsFunc(s.Jobs(), func(j jobrow.Job) bool { return j.Subscription != "" && !j.State.Ended() })
	})
}

// Without an interval nothing is swept but what is not covered; and what is
// covered already is not swept at the start.
func TestNothingIsScheduledWithoutAnInterval(t *testing.T) {
	s := newSite(t)
	s.sweep(everything)
	s.ok(s.sweeper.Schedule(t.Context()))
	if jobs := s.Jobs(); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}

// An order of what is not covered leaves the rest alone.
func TestSweepOfTheUncovered(t *testing.T) {
	s := newSite(t)
	s.sweep(everything)

	s.west.hold(vm("v"))
	report := s.sweep(sweep.Order{Subscription: jobstest.Subscription, Uncovered: true})
	s.finds(report, 0, 0, 0, 0, 0)
	if !report.Complete() {
		t.Errorf("%+v", report)
	}
}

// What is not covered is swept until it is, though nothing else is scheduled.
func TestSweepOfTheUncoveredIsTriedAgain(t *testing.T) {
	s := newSite(t)
	s.west.hold(vm("v"))
	s.east.hold(vm("e"))
	s.east.fail(always(http.StatusForbidden))
	s.work()
	s.Within("the cover of what answers", func() bool { return slices.Equal(s.uncovered(jobstest.Machines), []string{"eastus"}) })
	s.east.fail(nil)
	s.Within("cover", func() bool { return len(s.uncovered(jobstest.Machines))+len(s.uncovered(disks)) == 0 })
	s.holds(jobstest.Subscription, "e@eastus", "v@westus")
	s.Within("the end of its job", func() bool {
		return !slices.ContainsFunc(s.Jobs(), func(j jobrow.Job) bool { return !j.State.Ended() })
	})
}
