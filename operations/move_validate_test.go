package operations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/config"
	"portico/inventory"
	"portico/locate"
	"portico/operations"
)

// A provider that accepts a validation and never ends it keeps neither the caller
// waiting for ever nor the place of those that come after.
func TestValidationThatDoesNotEnd(t *testing.T) {
	for name, poll := range map[string]int{"it goes on": http.StatusAccepted, "nobody says": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.live()
			if _, _, err := b.store.EditGroup(t.Context(), subscription, "h", func(*inventory.Group) (*inventory.Group, error) {
				return &inventory.Group{Subscription: subscription, Name: "h", Location: "westus"}, nil
			}); err != nil {
				t.Fatal(err)
			}
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(poll)
					return
				}
				w.Header().Set("Location", "/subscriptions/"+subscription+"/providers/Contoso.Compute/operations/1")
				w.WriteHeader(http.StatusAccepted)
			}))
			t.Cleanup(provider.Close)
			cfg, err := config.Parse("test.yaml", fmt.Appendf(nil, `
server: {publicURL: "https://portico.example", region: westus}
regions: [{name: westus}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {westus: [%[1]q], global: [%[1]q]}
    resourceTypes: [{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"], capabilities: {move: true}}]
`, provider.URL))
			if err != nil {
				t.Fatal(err)
			}
			moving := operations.NewMoving(operations.Moving{
				Asker:  locate.Prober{Map: cfg.Map, Upstream: b.client, Store: b.store, Public: b.public, Timeout: 5 * time.Second},
				Sender: "test", Region: "westus", Budget: time.Hour, Limit: 300 * time.Millisecond, Floor: floor, Log: zap.NewNop(),
			}, prometheus.NewRegistry())
			payload := operations.MovePayload{
				Source: inventory.GroupName{Subscription: subscription, Name: "g"}, Target: inventory.GroupName{Subscription: subscription, Name: "h"},
				Resources: []string{machine}, Path: "/", Correlation: "c",
			}
			id := inventory.JobID(inventory.ValidateMoveJob, "g")
			if _, err := b.store.AddJob(t.Context(), inventory.Job{
				Subscription: subscription, ID: id, Kind: inventory.ValidateMoveJob, Subject: "g", Payload: payload.String(),
			}); err != nil {
				t.Fatal(err)
			}
			b.run(b.store, with(inventory.ValidateMoveJob, operations.MoveValidation{Moving: moving}))
			b.within("its end", func() bool { return b.load(id).State.Ended() })
			ended := b.load(id)
			p, err := operations.ReadMove(ended)
			if err != nil || ended.State != inventory.JobFailed || !strings.Contains(string(p.Fault), "ResourceMoveTimeout") {
				t.Errorf("%v, %v: %s", ended.State, err, p.Fault)
			}
		})
	}
}
