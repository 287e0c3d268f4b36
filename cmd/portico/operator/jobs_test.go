package operator

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"portico/gateway/admin/api"
)

// A job that waits is named as the list of jobs shows it.
func TestUnstickTakesTheEndOfAJobsID(t *testing.T) {
	alone(t)
	all := answers()
	all["POST /admin/unstick"] = api.Unstuck{Target: "a job", Outcome: "It goes on now."}
	l := startListener(t, all)
	shows(t, l, "unstick 456789abcdef --ask", "It goes on now.")
	if want := someSubscription + ".0123456789abcdef0123456789abcdef"; l.sent().Job != want {
		t.Errorf("the service was asked for %q, want %q", l.sent().Job, want)
	}
	shows(t, l, "unstick 000000001234 --ask", "It goes on now.")
	if want := "-.00000000000000000000000000001234"; l.sent().Job != want {
		t.Errorf("the service was asked for %q, want %q", l.sent().Job, want)
	}
	l.set("POST /admin/unstick", api.Unstuck{Target: "a job", Outcome: "It goes on now.", DryRun: true})
	shows(t, l, "unstick 000000001234 --ask --dry-run", "nothing was done", "It goes on now.")
	refuses(t, l, "unstick ffffffffffff --ask", "portico jobs list")
}

func TestDeletionShowsItsMembersAndItsLimit(t *testing.T) {
	alone(t)
	all := answers()
	job := all["GET /admin/jobs"].(api.Page[api.Job]).Value[0]
	job.Created = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	until := job.Created.Add(6 * time.Hour)
	job.Until, job.Limit = &until, "groupDelete.limit"
	due := time.Now().Add(5*time.Minute + time.Second)
	all["GET /admin/jobs/{id}"] = job
	all["GET /admin/jobs/{id}/members"] = api.DeletionMembers{Group: someGroup, Members: []api.DeletionMember{
		{ID: someID, Region: "northeurope", State: api.MemberRefused, Tries: 7, Why: "409 from the provider: " + evil, Due: &due},
		{ID: someGroup + "/providers/A.B/c/d", State: api.MemberWaiting, Region: "westus"},
	}}
	job.History = []api.JobStep{{At: job.Created, Replica: "host-1234", Outcome: "again", Did: "2 of 4 are deleted." + evil}}
	all["GET /admin/jobs/{id}"] = job
	l := startListener(t, all)
	shows(t, l, "jobs show cdef --history", "Left to delete, 2", "Latest steps", "again", "host-1234", "2 of 4 are deleted.")
	if text, _, _ := answer(t, l, "jobs show cdef"); strings.Contains(text, "host-1234") {
		t.Errorf("steps that were not asked for:\n%s", text)
	}
	shows(t, l, "jobs show cdef", "Waiting", "until 2026-01-02T09:00:00Z", "groupDelete.limit", "Left to delete, 2", "Contoso.Compute/virtualMachines/", "refused", "7", "in 5m", "409 from the provider", "A.B/c/d", "waiting")
	if text, _, _ := answer(t, l, "jobs show cdef -o json"); strings.Contains(text, "members") {
		t.Errorf("JSON is not what the job's route answers:\n%s", text)
	}
	t.Setenv("NO_COLOR", "1")
	if text := onTerminal(t, l, 80, "jobs show cdef"); !strings.Contains(text, "refused") || !strings.Contains(text, "409") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("on 80 columns:\n%s", text)
	}
}

func TestDeletionThatIsBeingCanceledWaitsForNothing(t *testing.T) {
	alone(t)
	all := answers()
	job := all["GET /admin/jobs"].(api.Page[api.Job]).Value[0]
	until := time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC)
	job.State, job.Until, job.Limit = jobCancelling, &until, "groupDelete.limit"
	job.Progress = json.RawMessage(`{"total":4,"deleted":2,"inFlight":1,"waiting":1,"parked":1,"waitingFor":["northeurope"]}`)
	all["GET /admin/jobs"], all["GET /admin/jobs/{id}"] = api.Page[api.Job]{Value: []api.Job{job}}, job
	all["GET /admin/jobs/{id}/members"] = api.DeletionMembers{Group: someGroup}
	l := startListener(t, all)
	shows(t, l, "jobs show cdef", "It is being canceled")
	if note := noteOf(job); note != "being canceled, 1 in flight" {
		t.Errorf("%s", note)
	}
	if text, _, _ := answer(t, l, "jobs show cdef"); strings.Contains(text, "It tries until") {
		t.Errorf("%s", text)
	}
}
