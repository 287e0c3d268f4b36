// Package jobstest is a bench for tests of jobs and of their kinds: a store with a
// resource group, a provider with scripted answers, and runners.
package jobstest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/config"
	"portico/config/configtest"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/storetest"
	"portico/jobs"
	"portico/probe"
	"portico/regions"
	"portico/upstream"
)

// The subscription, the resource and its type that most tests are about.
const (
	Subscription = "00000000-0000-0000-0000-000000000001"
	Machine      = "/subscriptions/" + Subscription + "/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m"
	Machines     = "Contoso.Compute/virtualMachines"
	Floor        = 5 * time.Millisecond
)

// Reset is the status of a connection that breaks.
const Reset = -1

// Reply is the provider's answer to a GET.
type Reply struct {
	Status int
	Body   string
	Header string // of Retry-After or, if it is no number, Location
}

// State is a resource in a provisioning state.
func State(s string) Reply {
	return Reply{Status: 200, Body: `{"properties":{"provisioningState":"` + s + `"}}`}
}

// Bench is a store with the map and the client of its providers.
type Bench struct {
	T      *testing.T
	Path   string
	Store  *inventory.Store
	Config *config.Config
	Map    *regions.Map // of Config
	Client *upstream.Client
	Public *url.URL
}

// New makes a bench with a map, as YAML, and with subscriptions.
func New(t *testing.T, yaml string, subscriptions ...inventory.Subscription) *Bench {
	t.Helper()
	cfg := configtest.Load(t, yaml)
	b := &Bench{T: t, Path: filepath.Join(t.TempDir(), "portico.db"), Config: cfg, Map: cfg.Map, Public: cfg.Server.PublicURL}
	b.Store = b.Open()
	b.Client = upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: 1 << 20})
	t.Cleanup(b.Client.Close)
	if err := b.Store.SeedSubscriptions(t.Context(), subscriptions); err != nil {
		t.Fatal(err)
	}
	return b
}

// NewCompute makes a bench with Subscription and one provider, Contoso.Compute at an
// address, which has these types, as YAML.
func NewCompute(t *testing.T, address string, types ...string) *Bench {
	t.Helper()
	return New(t, fmt.Sprintf(`
server: {publicURL: "https://portico.example", region: westus}
auth: {mode: none}
regions: [{name: westus}]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {westus: [%[1]q], global: [%[1]q]}
    resourceTypes: [%[2]s]
`, address, strings.Join(types, ", ")), inventory.Subscription{ID: Subscription, TenantID: "t", Covered: true})
}

// Provider is a bench with one group, before a provider with scripted answers.
type Provider struct {
	*Bench
	Refusal int               // the status of each answer to the api-version of the rows; 0: they are answered
	Hook    func(path string) // before a path is answered

	mu           sync.Mutex
	replies      map[string][]Reply // by path; the last one stays
	calls        map[string]int
	correlations map[string]bool
	callers      map[string]string
	versions     []string
}

// NewProvider makes a provider that answers for the machine.
func NewProvider(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{
		replies: map[string][]Reply{Machine: {{Status: 200, Body: `{}`}}}, calls: map[string]int{}, correlations: map[string]bool{},
		callers: map[string]string{},
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.Bench = NewCompute(t, server.URL,
		`{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01", "2025-01-01"]}`,
		`{name: virtualMachines/disks, kind: tracked, apiVersions: ["2024-01-01"]}`)
	p.Group("g")
	return p
}

// Prober asks the bench's providers on behalf of a store.
func (b *Bench) Prober(store *inventory.Store) probe.Prober {
	return probe.Prober{Map: b.Map, Upstream: b.Client, Store: store, Public: b.Public, Timeout: 5 * time.Second}
}

// Group makes a resource group.
func (b *Bench) Group(name string) {
	b.T.Helper()
	if _, _, err := b.Store.EditGroup(b.T.Context(), Subscription, name, func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Subscription: Subscription, Name: name, Location: "westus"}, nil
	}); err != nil {
		b.T.Fatal(err)
	}
}

