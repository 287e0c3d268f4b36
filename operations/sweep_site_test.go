package operations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/config"
	"portico/inventory"
	"portico/locate"
	"portico/operations"
	"portico/upstream"
)

const (
	pageSize  = 2
	disks     = machines + "/disks"
	secondSub = "00000000-0000-0000-0000-000000000002"
)

func machineID(sub, group, name string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/%s/%s", sub, group, machines, name)
}

// estate is one region's provider: what it holds, by ID, and how it misbehaves.
type estate struct {
	name string
	url  string

	mu      sync.Mutex
	held    map[string]string // ID: provisioningState
	hidden  map[string]bool   // from lists
	failing func(r *http.Request) int
	onGet   func(id string) // before a resource is shown
	lists   []string        // the collections that were listed
	gets    int
	foreign bool // nextLinks lead to another host
	literal bool // nextLinks are the referer with a token behind it
}

func (e *estate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	fail, onGet := e.failing, e.onGet
	collection := strings.Count(r.URL.Path, "/")%2 == 1
	e.mu.Unlock()
	if fail != nil {
		if status := fail(r); status != 0 {
			w.Header().Set("Retry-After", "1")
			if status == http.StatusNotFound {
				sayAbsent(w, r.URL.Path)
				return
			}
			w.WriteHeader(status)
			return
		}
	}
	if collection {
		e.list(w, r)
		return
	}
	if onGet != nil {
		onGet(r.URL.Path)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gets++
	for id, state := range e.held {
		if strings.EqualFold(id, r.URL.Path) {
			fmt.Fprint(w, e.body(id, state))
			return
		}
	}
	sayAbsent(w, r.URL.Path)
}

func (e *estate) body(id, state string) string {
	return fmt.Sprintf(`{"id":%q,"location":%q,"tags":{"Env":"x"},"properties":{"provisioningState":%q},"systemData":{"createdBy":"ann","createdByType":"User","createdAt":"2020-01-02T03:04:05Z"}}`, id, e.name, state)
}

// list shows what lies directly in a collection, in pages.
func (e *estate) list(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lists = append(e.lists, r.URL.Path)
	var ids []string
	for id := range e.held {
		if !e.hidden[id] && in(id, r.URL.Path) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	from := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("$skiptoken"), &from)
	page := struct {
		Value    []json.RawMessage `json:"value"`
		NextLink string            `json:"nextLink,omitempty"`
	}{Value: []json.RawMessage{}}
	for _, id := range ids[min(from, len(ids)):min(from+pageSize, len(ids))] {
		page.Value = append(page.Value, json.RawMessage(e.body(id, e.held[id])))
	}
	if from+pageSize < len(ids) {
		host := e.url
		if e.foreign {
			host = "https://elsewhere.example"
		}
		page.NextLink = fmt.Sprintf("%s%s?api-version=%s&$skiptoken=%d", host, r.URL.Path, r.URL.Query().Get("api-version"), from+pageSize)
		if e.literal {
			page.NextLink = fmt.Sprintf("%s&$skiptoken=%d", r.Header.Get("Referer"), from+pageSize)
		}
	}
	_ = json.NewEncoder(w).Encode(page)
}

// in tells whether a resource is in a collection: of its subscription, or below
// its parent.
func in(id, collection string) bool {
	folded, of := strings.ToLower(id), strings.ToLower(collection)
	if strings.Contains(of, "/resourcegroups/") {
		rest, below := strings.CutPrefix(folded, of+"/")
		return below && !strings.Contains(rest, "/")
	}
	sub, typ, _ := strings.Cut(of, "/providers/")
	_, rest, _ := strings.Cut(folded, "/providers/"+typ+"/")
	return strings.HasPrefix(folded, sub+"/") && rest != "" && !strings.Contains(rest, "/")
}

func (e *estate) hold(ids ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		e.held[id] = "Succeeded"
	}
}

func (e *estate) drop(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.held, id)
}

func (e *estate) hide(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hidden[id] = true
}

func (e *estate) fail(f func(*http.Request) int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failing = f
}

// always fails every request by a status.
func always(status int) func(*http.Request) int { return func(*http.Request) int { return status } }

