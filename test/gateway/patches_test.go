package gateway_test

import (
	"context"
	"slices"
	"testing"

	"portico/inventory"
	"portico/inventory/jobrow"
)

// A PATCH that has not ended is followed, or leaves the row to be asked for, and the
// asking shows in the index what became of it, whether or not the client polls.
func TestPatchesThatHaveNotEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		code   string
		header []string
	}{
		{"accepted", 202, "", []string{"x-contoso-async", "location", "x-contoso-duration", "1ms"}},
		{"accepted without a polling URL", 202, "", []string{"x-contoso-async", "no-url", "x-contoso-duration", "1ms"}},
		{"applied without a word", 502, "BadGatewayConnection", []string{"x-contoso-fault", "reset-after"}},
		{"answered with a body that breaks off", 200, "", []string{"x-contoso-fault", "bad-json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, setup{})
			s.group("g")
			m := s.machine("g", "m", "westus")
			s.want(c.status, c.code, "PATCH", m+api, `{"tags":{"a":"new"}}`, c.header...)
			row, there := s.row(m)
			if !there || row.Verify == (c.status == 202) || row.FollowPatch != (c.status == 202) {
				t.Fatalf("verify %t, followed %t", row.Verify, row.FollowPatch)
			}
			s.within("the tags in the index", func() bool {
				if row, _ := s.row(m); row.FollowPatch {
					s.endFollows() // as the job that follows does
				}
				row, _ := s.row(m)
				if row.Verify {
					if _, err := s.prober().Probe(context.Background(), request(t, s.server, "GET", "/", "", "Host", "portico.example").Header, row); err != nil {
						t.Fatal(err)
					}
				}
				row, _ = s.row(m)
				return firm(row) && row.Details.Tags["a"] == "new"
			})
		})
	}
}

// endFollows ends what is followed.
func (s *site) endFollows() {
	s.t.Helper()
	jobs, err := s.store.Jobs.List(s.t.Context(), jobrow.Query{Kind: inventory.FollowJob})
	must(s.t, err)
	for _, j := range jobs {
		follow, err := inventory.ReadFollow(j)
		if err == nil {
			_, err = s.store.Follows.End(s.t.Context(), j.Subscription, j.Subject, follow.Kind, j.Incarnation, nil)
		}
		must(s.t, err)
	}
}

// One without an answer may land as late as any other write: what the provider
// said before its time was over is not the last word.
func TestPatchThatLandsLate(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	upper := machinePath("g", "M")
	s.want(502, "BadGatewayConnection", "PATCH", upper+api, `{"tags":{"a":"late"}}`, "x-contoso-fault", "late=200ms")
	s.ok(200, "GET", m+api, "") // as a rule it has not landed yet
	if row, _ := s.row(m); !firm(row) || s.openWrites("g") != 1 {
		t.Fatalf("%+v", row)
	}
	s.within("the PATCH", func() bool { return slices.Contains(s.at("westus").holds(), upper) })
	s.expireOpenWrites()
	if row, _ := s.row(m); !row.Verify || s.openWrites("g") != 0 {
		t.Errorf("%+v", row)
	}
	s.ok(200, "GET", m+api, "")
	if row, _ := s.row(m); !firm(row) || row.ID != upper || row.Details.Tags["a"] != "late" {
		t.Errorf("%+v", row)
	}
}

func TestRefusedPatchLeavesTheRowFirm(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(400, "ContosoFault", "PATCH", m+api, `{"tags":{"a":"b"}}`, "x-contoso-fault", "status=400")
	s.want(404, "ContosoFault", "PATCH", m+api, `{"tags":{"a":"b"}}`, "x-contoso-fault", "status=404")
	if row, there := s.row(m); !there || !firm(row) || s.openWrites("g") != 0 {
		t.Errorf("%+v", row)
	}
}
