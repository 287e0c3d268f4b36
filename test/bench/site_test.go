package bench

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/config/configtest"
	"portico/gateway"
	"portico/inventory"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
	"portico/upstream"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	group        = "/subscriptions/" + subscription + "/resourceGroups/rg"
	machines     = group + "/providers/Contoso.Compute/virtualMachines/"
	version      = "?api-version=2024-01-01"
)

var engines = []string{engine.SQLite, engine.Postgres}

// database makes an empty one, and of PostgreSQL a cluster for it, whose
// commits wait for the disk.
func database(b testing.TB, driver string) (dsn string) {
	b.Helper()
	if driver == engine.SQLite {
		return filepath.Join(b.TempDir(), "portico.db")
	}
	return harness.StartPostgres(b).CreateDatabase(b, "portico")
}

// newGateway is a gateway over a store of its own, before one endpoint. It
// measures, and writes no log.
func newGateway(b testing.TB, driver, endpoint string) (http.Handler, *inventory.Store) {
	b.Helper()
	return newLoggingGateway(b, driver, endpoint, zap.NewNop())
}

func newLoggingGateway(b testing.TB, driver, endpoint string, log *zap.Logger) (http.Handler, *inventory.Store) {
	b.Helper()
	cfg := configtest.Load(b, fmt.Sprintf(`
server: {publicURL: "http://portico.example", region: westus}
auth: {mode: none}
regions: [{name: westus}, {name: eastus}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    headers: {request: [X-Answer]}
    endpoints: {westus: [%[1]q], eastus: [%[1]q], global: [%[1]q]}
    resourceTypes: [{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}]
`, endpoint))
	ctx := context.Background()
	store, err := inventory.Open(ctx, inventory.Options{
		Driver: driver, DSN: database(b, driver), SendWithin: 5 * time.Second, CallLimit: time.Minute,
		LateWriteWindow: time.Minute, TombstoneAge: time.Hour, CacheTTL: time.Minute, CacheEntries: 1 << 18,
	})
	harness.OK(b, err)
	client := upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: cfg.Limits.AnswerBody})
	b.Cleanup(func() {
		client.Close()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	harness.OK(b, store.SeedSubscriptions(ctx, []inventory.Subscription{{ID: subscription, TenantID: "t", Covered: true}}))
	if _, _, err := store.EditGroup(ctx, subscription, "rg", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Subscription: subscription, Name: "rg", Location: "westus"}, nil
	}); err != nil {
		b.Fatal(err)
	}
	g := gateway.New(gateway.Options{
		Config: cfg, Store: store, Upstream: client, Authenticator: access.Anyone{}, Log: log, Metrics: prometheus.NewRegistry(),
	})
	return g.Public(), store
}

// fill puts n machines into the index, each with a name and some tags.
func fill(b *testing.B, store *inventory.Store, n int) {
	b.Helper()
	var wait sync.WaitGroup
	const writers = 64
	for w := range writers {
		wait.Go(func() {
			for i := w; i < n; i += writers {
				if err := put(store, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}

func put(store *inventory.Store, i int) error {
	ctx := context.Background()
	ticket, err := store.Begin(ctx, machine(fmt.Sprintf("vm%06d", i), []string{"westus", "eastus"}[i%2]))
	if err != nil {
		return err
	}
	_, err = store.Settle(ctx, ticket, inventory.WriteResult{Outcome: index.Succeeded, Status: http.StatusOK, Details: &inventory.Details{
		Tags: map[string]string{"env": "prod", "shard": fmt.Sprint(i % 100)},
	}})
	return err
}

// machine is a PUT of a virtual machine.
func machine(name, region string) inventory.Write {
	return inventory.Write{
		Kind: index.Put, Subscription: subscription, Group: "rg", Key: machines + name, ID: machines + name,
		Type: "Contoso.Compute/virtualMachines", TypeName: "Contoso.Compute/virtualMachines",
		Region: region, Location: region, APIVersion: "2024-01-01",
	}
}
