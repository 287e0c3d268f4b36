package sweep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs/jobstest"
	"portico/jobs/sweep"
)

const (
	pageSize  = 2
	disks     = jobstest.Machines + "/disks"
	secondSub = "00000000-0000-0000-0000-000000000002"
)

func machineID(sub, group, name string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/%s/%s", sub, group, jobstest.Machines, name)
}

// regionProvider is one region's provider: what it holds, by ID, and how it misbehaves.
type regionProvider struct {
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

func (e *regionProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	fail, onGet := e.failing, e.onGet
	collection := strings.Count(r.URL.Path, "/")%2 == 1
	e.mu.Unlock()
	if fail != nil {
		if status := fail(r); status != 0 {
			w.Header().Set("Retry-After", "1")
			if status == http.StatusNotFound {
				jobstest.SayAbsent(w, r.URL.Path)
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
	jobstest.SayAbsent(w, r.URL.Path)
}

func (e *regionProvider) body(id, state string) string {
	return fmt.Sprintf(`{"id":%q,"location":%q,"tags":{"Env":"x"},"properties":{"provisioningState":%q},"systemData":{"createdBy":"ann","createdByType":"User","createdAt":"2020-01-02T03:04:05Z"}}`, id, e.name, state)
}

// list shows what lies directly in a collection, in pages.
func (e *regionProvider) list(w http.ResponseWriter, r *http.Request) {
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

func (e *regionProvider) hold(ids ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		e.held[id] = "Succeeded"
	}
}

func (e *regionProvider) drop(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.held, id)
}

func (e *regionProvider) hide(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hidden[id] = true
}

func (e *regionProvider) fail(f func(*http.Request) int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failing = f
}

// always fails every request by a status.
func always(status int) func(*http.Request) int { return func(*http.Request) int { return status } }

// site is a store before two regions that hold what a test puts there.
type site struct {
	*jobstest.Bench
	west, east *regionProvider
	registry   *prometheus.Registry
	stop       func() // of the runner
	sweeper    *sweep.Sweeper
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	for _, region := range []struct {
		name string
		at   **regionProvider
	}{{"westus", &s.west}, {"eastus", &s.east}} {
		e := &regionProvider{name: region.name, held: map[string]string{}, hidden: map[string]bool{}}
		server := httptest.NewServer(e)
		t.Cleanup(server.Close)
		e.url = server.URL
		*region.at = e
	}
	s.Bench = jobstest.New(t, fmt.Sprintf(`
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
`, s.west.url, s.east.url), inventory.Subscription{ID: jobstest.Subscription, TenantID: "t"}, inventory.Subscription{ID: secondSub, TenantID: "t"})
	s.group(jobstest.Subscription, "g")
	s.sweeper = s.newSweeper(0)
	return s
}

func (s *site) newSweeper(interval time.Duration) *sweep.Sweeper {
	s.registry = prometheus.NewRegistry()
	sweeper := &sweep.Sweeper{
		Prober: s.Prober(s.Store), Patience: 10 * time.Second, Interval: interval, Region: "westus", Log: zap.NewNop(),
	}
	sweeper.Start(s.registry)
	return sweeper
}

func (s *site) ok(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

func (s *site) group(sub, name string) {
	s.T.Helper()
	_, _, err := s.Store.EditGroup(s.T.Context(), sub, name, func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Name: name, Location: "westus"}, nil
	})
	s.ok(err)
}

// sweep sweeps at once.
func (s *site) sweep(order sweep.Order) sweep.Report {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 30*time.Second)
	defer cancel()
	before := 0
	report, err := s.sweeper.Sweep(ctx, order, func(now sweep.Report) {
		if now.Done < before || now.Done > now.Of {
			s.T.Errorf("%d of %d lists done after %d", now.Done, now.Of, before)
		}
		before = now.Done
	})
	s.ok(err)
	if report.Done != before {
		s.T.Errorf("%d of %d lists done, after %d", report.Done, report.Of, before)
	}
	return report
}

// rows are the IDs of a subscription's rows with their regions.
func (s *site) rows(sub string) (rows []string) {
	s.T.Helper()
	all, err := s.Store.Resources(s.T.Context(), inventory.ResourceQuery{Subscription: sub})
	s.ok(err)
	for _, row := range all {
		name := row.ID[strings.LastIndex(row.ID, jobstest.Machines)+len(jobstest.Machines)+1:]
		rows = append(rows, name+"@"+row.Region)
	}
	return rows
}

func (s *site) holds(sub string, want ...string) {
	s.T.Helper()
	if got := s.rows(sub); !slices.Equal(got, want) {
		s.T.Fatalf("the index has %q, want %q", got, want)
	}
}

// uncovered are the regions of a type where absence was not seen.
func (s *site) uncovered(typ string) []string {
	s.T.Helper()
	left, err := s.Store.Coverage.Uncovered(s.T.Context(), jobstest.Subscription, typ, []string{"westus", "eastus"})
	s.ok(err)
	return left
}

func (s *site) strays() int {
	s.T.Helper()
	all, err := s.Store.Strays.List(s.T.Context(), jobstest.Subscription, "")
	s.ok(err)
	return len(all)
}

// finds asserts how many disagreements of each kind were found: missing rows,
// missing resources, strays, unknown groups, miscounts.
func (s *site) finds(r sweep.Report, want ...int) {
	s.T.Helper()
	got := []int{r.MissingRows.Count, r.MissingResources.Count, r.Strays.Count, r.UnknownGroups.Count, r.Usage.Count}
	if !slices.Equal(got, want) {
		s.T.Fatalf("found %v, want %v: %+v", got, want, r)
	}
}

// create has Portico's own write of a machine succeed.
func (s *site) create(id, region string) {
	s.T.Helper()
	ticket, err := s.Store.Begin(s.T.Context(), inventory.Write{
		Kind: index.Put, Subscription: jobstest.Subscription, Group: "g", Key: id, ID: id, Type: jobstest.Machines, TypeName: jobstest.Machines,
		Region: region, Location: region, APIVersion: "2024-01-01",
	})
	s.ok(err)
	_, err = s.Store.Settle(s.T.Context(), ticket, inventory.WriteResult{Outcome: index.Succeeded, Status: 200})
	s.ok(err)
}

// remove has Portico's own DELETE of a machine succeed.
func (s *site) remove(id, region string) {
	s.T.Helper()
	ticket, err := s.Store.Begin(s.T.Context(), inventory.Write{
		Kind: index.Delete, Subscription: jobstest.Subscription, Group: "g", Key: id, ID: id, Type: jobstest.Machines, TypeName: jobstest.Machines,
		Region: region, APIVersion: "2024-01-01",
	})
	s.ok(err)
	_, err = s.Store.Settle(s.T.Context(), ticket, inventory.WriteResult{Outcome: index.Gone, Status: 204})
	s.ok(err)
}

func (s *site) absent(id string) {
	s.T.Helper()
	if _, err := s.Store.Resource(s.T.Context(), jobstest.Subscription, id); !errors.Is(err, inventory.ErrNotFound) {
		s.T.Fatalf("there is a row, or %v", err)
	}
}