// site is a store before two regions that hold what a test puts there.
type site struct {
	*bench
	west, east *estate
	registry   *prometheus.Registry
	sweeping   *operations.Sweeping
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{bench: &bench{t: t, path: filepath.Join(t.TempDir(), "portico.db")}, registry: prometheus.NewRegistry()}
	for _, region := range []struct {
		name string
		at   **estate
	}{{"westus", &s.west}, {"eastus", &s.east}} {
		e := &estate{name: region.name, held: map[string]string{}, hidden: map[string]bool{}}
		server := httptest.NewServer(e)
		t.Cleanup(server.Close)
		e.url = server.URL
		*region.at = e
	}
	cfg, err := config.Parse("test.yaml", fmt.Appendf(nil, `
server: {publicURL: "https://portico.example", region: westus}
auth: {mode: none}
regions: [{name: westus}, {name: eastus}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {westus: [%[1]q], eastus: [%[2]q], global: [%[1]q]}
    resourceTypes:
      - {name: virtualMachines/disks, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: virtualMachines, kind: tracked, apiVersions: ["2023-01-01", "2024-01-01"]}
      - {name: usages, kind: proxyOnly, apiVersions: ["2024-01-01"], locations: [westus]}
`, s.west.url, s.east.url))
	if err != nil {
		t.Fatal(err)
	}
	s.region, s.public = cfg.Map, cfg.Server.PublicURL
	s.store = s.open()
	s.client = upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: 1 << 20})
	t.Cleanup(s.client.Close)
	for _, sub := range []string{subscription, secondSub} {
		s.ok(s.store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: sub, TenantID: "t"}}))
	}
	s.group(subscription, "g")
	s.sweeping = s.newSweeping(0)
	return s
}

func (s *site) newSweeping(interval time.Duration) *operations.Sweeping {
	s.registry = prometheus.NewRegistry()
	asker := locate.Prober{Map: s.region, Upstream: s.client, Store: s.store, Public: s.public, Timeout: 5 * time.Second}
	return operations.NewSweeping(&operations.Sweeping{
		Asker: asker, Patience: 10 * time.Second, Interval: interval, Region: "westus", Log: zap.NewNop(),
	}, s.registry)
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) group(sub, name string) {
	s.t.Helper()
	_, _, err := s.store.EditGroup(s.t.Context(), sub, name, func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Name: name, Location: "westus"}, nil
	})
	s.ok(err)
}

// sweep sweeps at once.
func (s *site) sweep(order operations.SweepOrder) operations.SweepReport {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	steps := 0
	report, err := s.sweeping.Sweep(ctx, order, func(now operations.SweepReport) {
		if steps++; now.Done != steps {
			s.t.Errorf("%d of %d done after %d steps", now.Done, now.Of, steps)
		}
	})
	s.ok(err)
	return report
}

// rows are the IDs of a subscription's rows with their regions.
func (s *site) rows(sub string) (rows []string) {
	s.t.Helper()
	all, err := s.store.Resources(s.t.Context(), inventory.ResourceQuery{Subscription: sub})
	s.ok(err)
	for _, row := range all {
		name := row.ID[strings.LastIndex(row.ID, machines)+len(machines)+1:]
		rows = append(rows, name+"@"+row.Region)
	}
	return rows
}

func (s *site) holds(sub string, want ...string) {
	s.t.Helper()
	if got := s.rows(sub); !slices.Equal(got, want) {
		s.t.Fatalf("the index has %q, want %q", got, want)
	}
}

// uncovered are the regions of a type where absence was not seen.
func (s *site) uncovered(typ string) []string {
	s.t.Helper()
	left, err := s.store.Uncovered(s.t.Context(), subscription, typ, []string{"westus", "eastus"})
	s.ok(err)
	return left
}

func (s *site) strays() int {
	s.t.Helper()
	all, err := s.store.Strays(s.t.Context(), subscription, "")
	s.ok(err)
	return len(all)
}

// finds asserts how many disagreements of each kind were found: missing rows,
// missing resources, strays, unknown groups, miscounts.
func (s *site) finds(r operations.SweepReport, want ...int) {
	s.t.Helper()
	got := []int{r.MissingRows.Count, r.MissingResources.Count, r.Strays.Count, r.UnknownGroups.Count, r.Usage.Count}
	if !slices.Equal(got, want) {
		s.t.Fatalf("found %v, want %v: %+v", got, want, r)
	}
}

// create has Portico's own write of a machine succeed.
func (s *site) create(id, region string) {
	s.t.Helper()
	ticket, err := s.store.Begin(s.t.Context(), inventory.Write{
		Kind: inventory.Put, Subscription: subscription, Group: "g", Key: id, ID: id, Type: machines, TypeName: machines,
		Region: region, Location: region, APIVersion: "2024-01-01",
	})
	s.ok(err)
	_, err = s.store.Settle(s.t.Context(), ticket, inventory.Answer{Outcome: inventory.Succeeded, Status: 200})
	s.ok(err)
}

// remove has Portico's own DELETE of a machine succeed.
func (s *site) remove(id, region string) {
	s.t.Helper()
	ticket, err := s.store.Begin(s.t.Context(), inventory.Write{
		Kind: inventory.Delete, Subscription: subscription, Group: "g", Key: id, ID: id, Type: machines, TypeName: machines,
		Region: region, APIVersion: "2024-01-01",
	})
	s.ok(err)
	_, err = s.store.Settle(s.t.Context(), ticket, inventory.Answer{Outcome: inventory.Gone, Status: 204})
	s.ok(err)
}

func (s *site) absent(id string) {
	s.t.Helper()
	if _, err := s.store.Resource(s.t.Context(), subscription, id); !errors.Is(err, inventory.ErrNotFound) {
		s.t.Fatalf("there is a row, or %v", err)
	}
}
