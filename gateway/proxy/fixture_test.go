package proxy

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/config/configtest"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/storetest"
	"portico/routing"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	machine      = "/subscriptions/" + subscription + "/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m"
)

const configuration = `
server: {publicURL: "http://portico.example", region: westus, listen: "127.0.0.1:8080"}
auth: {mode: none}
regions: [{name: westus}, {name: eastus}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {westus: ["http://127.0.0.1:7"], global: ["http://127.0.0.1:9"], eastus: ["http://127.0.0.1:8"]}
    resourceTypes: [{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}]
`

// fixture is a proxy over a real store that makes no call.
type fixture struct {
	*Proxy
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
	f := fixture{t: t, Proxy: &Proxy{
		Config: c, Public: c.Server.PublicURL, Store: store, Log: zap.NewNop()}}
	f.ok(store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: subscription, DisplayName: "First", Covered: true}}))
	_, _, err = store.EditGroup(t.Context(), subscription, "g", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Name: "g", Location: "westus", ETag: "1"}, nil
	})
	f.ok(err)
	return f
}

func (f fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// put is a PUT of the machine.
func (f fixture) put() *routing.Request {
	f.t.Helper()
	q, fault := routing.Classify(f.Config.Map, http.MethodPut, machine, "api-version=2024-01-01")
	if fault != nil {
		f.t.Fatal(fault)
	}
	return q
}

// begin records the intent of a write of the machine.
func (f fixture) begin(kind index.WriteKind, region string) inventory.Ticket {
	f.t.Helper()
	location := region
	if kind == index.Delete {
		location = ""
	}
	ticket, err := f.Store.Begin(f.t.Context(), inventory.Write{
		Kind: kind, Subscription: subscription, Group: "g", Key: machine, ID: machine, Name: "m", Type: "Contoso.Compute/virtualMachines",
		TypeName: "Contoso.Compute/virtualMachines", Region: region, Location: location, APIVersion: "2024-01-01",
	})
	f.ok(err)
	return ticket
}

// write is a successful write of the machine.
func (f fixture) write(kind index.WriteKind, region string) {
	f.t.Helper()
	_, err := f.Store.Settle(f.t.Context(), f.begin(kind, region), inventory.WriteResult{Outcome: index.ReadAnswer(kind, http.StatusOK, true), Status: http.StatusOK})
	f.ok(err)
}

// row is the machine's.
func (f fixture) row() inventory.Resource {
	f.t.Helper()
	row, err := f.Store.Resource(f.t.Context(), subscription, machine)
	f.ok(err)
	return row
}
