package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/config/configtest"
	"portico/gateway"
	"portico/inventory"
	"portico/inventory/index"
	"portico/test/harness"
	"portico/upstream"
)

// The sizes of the deleted group, and the speed of its providers.
const (
	inGroup     = 2000
	ofTypes     = 10
	inRegions   = 4
	perEndpoint = 16
	roundTrip   = 100 * time.Millisecond
)

// The deletion of a group of 2,000 resources with dependencies between them. The
// benchmark reports the DELETE calls for each resource beside those of a loop that
// tries the remaining ones again and again, and its time as a share of the least that
// the dependencies and the limits permit. If the dependencies follow an order of the
// types, the first deletion in a subscription can learn it for the next.
func BenchmarkGroupDelete(b *testing.B) {
	for _, c := range []struct {
		name           string
		named, ordered bool
	}{
		{"types in order, refusals name all", true, true}, {"types in order, refusals name nothing", false, true},
		{"any order, refusals name all", true, false}, {"any order, refusals name nothing", false, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p := newProvider(b, c.named, c.ordered)
				y := p.newDeletionWorld(b)
				first := y.deleteGroup(b, p)
				again := y.deleteGroup(b, p)
				least := time.Duration(p.depth()+inGroup/(inRegions*perEndpoint)) * roundTrip
				b.ReportMetric(first.each, "calls-each")
				b.ReportMetric(again.each, "calls-each-learnt")
				b.ReportMetric(float64(p.plainLoop())/inGroup, "calls-each-plain-loop")
				slower := float64(again.took) / float64(least)
				b.ReportMetric(slower, "x-of-least-time-learnt")
				if c.named && (first.each > 2 || again.each > 2) || c.named && c.ordered && (again.each > 1.1 || slower > 1.3) {
					b.Fatalf("%.2f calls each, then %.2f, in %.2f of the least time", first.each, again.each, slower)
				}
			}
		})
	}
}

// provider holds resources that depend on each other: some must be deleted first.
type provider struct {
	named bool
	urls  []string
	needs [][]int

	mu    sync.Mutex
	there []bool
	calls int
}

func typeOf(i int) int { return i * ofTypes / inGroup }

// newProvider draws up to three dependencies for each resource, among those of the type
// before its own or, if the types have no order, among all before it.
func newProvider(b *testing.B, named, ordered bool) *provider {
	b.Helper()
	p := &provider{named: named, needs: make([][]int, inGroup), there: make([]bool, inGroup)}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range p.needs {
		for range random.IntN(4) {
			switch typ := typeOf(i); {
			case !ordered && i > 0:
				p.needs[i] = append(p.needs[i], random.IntN(i))
			case ordered && typ > 0:
				p.needs[i] = append(p.needs[i], (typ-1)*inGroup/ofTypes+random.IntN(inGroup/ofTypes))
			}
		}
	}
	for range inRegions {
		server := httptest.NewServer(p)
		b.Cleanup(server.Close)
		p.urls = append(p.urls, server.URL)
	}
	return p
}

func resourceID(i int) string {
	// Names that reveal nothing of the order.
	return fmt.Sprintf("%s/providers/Contoso.Compute/t%d/%x", group, typeOf(i), uint32(i)*2654435761)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodDelete { // the list at the end
		fmt.Fprint(w, `{"value":[]}`)
		return
	}
	time.Sleep(roundTrip)
	var name uint32
	if _, err := fmt.Sscanf(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], "%x", &name); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	i := int(name * 244002641) // the inverse, modulo 2³²
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	var blockers []string
	for _, need := range p.needs[i] {
		if p.there[need] {
			blockers = append(blockers, resourceID(need))
		}
	}
	if len(blockers) == 0 {
		p.there[i] = false
		return
	}
	w.WriteHeader(http.StatusConflict)
	if p.named {
		fmt.Fprintf(w, `{"error":{"code":"InUse","message":"In use by %s."}}`, strings.Join(blockers, ", "))
	}
}

// depth is the longest chain of dependencies.
func (p *provider) depth() int {
	deepest, of := 0, make([]int, inGroup)
	for i, needs := range p.needs { // each dependency comes first
		of[i] = 1
		for _, need := range needs {
			of[i] = max(of[i], 1+of[need])
		}
		deepest = max(deepest, of[i])
	}
	return deepest
}

// plainLoop counts the calls of a loop that tries the remaining resources, with the
// same concurrency, until none is left.
func (p *provider) plainLoop() (calls int) {
	order, gone := rand.New(rand.NewPCG(3, 4)).Perm(inGroup), make([]bool, inGroup)
	for left := inGroup; left > 0; {
		var free []int
		for at, i := range order {
			if !gone[i] {
				calls++
				blocked := false
				for _, need := range p.needs[i] {
					blocked = blocked || !gone[need]
				}
				if !blocked {
					free = append(free, i)
				}
			}
			if at%(inRegions*perEndpoint) == 0 || at == inGroup-1 {
				for _, i := range free {
					gone[i] = true
				}
				left -= len(free)
				free = nil
			}
		}
	}
	return calls
}

