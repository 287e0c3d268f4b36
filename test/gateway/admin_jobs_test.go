package gateway_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/gateway"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
)

type jobPage struct {
	Value    []struct{ ID, Kind, State, Subject, Due, Owner string }
	NextLink string
}

func (s *site) addJob(kind, subject, payload string) string {
	s.t.Helper()
	j := jobrow.Job{ID: jobrow.ID(kind, subject), Kind: kind, Subject: subject, Payload: payload}
	if _, err := s.store.Jobs.Add(context.Background(), j); err != nil {
		s.t.Fatal(err)
	}
	return j.Name()
}

func TestAdminJobs(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.ok(202, "PUT", machinePath("g", "m")+api, westus, "x-contoso-async", "accepted", "x-contoso-duration", "1h")
	want := map[string]bool{}
	for _, subject := range []string{"a", "b", "c", "d", "e"} {
		want[s.addJob("batch", subject, `{"secret":"x1","progress":{"done":7}}`)] = true
	}
	pages := 0
	for target := "/admin/jobs?kind=batch&limit=2"; target != ""; pages++ {
		page := decode[jobPage](t, s.request(200, "", "GET", target, ""))
		for _, j := range page.Value {
			if !want[j.ID] || j.State != "Waiting" || j.Kind != "batch" || j.Due == "" {
				t.Errorf("%+v", j)
			}
			delete(want, j.ID)
		}
		target = page.NextLink
	}
	if len(want) != 0 || pages != 3 {
		t.Errorf("%v were not listed on %d pages", want, pages)
	}
	all := decode[jobPage](t, s.request(200, "", "GET", "/admin/jobs", ""))
	if len(all.Value) != 6 || all.NextLink != "" {
		t.Errorf("%+v", all)
	}
	batch := s.addJob("batch", "f", `{"secret":"x1","progress":{"done":7}}`)
	if got := s.request(200, "", "GET", "/admin/jobs/"+batch, "").text; !strings.Contains(got, `"progress":{"done":7}`) || strings.Contains(got, "x1") {
		t.Errorf("%s", got)
	}
	follow := decode[jobPage](t, s.request(200, "", "GET", "/admin/jobs?kind=follow", "")).Value[0]
	if got := s.request(200, "", "GET", "/admin/jobs/"+follow.ID, "").text; strings.Contains(got, "operation") || follow.Subject != strings.ToLower(machinePath("g", "m")) {
		t.Errorf("%s", got)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/jobs?limit=0", "")
	for _, kind := range []string{"follows", "Follow"} {
		s.request(400, "InvalidQueryParameter", "GET", "/admin/jobs?kind="+kind, "").says(t, "The query parameter 'kind' is invalid: it must be one of "+strings.Join(slices.Sorted(maps.Keys(gateway.Kinds())), ", ")+".")
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/jobs?after=x", "")
	for _, unknown := range []string{"x", "-." + strings.Repeat("0", 32)} {
		s.request(404, "ResourceNotFound", "GET", "/admin/jobs/"+unknown, "")
		s.request(404, "ResourceNotFound", "POST", "/admin/jobs/"+unknown+"/cancel", "")
	}
	s.request(409, "Conflict", "POST", "/admin/jobs/"+follow.ID+"/cancel", "")
}

func TestAdminCancelsAJob(t *testing.T) {
	s := newSite(t, setup{})
	s.surveying()
	name := s.addJob("survey", "a", "{}")
	for range 2 {
		if got := s.request(202, "", "POST", "/admin/jobs/"+name+"/cancel", ""); !strings.Contains(got.text, `"state":"Cancelling"`) {
			t.Errorf("%s", got.text)
		}
	}
	jobs, err := s.store.Jobs.Claim(t.Context(), "me", time.Minute, 1)
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	must(t, s.store.Jobs.End(t.Context(), jobs[0], jobrow.Cancelled, "{}"))
	got := s.request(200, "", "GET", "/admin/jobs/"+name, "").text
	if !strings.Contains(got, `"state":"Cancelled"`) || strings.Contains(got, "due") {
		t.Errorf("%s", got)
	}
	s.request(409, "Conflict", "POST", "/admin/jobs/"+name+"/cancel", "")
}

// A write that was accepted is followed by what its answer named, in each form
// that the contract has.
func TestAcceptedWritesAreFollowed(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	for mode, want := range map[string]struct {
		path   string
		status bool
	}{"location": {"operationResults", false}, "azure-async": {"operationStatuses", true}, "azure-async-only": {"operationStatuses", true}, "no-url": {}} {
		m := machinePath("g", mode)
		s.machine("g", mode, "westus")
		s.ok(202, "DELETE", m+api, "", "x-contoso-async", mode, "x-contoso-duration", "1h", "x-contoso-retry-after", "1800")
		jobs, err := s.store.Jobs.List(t.Context(), jobrow.Query{Kind: inventory.FollowJob})
		must(t, err)
		for _, j := range jobs {
			if !strings.EqualFold(j.Subject, m) {
				continue
			}
			follow, err := inventory.ReadFollow(j)
			if err != nil || !strings.Contains(follow.Path, want.path) || want.path == "" && follow.Path != "" || follow.Status != want.status {
				t.Errorf("%s: %+v %v", mode, follow, err)
			}
			if wait := j.Due.Sub(j.Created); want.path != "" && wait != 30*time.Minute {
				t.Errorf("%s: the first poll after %v", mode, wait)
			}
			want.path = "seen"
		}
		if want.path != "seen" {
			t.Errorf("%s is not followed", mode)
		}
	}
}

// A client's poll ends the follow of the operation that it polls, not of a
// later one.
func TestPollOfAnEarlierOperation(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	first := s.ok(202, "PUT", m+api, westus, "x-contoso-async", "accepted", "x-contoso-duration", "1h")
	second := s.ok(202, "PUT", m+api, westus, "x-contoso-async", "accepted", "x-contoso-duration", "9h")
	s.at("westus").clock.advance(2 * hour)
	s.want(409, "OperationPreempted", "GET", s.local(first.header.Get("Location")), "")
	if row, _ := s.row(m); !row.FollowPut {
		t.Error("the end of an earlier operation ended the follow of a later one")
	}
	s.at("westus").clock.advance(9 * hour)
	s.ok(200, "GET", s.local(second.header.Get("Location")), "")
	if row, _ := s.row(m); row.FollowPut {
		t.Error("the end of the operation did not end its follow")
	}
}

// Each gateway works under a name of its own.
func TestOwners(t *testing.T) {
	if a, b := jobs.NewOwner(), jobs.NewOwner(); a == b || !strings.Contains(a, "-") {
		t.Errorf("%q, %q", a, b)
	}
}
