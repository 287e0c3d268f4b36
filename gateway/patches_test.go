package gateway

import (
	"context"
	"testing"
)

// A PATCH that has not ended leaves the row to be asked for, and the asking
// shows in the index what became of it, whether or not the client polls.
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
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, setup{})
			s.group("g")
			m := s.machine("g", "m", "westus")
			s.want(c.status, c.code, "PATCH", m+api, `{"tags":{"a":"new"}}`, c.header...)
			row, there := s.row(m)
			if !there || !row.Verify {
				t.Fatalf("the row is not in doubt: %+v", row)
			}
			s.within("the tags in the index", func() bool {
				row, _ := s.row(m)
				if row.Verify {
					if _, err := s.gateway.asker.Ask(context.Background(), request(t, s.server, "GET", "/", "", "Host", "portico.example").Header, row); err != nil {
						t.Fatal(err)
					}
				}
				row, _ = s.row(m)
				return firm(row) && row.Details.Tags["a"] == "new"
			})
		})
	}
}

func TestRefusedPatchLeavesTheRowFirm(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(400, "ContosoFault", "PATCH", m+api, `{"tags":{"a":"b"}}`, "x-contoso-fault", "status=400")
	if row, there := s.row(m); !there || !firm(row) {
		t.Errorf("%+v", row)
	}
}
