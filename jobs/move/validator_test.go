package move_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/jobstest"
	"portico/jobs/move"
)

// A provider that accepts a validation and never ends it keeps neither the caller
// waiting for ever nor the place of those that come after.
func TestValidationThatDoesNotEnd(t *testing.T) {
	for name, poll := range map[string]int{"it goes on": http.StatusAccepted, "nobody says": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(poll)
					return
				}
				w.Header().Set("Location", "/subscriptions/"+jobstest.Subscription+"/providers/Contoso.Compute/operations/1")
				w.WriteHeader(http.StatusAccepted)
			}))
			t.Cleanup(provider.Close)
			b := jobstest.NewCompute(t, provider.URL, `{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"], capabilities: {move: true}}`)
			b.Group("g")
			b.Group("h")
			b.Live()
			mover := &move.Mover{
				Prober: b.Prober(b.Store),
				Sender: "test", Region: "westus", Budget: time.Hour, Limit: 300 * time.Millisecond, Floor: jobstest.Floor, Authorizer: allowed(""), Log: zap.NewNop(),
			}
			payload := move.Payload{
				Source: inventory.GroupName{Subscription: jobstest.Subscription, Name: "g"}, Target: inventory.GroupName{Subscription: jobstest.Subscription, Name: "h"},
				Resources: []string{jobstest.Machine}, Path: "/", Commission: jobs.Commission{Correlation: "c"},
			}
			id := jobrow.ID(inventory.ValidateMoveJob, "g")
			if _, err := b.Store.Jobs.Add(t.Context(), jobrow.Job{
				Subscription: jobstest.Subscription, ID: id, Kind: inventory.ValidateMoveJob, Subject: "g", Payload: payload.String(),
			}); err != nil {
				t.Fatal(err)
			}
			b.Run(b.Store, map[string]jobs.Kind{inventory.ValidateMoveJob: move.Validator{Mover: mover}})
			b.Within("its end", func() bool { return b.Load(id).State.Ended() })
			ended := b.Load(id)
			p, err := move.ReadPayload(ended)
			if err != nil || ended.State != jobrow.Failed || !strings.Contains(string(p.Fault), "ResourceMoveTimeout") {
				t.Errorf("%v, %v: %s", ended.State, err, p.Fault)
			}
		})
	}
}
