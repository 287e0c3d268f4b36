package polling

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/config/configtest"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/operations"
	"portico/inventory/storetest"
	"portico/routing"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	other        = "00000000-0000-0000-0000-0000000000aa"

	inSubscription = "/subscriptions/" + subscription
	machines       = inSubscription + "/providers/Contoso.Compute/virtualMachines"
	machine        = inSubscription + "/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m"

	api = "?api-version=2024-01-01"

	// inWestus is the provider's endpoint in westus.
	inWestus = "http://127.0.0.1:7"
)

const configuration = `
server: {publicURL: "http://portico.example", region: westus, listen: "127.0.0.1:8080"}
auth: {mode: none}
regions:
  - {name: westus, displayName: West US}
  - {name: eastus, displayName: East US}
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {westus: ["` + inWestus + `"], global: ["http://127.0.0.1:9"], eastus: ["http://127.0.0.1:8"]}
    resourceTypes:
      - {name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: virtualMachines/runCommands, kind: proxyOnly, apiVersions: ["2024-01-01"]}
  - namespace: Contoso.Insight
    registration: automatic
    endpoints: {westus: ["` + inWestus + `"], global: ["http://127.0.0.1:9"]}
    resourceTypes:
      - {name: workspaces, kind: tracked, apiVersions: ["2024-01-01"]}
`

// fixture is the polling of providers' operations over a real store.
type fixture struct {
	*Forwarded
	t *testing.T
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	c := configtest.Load(t, configuration)
	path := filepath.Join(t.TempDir(), "portico.db")
	storetest.CreateDatabase(t, path)
	store, err := inventory.Open(t.Context(), inventory.Options{
		DSN: path, SendWithin: 5 * time.Second, CallLimit: time.Minute, LateWriteWindow: time.Second, TombstoneAge: time.Hour,
		PollFloor: 5 * time.Millisecond, JobRecords: time.Hour, CacheTTL: time.Minute, CacheEntries: 100,
		Limits: inventory.Limits{ResourcesPerTypeAndGroup: 10, GroupsPerSubscription: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	f := fixture{t: t, Forwarded: &Forwarded{
		Operations: &Operations{Store: store, Public: c.Server.PublicURL, Settings: &c.Operations}, Config: c, Log: zap.NewNop(),
	}}
	if err := store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: subscription, DisplayName: "First", Covered: true}}); err != nil {
		t.Fatal(err)
	}
	return f
}

// put is a PUT of the machine.
func (f fixture) put() *routing.Request {
	f.t.Helper()
	q, fault := routing.Classify(f.Config.Map, http.MethodPut, machine, api[1:])
	if fault != nil {
		f.t.Fatal(fault)
	}
	return q
}

// guarded runs Guard on the headers of an answer to a PUT of the machine.
func (f fixture) guarded(status int, h http.Header) http.Header {
	f.t.Helper()
	q := f.put()
	d := routing.Decision{Region: "westus", Endpoint: q.Type.Endpoint("westus")}
	f.Guard(f.t.Context(), h, &exchange.Exchange{Request: q}, &d, status, nil)
	return h
}

// recorded returns the record of a polling URL.
func (f fixture) recorded(target string) (operations.Operation, error) {
	path, raw, _ := strings.Cut(target, "?")
	q, fault := routing.Classify(f.Config.Map, http.MethodGet, path, raw)
	if fault != nil {
		return operations.Operation{}, fault
	}
	return f.Store.Operations.Operation(f.t.Context(), subscription, routing.PollToken(q.Path.String(), q.Query))
}
