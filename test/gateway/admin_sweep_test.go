package gateway_test

import (
	"strings"
	"testing"

	"portico/inventory/jobrow"
	"portico/jobs/sweep"
)

type sweepJob struct {
	ID, State, Subject string
	Progress           sweep.Report
}

// swept waits for the end of a sweep that was ordered.
func (s *site) swept(ordered seen, state string) sweep.Report {
	s.t.Helper()
	job := decode[sweepJob](s.t, ordered)
	if want := "/admin/jobs/" + job.ID; ordered.header.Get("Location") != want {
		s.t.Fatalf("Location %q, want %q", ordered.header.Get("Location"), want)
	}
	s.within("the end of the sweep", func() bool {
		job = decode[sweepJob](s.t, s.request(200, "", "GET", ordered.header.Get("Location"), ""))
		return job.State != "Waiting"
	})
	if job.State != state {
		s.t.Errorf("%+v", job)
	}
	return job.Progress
}

func TestAdminSweeps(t *testing.T) {
	s := newSite(t, setup{})
	s.group("G")
	old := machinePath("G", "Old")
	s.at("eastus").do("PUT", old+api, `{"location":"eastus"}`, 201)
	first := s.request(202, "", "POST", "/admin/sweeps", `{"dryRun":true}`)
	again := s.request(202, "", "POST", "/admin/sweeps", `{"dryRun":true}`)
	if first.header.Get("Location") != again.header.Get("Location") {
		t.Error("the same order is another job")
	}
	s.work()
	if r := s.swept(first, "Done"); !r.DryRun || r.MissingRows.Count != 1 || r.MissingRows.IDs[0] != old {
		t.Errorf("%+v", r)
	}
	if _, found := s.row(old); found {
		t.Error("a dry run adopted")
	}
	one := s.request(202, "", "POST", "/admin/sweeps", `{"subscription":"`+strings.ToUpper(subscription)+`"}`)
	if r := s.swept(one, "Done"); r.Subscription != subscription || r.MissingRows.Count != 1 {
		t.Errorf("%+v", r)
	}
	if row, _ := s.row(old); !firm(row) || row.Region != "eastus" {
		t.Errorf("%+v", row)
	}
	if r := s.swept(s.request(202, "", "POST", "/admin/sweeps", ""), "Done"); r.Subscription != "" || r.MissingRows.Count != 0 {
		t.Errorf("%+v", r)
	}
	s.within("the metrics", func() bool {
		text := s.request(200, "", "GET", "/metrics", "").text
		return strings.Contains(text, `portico_index_drift{kind="missing_row"} 0`) && strings.Contains(text, "portico_index_strays 0") &&
			!strings.Contains(text, "portico_sweep_last_success_timestamp_seconds 0\n")
	})
	for _, c := range []struct {
		status     int
		code, body string
	}{
		{404, "SubscriptionNotFound", `{"subscription":"` + foreign + `"}`},
		{400, "InvalidSubscriptionId", `{"subscription":"x"}`},
		{400, "InvalidRequestContent", `{"dryRun":1}`},
		{400, "InvalidRequestContent", `{"dry":true}`},
		{400, "InvalidRequestContent", `{} {}`},
		{400, "InvalidRequestContent", `{`},
	} {
		s.request(c.status, c.code, "POST", "/admin/sweeps", c.body)
	}
	s.request(405, "", "GET", "/admin/sweeps", "")
}

// A subscription that is taken over with what it holds is swept at once.
func TestAdminTakesOverASubscription(t *testing.T) {
	s := newSite(t, setup{})
	created := s.request(201, "", "PUT", "/admin/subscriptions/"+foreign, `{"tenantId":"`+otherTenant+`","covered":false}`)
	if !strings.Contains(created.text, `"covered":false`) {
		t.Errorf("%s", created.text)
	}
	// Before any runner could order it of itself, as each does once.
	ordered, err := s.store.Jobs.List(t.Context(), jobrow.Query{Kind: sweep.Job})
	if err != nil || len(ordered) != 1 || ordered[0].Subscription != foreign {
		t.Errorf("%+v, %v", ordered, err)
	}
	s.work()
	s.within("its cover", func() bool {
		for _, typ := range []string{"contoso.compute/virtualmachines", "contoso.compute/virtualmachines/disks", "contoso.insight/profiles"} {
			left, err := s.store.Coverage.Uncovered(t.Context(), foreign, typ, []string{"westus", "eastus"})
			if typ == "contoso.insight/profiles" {
				left, err = s.store.Coverage.Uncovered(t.Context(), foreign, typ, []string{"global"})
			}
			if err != nil || len(left) > 0 {
				return false
			}
		}
		return true
	})
}
