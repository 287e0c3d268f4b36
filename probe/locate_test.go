package probe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/config/configtest"
	"portico/inventory"
	"portico/inventory/storetest"
	"portico/routing"
	"portico/upstream"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	inGroup      = "/subscriptions/" + subscription + "/resourceGroups/g/providers/"
	machine      = inGroup + "Contoso.Compute/virtualMachines/m"
)

// world is a store with a group of a subscription that is not covered, and a
// provider that holds machines in two regions.
type world struct {
	t      *testing.T
	store  *inventory.Store
	prober Prober

	mu    sync.Mutex
	holds map[string]string // the region of an ID
	calls []*http.Request
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, holds: map[string]string{}}
	var endpoints []string
	for _, region := range []string{"westus", "eastus", "global"} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, r, region) }))
		t.Cleanup(server.Close)
		endpoints = append(endpoints, fmt.Sprintf("%s: [%q]", region, server.URL))
	}
	cfg := configtest.Load(t, fmt.Sprintf(`
server: {publicURL: "https://portico.example", region: westus}
auth: {mode: none}
regions: [{name: westus}, {name: eastus}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {%s}
    resourceTypes:
      - {name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01", "2025-01-01"]}
      - {name: folders, kind: proxyOnly, locations: [westus], apiVersions: ["2024-01-01"]}
      - {name: folders/items, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: folders/items/parts, kind: tracked, apiVersions: ["2024-01-01"]}
`, strings.Join(endpoints, ", ")))
	path := filepath.Join(t.TempDir(), "portico.db")
	storetest.CreateDatabase(t, path)
	var err error
	w.store, err = inventory.Open(t.Context(), inventory.Options{
		DSN: path, SendWithin: time.Second, CallLimit: time.Second, LateWriteWindow: time.Second, TombstoneAge: time.Hour, JobRecords: time.Hour,
		CacheTTL: time.Minute, CacheEntries: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: 1 << 20})
	t.Cleanup(func() {
		client.Close()
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.prober = Prober{Map: cfg.Map, Upstream: client, Store: w.store, Public: cfg.Server.PublicURL, Timeout: time.Minute}
	if err := w.store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: subscription, TenantID: "t"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.store.EditGroup(t.Context(), subscription, "g", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Subscription: subscription, Name: "g", Location: "westus"}, nil
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

// answer answers as the provider in a region: a resource that lies there, or a 404.
func (w *world) answer(rw http.ResponseWriter, r *http.Request, region string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, r)
	if w.holds[r.URL.Path] != region {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprintf(rw, `{"id":%q,"location":%q}`, r.URL.Path, region)
}

func (w *world) finder() *Finder { return NewFinder(w.prober, zap.NewNop()) }

// sought is the machine, wherever it may lie.
func (w *world) sought() routing.SearchedResource {
	w.t.Helper()
	q, fault := routing.ClassifyID(w.prober.Map, http.MethodGet, machine)
	if fault != nil {
		w.t.Fatal(fault)
	}
	sub, err := w.store.Subscription(w.t.Context(), subscription)
	if err != nil {
		w.t.Fatal(err)
	}
	group, err := w.store.Group(w.t.Context(), subscription, "g")
	if err != nil {
		w.t.Fatal(err)
	}
	sought := routing.SearchedResource{Subscription: sub, Group: group, Type: q.Type, ID: q.ID(), Key: q.Key(), APIVersion: q.Type.APIVersions[0]}
	for _, region := range q.Type.EffectiveRegions() {
		sought.Endpoints = append(sought.Endpoints, q.Type.Endpoint(region))
	}
	return sought
}