// Open opens the store once more, as another replica would.
func (b *Bench) Open() *inventory.Store {
	b.T.Helper()
	storetest.CreateDatabase(b.T, b.Path)
	store, err := inventory.Open(b.T.Context(), inventory.Options{
		DSN: b.Path, SendWithin: time.Second, CallLimit: 300 * time.Millisecond, LateWriteWindow: 300 * time.Millisecond,
		TombstoneAge: time.Hour, PollFloor: Floor, JobRecords: time.Hour, CacheTTL: time.Minute, CacheEntries: 100,
	})
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.T.Error(err)
		}
	})
	return store
}

func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	correlation := r.Header.Get("X-Ms-Correlation-Request-Id")
	if r.Method != http.MethodGet || r.Header.Get("Referer") != "https://portico.example"+r.URL.RequestURI() || correlation == "" ||
		!strings.HasPrefix(r.Header.Get("X-Ms-Routing-Request-Id"), "WESTUS:") {
		p.T.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
	}
	p.mu.Lock()
	p.calls[r.URL.Path]++
	p.correlations[correlation] = true
	p.callers[r.URL.Path] = r.Header.Get("X-Ms-Client-Tenant-Id") + " " + r.Header.Get("X-Ms-Client-Object-Id")
	answer := Reply{Status: 404}
	version := r.URL.Query().Get("api-version")
	if r.URL.Path == Machine && (len(p.versions) == 0 || p.versions[len(p.versions)-1] != version) {
		p.versions = append(p.versions, version)
	}
	if all := p.replies[r.URL.Path]; version == "2024-01-01" && p.Refusal != 0 {
		answer = Reply{Status: p.Refusal}
	} else if len(all) > 0 {
		if answer = all[0]; len(all) > 1 {
			p.replies[r.URL.Path] = all[1:]
		}
	}
	hook := p.Hook
	p.mu.Unlock()
	if hook != nil {
		hook(r.URL.Path)
	}
	if answer.Status == Reset {
		panic(http.ErrAbortHandler)
	}
	if strings.Trim(answer.Header, "0123456789") == "" {
		w.Header().Set("Retry-After", answer.Header)
	} else {
		w.Header().Set("Location", answer.Header)
	}
	if answer.Status == http.StatusNotFound {
		SayAbsent(w, r.URL.Path)
		return
	}
	w.WriteHeader(answer.Status)
	fmt.Fprint(w, answer.Body)
}

// SayAbsent answers that a resource does not exist, in ARM's form.
func SayAbsent(w http.ResponseWriter, path string) {
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprintf(w, `{"error":{"code":"ResourceNotFound","message":"The Resource '%s' was not found."}}`, path[strings.LastIndexByte(path, '/')+1:])
}

// Say sets the provider's replies, to be used one after the other; the last one stays.
func (p *Provider) Say(path string, replies ...Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies[path] = replies
}

// Questions returns how often a path was requested.
func (p *Provider) Questions(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[path]
}

// Correlations is how many correlation ids the provider was called with.
func (p *Provider) Correlations() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.correlations)
}

// Caller returns the tenant and the object of the caller of the last request for a path.
func (p *Provider) Caller(path string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.callers[path]
}

// Versions returns the api-versions that the machine was requested with, each once, in their
// order.
func (p *Provider) Versions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.versions)
}

// Write records a PUT or DELETE of the machine, and its answer.
func (b *Bench) Write(kind index.WriteKind, a inventory.WriteResult) {
	b.T.Helper()
	b.WriteTo(kind, Machine, Machines, "", a)
}

// WriteTo records a PUT or DELETE of a resource, and its answer.
func (b *Bench) WriteTo(kind index.WriteKind, id, typeName, parent string, a inventory.WriteResult) {
	b.T.Helper()
	ticket, err := b.Store.Begin(b.T.Context(), inventory.Write{
		Kind: kind, Subscription: Subscription, Group: "g", Key: id, ID: id, Type: typeName, TypeName: typeName, Parent: parent,
		Region: "westus", Location: "westus", APIVersion: "2024-01-01",
	})
	if err != nil {
		b.T.Fatal(err)
	}
	if _, err := b.Store.Settle(b.T.Context(), ticket, a); err != nil {
		b.T.Fatal(err)
	}
}