// deletionWorld is a running gateway before a provider.
type deletionWorld struct {
	handler http.Handler
	store   *inventory.Store
}

func (p *provider) newDeletionWorld(b *testing.B) deletionWorld {
	b.Helper()
	regions := []string{"westus", "eastus", "northus", "southus"}
	var names, endpoints, types []string
	for i, region := range regions {
		names = append(names, fmt.Sprintf("{name: %s}", region))
		endpoints = append(endpoints, fmt.Sprintf("%s: [%q]", region, p.urls[i]))
	}
	for i := range ofTypes {
		types = append(types, fmt.Sprintf(`{name: t%d, kind: tracked, apiVersions: ["2024-01-01"]}`, i))
	}
	cfg := configtest.Load(b, fmt.Sprintf(`
server: {publicURL: "http://portico.example", region: westus}
auth: {mode: none}
index: {pollFloor: 100ms}
groupDelete: {perEndpoint: %d, perJob: %d}
regions: [%s]
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {%s, global: [%q]}
    resourceTypes: [%s]
`, perEndpoint, inRegions*perEndpoint, strings.Join(names, ", "), strings.Join(endpoints, ", "), p.urls[0], strings.Join(types, ", ")))
	ctx, cancel := context.WithCancel(context.Background())
	store, err := inventory.Open(ctx, inventory.Options{
		DSN: filepath.Join(b.TempDir(), "portico.db"), SendWithin: 5 * time.Second, CallLimit: time.Minute, LateWriteWindow: time.Minute,
		TombstoneAge: time.Hour, PollFloor: 100 * time.Millisecond, JobRecords: time.Hour, CacheTTL: time.Minute, CacheEntries: 1 << 16,
	})
	harness.OK(b, err)
	harness.OK(b, store.SeedSubscriptions(ctx, []inventory.Subscription{{ID: subscription, TenantID: "t", Covered: true}}))
	client := upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: cfg.Limits.AnswerBody})
	g := gateway.New(gateway.Options{
		Config: cfg, Store: store, Upstream: client, Authenticator: access.Anyone{}, Log: zap.NewNop(), Metrics: prometheus.NewRegistry(),
	})
	worked := make(chan struct{})
	go func() { defer close(worked); g.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-worked
		client.Close()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return deletionWorld{g.Public(), store}
}

// cost is the cost of a deletion.
type cost struct {
	each float64 // calls per resource
	took time.Duration
}

// deleteGroup creates the group with all its resources, and deletes it.
func (y deletionWorld) deleteGroup(b *testing.B, p *provider) cost {
	b.Helper()
	ctx := b.Context()
	if _, _, err := y.store.EditGroup(ctx, subscription, "rg", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Subscription: subscription, Name: "rg", Location: "westus"}, nil
	}); err != nil {
		b.Fatal(err)
	}
	var wait sync.WaitGroup
	for w := range 64 {
		wait.Go(func() {
			for i := w; i < inGroup; i += 64 {
				if err := y.make(ctx, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	p.calls = 0
	for i := range p.there {
		p.there[i] = true
	}
	started := time.Now()
	r := httptest.NewRequest(http.MethodDelete, group+version, nil)
	r.Host = "portico.example"
	answer := httptest.NewRecorder()
	y.handler.ServeHTTP(answer, r)
	if answer.Code != http.StatusAccepted {
		b.Fatalf("%d %s", answer.Code, answer.Body)
	}
	for {
		if _, err := y.store.Group(ctx, subscription, "rg"); errors.Is(err, inventory.ErrNotFound) {
			break
		}
		if time.Since(started) > 5*time.Minute {
			b.Fatal("the deletion does not end")
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return cost{float64(p.calls) / inGroup, time.Since(started)}
}

func (y deletionWorld) make(ctx context.Context, i int) error {
	id := resourceID(i)
	name := fmt.Sprintf("Contoso.Compute/t%d", typeOf(i))
	region := []string{"westus", "eastus", "northus", "southus"}[i%inRegions]
	ticket, err := y.store.Begin(ctx, inventory.Write{
		Kind: index.Put, Subscription: subscription, Group: "rg", Key: id, ID: id, Type: name, TypeName: name,
		Region: region, Location: region, APIVersion: "2024-01-01",
	})
	if err != nil {
		return err
	}
	_, err = y.store.Settle(ctx, ticket, inventory.WriteResult{Outcome: index.Succeeded, Status: http.StatusOK})
	return err
}
