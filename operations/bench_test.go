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
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"portico/config"
	"portico/inventory"
	"portico/inventory/storetest"
	"portico/locate"
	"portico/operations"
	"portico/regions"
	"portico/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	machine      = "/subscriptions/" + subscription + "/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m"
	machines     = "Contoso.Compute/virtualMachines"
	floor        = 5 * time.Millisecond
)

// reset is the status of a connection that breaks.
const reset = -1

// reply is what the provider says to a GET.
type reply struct {
	status int
	body   string
	header string // of Retry-After or, if it is no number, Location
}

func state(s string) reply {
	return reply{status: 200, body: `{"properties":{"provisioningState":"` + s + `"}}`}
}
func status(s string) reply { return reply{status: 200, body: `{"status":"` + s + `"}`} }

// bench is a store with a group, and a provider that answers as it is told.
type bench struct {
	t      *testing.T
	path   string
	store  *inventory.Store
	region *regions.Map
	client *upstream.Client
	public *url.URL

	mu           sync.Mutex
	replies      map[string][]reply // by path; the last one stays
	asked        map[string]int
	correlations map[string]bool
	callers      map[string]string // by path: tenant and object on whose behalf it was asked last
	hook         func(path string) // before a path is answered
	refusal      int               // the status of each answer to the api-version of the rows; 0: they are answered
	versions     []string          // with which the machine was asked for, each once, in their order
	fallback     time.Duration     // see Verification
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		t: t, path: filepath.Join(t.TempDir(), "portico.db"),
		replies: map[string][]reply{machine: {{status: 200, body: `{}`}}}, asked: map[string]int{}, correlations: map[string]bool{}, callers: map[string]string{},
		fallback: time.Hour,
	}
	server := httptest.NewServer(b)
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
      - {name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01", "2025-01-01"]}
      - {name: virtualMachines/disks, kind: tracked, apiVersions: ["2024-01-01"]}
`, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	b.region, b.public = cfg.Map, cfg.Server.PublicURL
	b.store = b.open()
	b.client = upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: 1 << 20})
	t.Cleanup(b.client.Close)
	if err := b.store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: subscription, TenantID: "t", Covered: true}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.EditGroup(t.Context(), subscription, "g", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Subscription: subscription, Name: "g", Location: "westus"}, nil
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

// open opens the store once more, as another replica would.
func (b *bench) open() *inventory.Store {
	b.t.Helper()
	storetest.Lay(b.t, b.path)
	store, err := inventory.Open(b.t.Context(), inventory.Options{
		DSN: b.path, SendWithin: time.Second, CallLimit: 300 * time.Millisecond, LateWriteWindow: 300 * time.Millisecond,
		TombstoneAge: time.Hour, PollFloor: floor, JobRecords: time.Hour, CacheTTL: time.Minute, CacheEntries: 100,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return store
}

func (b *bench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	correlation := r.Header.Get("X-Ms-Correlation-Request-Id")
	if r.Method != http.MethodGet || r.Header.Get("Referer") != "https://portico.example"+r.URL.RequestURI() || correlation == "" ||
		!strings.HasPrefix(r.Header.Get("X-Ms-Routing-Request-Id"), "WESTUS:") {
		b.t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
	}
	b.mu.Lock()
	b.asked[r.URL.Path]++
	b.correlations[correlation] = true
	b.callers[r.URL.Path] = r.Header.Get("X-Ms-Client-Tenant-Id") + " " + r.Header.Get("X-Ms-Client-Object-Id")
	answer := reply{status: 404}
	version := r.URL.Query().Get("api-version")
	if r.URL.Path == machine && (len(b.versions) == 0 || b.versions[len(b.versions)-1] != version) {
		b.versions = append(b.versions, version)
	}
	if all := b.replies[r.URL.Path]; version == "2024-01-01" && b.refusal != 0 {
		answer = reply{status: b.refusal}
	} else if len(all) > 0 {
		if answer = all[0]; len(all) > 1 {
			b.replies[r.URL.Path] = all[1:]
		}
	}
	hook := b.hook
	b.mu.Unlock()
	if hook != nil {
		hook(r.URL.Path)
	}
	if answer.status == reset {
		panic(http.ErrAbortHandler)
	}
	if strings.Trim(answer.header, "0123456789") == "" {
		w.Header().Set("Retry-After", answer.header)
	} else {
		w.Header().Set("Location", answer.header)
	}
	if answer.status == http.StatusNotFound {
		sayAbsent(w, r.URL.Path)
		return
	}
	w.WriteHeader(answer.status)
	fmt.Fprint(w, answer.body)
}

// sayAbsent answers that a resource is not there, as ARM has providers say it.
func sayAbsent(w http.ResponseWriter, path string) {
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprintf(w, `{"error":{"code":"ResourceNotFound","message":"The Resource '%s' was not found."}}`, path[strings.LastIndexByte(path, '/')+1:])
}

// say tells the provider what to answer, one after the other; the last stays.
func (b *bench) say(path string, replies ...reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replies[path] = replies
}

func (b *bench) questions(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[path]
}

// write tells the store of a PUT or DELETE of a machine, and of its answer.
func (b *bench) write(kind inventory.WriteKind, a inventory.Answer) {
	b.t.Helper()
	b.writeTo(kind, machine, machines, "", a)
}

func (b *bench) writeTo(kind inventory.WriteKind, id, typeName, parent string, a inventory.Answer) {
	b.t.Helper()
	ticket, err := b.store.Begin(b.t.Context(), inventory.Write{
		Kind: kind, Subscription: subscription, Group: "g", Key: id, ID: id, Type: typeName, TypeName: typeName, Parent: parent,
		Region: "westus", Location: "westus", APIVersion: "2024-01-01",
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.store.Settle(b.t.Context(), ticket, a); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) live() { b.write(inventory.Put, inventory.Answer{Outcome: inventory.Succeeded}) }

// accept makes an accepted write that is followed.
func (b *bench) accept(kind inventory.WriteKind, poll *inventory.Poll) {
	b.t.Helper()
	b.write(kind, inventory.Answer{Outcome: inventory.Accepted, Poll: poll})
}

// kinds are those that keep the index true.
func (b *bench) kinds(store *inventory.Store, registry prometheus.Registerer) map[string]operations.Kind {
	asker := locate.Prober{Map: b.region, Upstream: b.client, Store: store, Public: b.public, Timeout: 5 * time.Second}
	return map[string]operations.Kind{
		inventory.VerifyJob: operations.Verification{Asker: asker, Floor: floor, Patience: 20 * time.Second, VersionFallback: b.fallback, Region: "westus"},
		inventory.FollowJob: operations.NewFollowing(operations.Following{
			Asker: asker, Floor: floor, Patience: 20 * time.Second, LostAfter: floor, Limit: time.Hour, Recheck: time.Hour, VersionFallback: b.fallback, Region: "westus",
		}, registry),
	}
}

// runner is a runner under way.
type runner struct {
	*operations.Runner
	registry *prometheus.Registry
	stop     func()
}

// run starts a runner over a store, with other kinds than the usual ones if
// adjust says so.
func (b *bench) run(store *inventory.Store, adjust ...func(*operations.RunnerOptions)) *runner {
	b.t.Helper()
	registry := prometheus.NewRegistry()
	// A lease that a busy machine does not lose: tests count attempts. Those about
	// leases that end set theirs, or steal them.
	o := operations.RunnerOptions{
		Store: store, Owner: operations.NewOwner(), Lease: time.Minute, Floor: floor, Log: zap.NewNop(), Metrics: registry,
	}
	o.Kinds = b.kinds(store, registry)
	for _, a := range adjust {
		a(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	running := operations.NewRunner(o)
	go func() { defer close(done); running.Run(ctx) }()
	r := &runner{running, registry, func() { cancel(); <-done }}
	b.t.Cleanup(r.stop)
	return r
}

// with has a runner work on one kind alone.
func with(name string, kind operations.Kind) func(*operations.RunnerOptions) {
	return func(o *operations.RunnerOptions) { o.Kinds = map[string]operations.Kind{name: kind} }
}

// metric is the sum of a family's samples whose labels have all the values.
func (r *runner) metric(t *testing.T, name string, values ...string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
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

// within waits, within a bound, until cond holds.
func (b *bench) within(what string, cond func() bool) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s: not within the bound", what)
		}
	}
}

func (b *bench) row(id string) (inventory.Resource, bool) {
	row, err := b.store.Resource(context.Background(), subscription, id)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		b.t.Error(err)
	}
	return row, err == nil
}

// alive reports a row about which there is no doubt.
func (b *bench) alive() bool {
	row, ok := b.row(machine)
	return ok && !row.Doubtful() && !row.FollowPut && !row.FollowDelete
}

func (b *bench) gone() bool { _, ok := b.row(machine); return !ok }

// jobs lists what is left to do.
func (b *bench) jobs() []inventory.Job {
	b.t.Helper()
	all, err := b.store.Jobs(context.Background(), inventory.JobQuery{})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// job adds a job of a kind.
func (b *bench) job(kind, subject string) [16]byte {
	b.t.Helper()
	return b.jobIn("", kind, subject)
}

// jobIn adds a job of a kind whose work depends on a region.
func (b *bench) jobIn(region, kind, subject string) [16]byte {
	b.t.Helper()
	id := inventory.JobID(kind, subject)
	j := inventory.Job{Subscription: subscription, ID: id, Kind: kind, Subject: subject, Region: region, Payload: "{}"}
	if _, err := b.store.AddJob(b.t.Context(), j); err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bench) load(id [16]byte) inventory.Job {
	b.t.Helper()
	j, err := b.store.Job(context.Background(), subscription, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return j
}
