package operations_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"portico/config"
	"portico/inventory"
	"portico/operations"
	"portico/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	machine      = "/subscriptions/" + subscription + "/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m"
)

// bench is a store with a group, and a provider that answers GET as it is told.
type bench struct {
	t      *testing.T
	store  *inventory.Store
	asker  operations.Asker
	status atomic.Int32
	body   atomic.Value
	asked  atomic.Int32
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t}
	b.body.Store(`{"properties":{}}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.Header.Get("Referer"), "https://portico.example/subscriptions/") || r.Header.Get("X-Ms-Correlation-Request-Id") == "" {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		b.asked.Add(1)
		w.WriteHeader(int(b.status.Load()))
		fmt.Fprint(w, b.body.Load())
	}))
	t.Cleanup(server.Close)
	cfg, err := config.Parse("test.yaml", fmt.Appendf(nil, `
server: {publicURL: "https://portico.example", region: westus}
auth: {mode: none}
regions: [{name: westus}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {westus: [%[1]q], global: [%[1]q]}
    resourceTypes:
      - {name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: virtualMachines/disks, kind: tracked, apiVersions: ["2024-01-01"]}
`, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	b.store, err = inventory.Open(t.Context(), inventory.Options{
		DSN: filepath.Join(t.TempDir(), "portico.db"), SendWithin: time.Second, CallLimit: 300 * time.Millisecond, LateWriteWindow: 300 * time.Millisecond,
		TombstoneAge: time.Hour, CacheTTL: time.Minute, CacheEntries: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: 1 << 20})
	t.Cleanup(func() {
		client.Close()
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: subscription, TenantID: "t", Covered: true}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.EditGroup(t.Context(), subscription, "g", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Subscription: subscription, Name: "g", Location: "westus"}, nil
	}); err != nil {
		t.Fatal(err)
	}
	public, err := url.Parse("https://portico.example")
	if err != nil {
		t.Fatal(err)
	}
	b.asker = operations.Asker{Map: cfg.Map, Upstream: client, Store: b.store, Public: public, Timeout: 5 * time.Second}
	return b
}

// write tells the store of a PUT or DELETE of a resource and of its outcome.
func (b *bench) write(kind inventory.WriteKind, id, typeName, parent string, outcome inventory.Outcome) {
	b.t.Helper()
	ticket, err := b.store.Begin(b.t.Context(), inventory.Write{
		Kind: kind, Subscription: subscription, Group: "g", Key: id, ID: id, Type: typeName, TypeName: typeName, Parent: parent,
		Region: "westus", Location: "westus", APIVersion: "2024-01-01",
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.store.Settle(b.t.Context(), ticket, inventory.Answer{Outcome: outcome}); err != nil {
		b.t.Fatal(err)
	}
}

// keep runs a keeper until cond holds, within a bound.
func (b *bench) keep(what string, cond func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	keeper := &operations.Keeper{Asker: b.asker, Floor: 5 * time.Millisecond, Region: "westus", Log: zap.NewNop()}
	done := make(chan struct{})
	go func() { defer close(done); keeper.Run(ctx) }()
	for !cond() && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	if ctx.Err() != nil {
		b.t.Errorf("%s: not within the bound", what)
	}
	cancel()
	<-done
}

func (b *bench) row(id string) (inventory.Resource, bool) {
	row, err := b.store.Resource(context.Background(), subscription, id)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		b.t.Error(err)
	}
	return row, err == nil
}

func TestKeeperSettlesWhatIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		stays  bool
	}{{"the write was applied", http.StatusOK, true}, {"it was not", http.StatusNotFound, false}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.status.Store(http.StatusServiceUnavailable)
			b.write(inventory.Put, machine, "Contoso.Compute/virtualMachines", "", inventory.Ambiguous)
			b.keep("asking", func() bool { return b.asked.Load() > 0 })
			if row, ok := b.row(machine); !ok || !row.Verify {
				t.Fatalf("a provider that does not say settled the row: %+v", row)
			}
			b.status.Store(int32(c.status))
			b.keep("settling", func() bool {
				row, ok := b.row(machine)
				return ok == c.stays && (!ok || row.Phase == inventory.Live && !row.Verify)
			})
		})
	}
}

func TestKeeperFollowsADelete(t *testing.T) {
	b := newBench(t)
	b.write(inventory.Put, machine, "Contoso.Compute/virtualMachines", "", inventory.Succeeded)
	b.write(inventory.Delete, machine, "Contoso.Compute/virtualMachines", "", inventory.Accepted)
	b.status.Store(http.StatusOK)
	b.body.Store(`{"properties":{"provisioningState":"Deleting"}}`)
	b.keep("asking twice", func() bool { return b.asked.Load() > 2 })
	if row, ok := b.row(machine); !ok || row.Phase != inventory.Deleting {
		t.Fatalf("%+v", row)
	}
	b.status.Store(http.StatusNotFound)
	b.keep("its end", func() bool { _, ok := b.row(machine); return !ok })
}

func TestKeeperAsksForTheChildrenOfWhatIsGone(t *testing.T) {
	b := newBench(t)
	disk := machine + "/disks/d"
	b.write(inventory.Put, machine, "Contoso.Compute/virtualMachines", "", inventory.Succeeded)
	b.write(inventory.Put, disk, "Contoso.Compute/virtualMachines/disks", machine, inventory.Succeeded)
	b.status.Store(http.StatusNotFound)
	b.write(inventory.Delete, machine, "Contoso.Compute/virtualMachines", "", inventory.Gone)
	if _, ok := b.row(disk); !ok {
		t.Fatal("the child was dropped without asking")
	}
	b.keep("the child's end", func() bool { _, ok := b.row(disk); return !ok })
}

func TestKeeperLeavesTheLivingAlone(t *testing.T) {
	b := newBench(t)
	b.write(inventory.Put, machine, "Contoso.Compute/virtualMachines", "", inventory.Succeeded)
	passes := time.Now().Add(100 * time.Millisecond)
	b.keep("some passes", func() bool { return time.Now().After(passes) })
	if b.asked.Load() != 0 {
		t.Errorf("%d questions", b.asked.Load())
	}
}