// Live creates the machine.
func (b *Bench) Live() { b.Write(index.Put, inventory.WriteResult{Outcome: index.Succeeded}) }

// Accept makes an accepted write that is followed.
func (b *Bench) Accept(kind index.WriteKind, poll *inventory.Poll) {
	b.T.Helper()
	b.Write(kind, inventory.WriteResult{Outcome: index.Accepted, Poll: poll})
}

// Runner is a runner under way.
type Runner struct {
	*jobs.Runner
	Registry *prometheus.Registry
	Stop     func()
}

// Run starts a runner of kinds over a store.
func (b *Bench) Run(store *inventory.Store, kinds map[string]jobs.Kind, adjust ...func(*jobs.Options)) *Runner {
	b.T.Helper()
	registry := prometheus.NewRegistry()
	// A lease that a busy machine does not lose: tests count attempts. Those about
	// leases that end set theirs, or steal them.
	o := jobs.Options{
		Store: store, Kinds: kinds, Owner: jobs.NewOwner(), Lease: time.Minute, Floor: Floor, Log: zap.NewNop(), Metrics: registry,
	}
	for _, a := range adjust {
		a(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	running := jobs.NewRunner(o)
	go func() { defer close(done); running.Run(ctx) }()
	r := &Runner{running, registry, func() { cancel(); <-done }}
	b.T.Cleanup(r.Stop)
	return r
}

// Metric is the sum of a family's samples whose labels have all the values.
func (r *Runner) Metric(t *testing.T, name string, values ...string) float64 {
	t.Helper()
	families, err := r.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]bool{}
			for _, l := range m.GetLabel() {
				labels[l.GetValue()] = true
			}
			fits := true
			for _, v := range values {
				fits = fits && labels[v]
			}
			if fits {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// Within waits, within a bound, until cond holds.
func (b *Bench) Within(what string, cond func() bool) {
	b.T.Helper()
	for end := time.Now().Add(5 * time.Minute); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			b.T.Fatalf("%s: not within the bound", what)
		}
	}
}

// Row returns the row of a resource, if there is one.
func (b *Bench) Row(id string) (inventory.Resource, bool) {
	row, err := b.Store.Resource(context.Background(), Subscription, id)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		b.T.Error(err)
	}
	return row, err == nil
}

// Alive reports whether the machine's row is certain.
func (b *Bench) Alive() bool {
	row, ok := b.Row(Machine)
	return ok && !row.NeedsVerify() && !row.FollowPut && !row.FollowDelete && !row.FollowPatch
}

// Gone reports whether the machine has no row.
func (b *Bench) Gone() bool { _, ok := b.Row(Machine); return !ok }

// Jobs lists all jobs.
func (b *Bench) Jobs() []jobrow.Job {
	b.T.Helper()
	all, err := b.Store.Jobs.List(context.Background(), jobrow.Query{})
	if err != nil {
		b.T.Fatal(err)
	}
	return all
}

// AddJob adds a job of a kind.
func (b *Bench) AddJob(kind, subject string) [16]byte {
	b.T.Helper()
	return b.AddJobIn("", kind, subject)
}

// AddJobIn adds a job of a kind whose work depends on a region.
func (b *Bench) AddJobIn(region, kind, subject string) [16]byte {
	b.T.Helper()
	id := jobrow.ID(kind, subject)
	j := jobrow.Job{Subscription: Subscription, ID: id, Kind: kind, Subject: subject, Region: region, Payload: "{}"}
	if _, err := b.Store.Jobs.Add(b.T.Context(), j); err != nil {
		b.T.Fatal(err)
	}
	return id
}

// Load returns a job.
func (b *Bench) Load(id [16]byte) jobrow.Job {
	b.T.Helper()
	j, err := b.Store.Jobs.Get(context.Background(), Subscription, id)
	if err != nil {
		b.T.Fatal(err)
	}
	return j
}
