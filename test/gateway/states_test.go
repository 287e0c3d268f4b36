package gateway_test

import (
	"strings"
	"testing"
)

// A client that polls the resource itself, for its state, has seen the end of its
// PUT when that is terminal: what it does next is not held up by the follow. Providers
// spell one of these states in two ways.
func TestEndThatAReadShows(t *testing.T) {
	for name, update := range map[string]bool{"of a create": false, "of an update": true} {
		for _, end := range []string{"Succeeded", "Failed", "Canceled", "Cancelled"} {
			t.Run(name+" "+end, func(t *testing.T) {
				s := newSite(t, setup{})
				s.group("g")
				m, status := machinePath("g", "m"), 201
				if update {
					s.machine("g", "m", "westus")
					status = 200
				}
				s.ok(status, "PUT", m+api, westus, "x-contoso-async", "state", "x-contoso-duration", "1h", "x-contoso-outcome", end)
				s.ok(200, "GET", m+api, "") // is remembered
				if row, _ := s.row(m); !row.FollowPut {
					t.Errorf("a state that is not terminal ended the follow: %+v", row)
				}
				s.at("westus").clock.advance(2 * hour)
				if got := s.ok(200, "GET", m+api, ""); !strings.Contains(got.text, `"provisioningState":"`+end+`"`) {
					t.Errorf("not as the provider spells it: %s", got.text)
				}
				if row, _ := s.row(m); !firm(row) || row.FollowPut || row.ProvisioningState != end {
					t.Errorf("what the client saw did not settle the row: %+v", row)
				}
				listed := decode[named](t, s.ok(200, "GET", inSubscription+"/resources"+own+"&$expand=provisioningState", ""))
				if len(listed.Value) != 1 || listed.Value[0].ProvisioningState != end {
					t.Errorf("%+v", listed)
				}
				s.ok(200, "DELETE", m+api, "")
				if row, there := s.row(m); there {
					t.Errorf("the DELETE left the row: %+v", row)
				}
				s.ok(201, "PUT", m+api, eastus)
			})
		}
	}
}

// An end that no client reads is found by the job that follows the write, however the
// provider spells it.
func TestEndThatAJobFinds(t *testing.T) {
	for _, end := range []string{"Canceled", "Cancelled"} {
		t.Run(end, func(t *testing.T) {
			s := newSite(t, setup{})
			s.group("g")
			m := machinePath("g", "m")
			s.ok(201, "PUT", m+api, westus, "x-contoso-async", "state", "x-contoso-duration", "1h", "x-contoso-outcome", end)
			s.at("westus").clock.advance(2 * hour)
			s.work()
			s.inTime("the end", func() bool {
				row, there := s.row(m)
				return there && firm(row) && !row.FollowPut && row.ProvisioningState == end
			})
		})
	}
}
