package gateway

import "testing"

// A client that polls the resource itself, for its state, has seen the end of its
// PUT when that is terminal: what it does next is not held up by the follow.
func TestEndThatAReadShows(t *testing.T) {
	for name, update := range map[string]bool{"of a create": false, "of an update": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, setup{})
			s.group("g")
			m, status := machinePath("g", "m"), 201
			if update {
				s.machine("g", "m", "westus")
				status = 200
			}
			s.ok(status, "PUT", m+api, westus, "x-contoso-async", "state", "x-contoso-duration", "1h")
			s.ok(200, "GET", m+api, "") // is remembered
			if row, _ := s.row(m); !row.FollowPut {
				t.Errorf("a state that is not terminal ended the follow: %+v", row)
			}
			s.at("westus").clock.advance(2 * hour)
			s.ok(200, "GET", m+api, "")
			if row, _ := s.row(m); !firm(row) || row.FollowPut || row.ProvisioningState != "Succeeded" {
				t.Errorf("what the client saw did not settle the row: %+v", row)
			}
			s.ok(200, "DELETE", m+api, "")
			if row, there := s.row(m); there {
				t.Errorf("the DELETE left the row: %+v", row)
			}
			s.ok(201, "PUT", m+api, eastus)
		})
	}
}
