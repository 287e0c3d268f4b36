package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/gateway/admission"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/polling"
	"portico/gateway/proxy"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/memory"
	"portico/inventory/polls"
	"portico/probe"
	"portico/routing"
)

func TestWriteToAnotherLocation(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.at("westus").requests()
	got := s.want(409, "InvalidResourceLocation", "PUT", m+api, eastus)
	if !strings.Contains(got.text, "The resource 'm' already exists in location 'westus' in resource group 'g'.") || !strings.Contains(got.text, "'eastus'") {
		t.Errorf("%s", got.text)
	}
	s.want(400, "LocationNotAvailableForResourceType", "PUT", m+api, `{"location":"mars"}`)
	for region, e := range s.providers {
		if requests := e.requests(); len(requests) != 0 {
			t.Errorf("%s was called: %v", region, requests)
		}
	}
	s.ok(200, "PUT", m+api, westus)
}

// A row that is only in doubt refuses nothing before its provider was asked.
func TestWriteElsewhereAfterADelete(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "1h")
	s.at("westus").requests()
	got := s.want(409, "Conflict", "PUT", m+api, eastus)
	got.says(t, "The request failed due to conflict with a concurrent request. To resolve it, please refer to https://aka.ms/activitylog to get more details on the conflicting requests.")
	if got.header.Get("Retry-After") != "10" {
		t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
	}
	if requests := s.at("westus").requests(); len(requests) != 1 || requests[0].Method != "GET" || requests[0].Path != m || requests[0].Query != "api-version=2024-01-01" {
		t.Errorf("asked %v", requests)
	} else if h := requests[0].Headers; h.Get("Referer") != "http://portico.example"+m+api || h.Get("X-Ms-Correlation-Request-Id") != got.header.Get("X-Ms-Correlation-Request-Id") {
		t.Errorf("asked with %v", h)
	} else if h["X-Ms-Home-Tenant-Id"] != nil || h["X-Ms-Client-Tenant-Id"] != nil || h["X-Ms-Client-Principal-Name"] != nil {
		t.Errorf("asked in a caller's name: %v", h)
	}
	s.at("westus").clock.advance(2 * hour)
	s.at("westus").fault("GET", m, "status=500")
	if got := s.want(409, "Conflict", "PUT", m+api, eastus); got.header.Get("Retry-After") != "10" {
		t.Errorf("while the provider does not say: %v", got.header)
	}
	created := s.ok(201, "PUT", m+api, eastus)
	if region, _ := s.row(m); region.Region != "eastus" || !slices.Equal(s.at("eastus").holds(), []string{m}) {
		t.Errorf("%+v %s", region, created.text)
	}
	if !strings.Contains(s.log.String(), `"region":"eastus"`) {
		t.Error("the log does not name the region that served")
	}
	// What follows goes there.
	s.ok(200, "GET", m+api, "")
	s.ok(200, "DELETE", m+api, "")
}

func TestWriteElsewhereAfterALostDelete(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-before")
	if row, there := s.row(m); !there || !row.Verify || s.openWrites("g") != 1 {
		t.Errorf("an ambiguous answer leaves %+v and %d intents", row, s.openWrites("g"))
	}
	// It stands, and yet the delete may land.
	s.want(409, "Conflict", "PUT", m+api, eastus)
	s.expireOpenWrites()
	s.want(409, "InvalidResourceLocation", "PUT", m+api, eastus)
	if row, _ := s.row(m); !firm(row) {
		t.Errorf("the provider's word did not settle the row: %+v", row)
	}

	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	s.ok(201, "PUT", m+api, eastus)
	if row, _ := s.row(m); row.Region != "eastus" || !row.Verify {
		t.Errorf("while the delete may land: %+v", row)
	}
}

func TestWriteElsewhereAfterALostCreate(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	s.want(502, "BadGatewayConnection", "PUT", m+api, westus, "x-contoso-fault", "reset-before")
	if row, there := s.row(m); !there || row.Phase != index.Pending || !row.Verify || s.openWrites("g") != 1 {
		t.Errorf("an ambiguous answer leaves %+v and %d intents", row, s.openWrites("g"))
	}
	s.want(409, "Conflict", "PUT", m+api, eastus) // it may land yet
	s.expireOpenWrites()
	s.ok(201, "PUT", m+api, eastus)
	if len(s.at("westus").holds()) != 0 || len(s.at("eastus").holds()) != 1 {
		t.Error("it lies in the wrong region")
	}
}

func TestWriteElsewhereAfterACreateThatLandsLate(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	s.want(502, "BadGatewayConnection", "PUT", m+api, westus, "x-contoso-fault", "late=30ms")
	code := ""
	s.within("the landing", func() bool {
		got := s.do("PUT", m+api, eastus)
		if got.status != 409 {
			t.Fatalf("%d %s", got.status, got.text)
		}
		code = got.code
		return code == "InvalidResourceLocation"
	})
	if len(s.at("eastus").holds()) != 0 {
		t.Error("it lies in two regions")
	}
	s.ok(204, "HEAD", m+api, "")
}

// overtaken sends a write, and lets something else happen each time that the store has said
// who serves it.
func (s *site) overtaken(method, target, body string, meanwhile ...func()) seen {
	s.t.Helper()
	c, prober, registry := s.config, s.prober(), prometheus.NewRegistry()
	over := &overtakenIndex{
		Index:  storeIndex{s.store, s.store.Coverage, s.store.Operations, s.store.Locations},
		nested: strings.Contains(target, "/disks/"), meanwhile: meanwhile,
	}
	resolver := &admission.Resolver{Router: &routing.Router{Map: c.Map, Index: over}, Finder: probe.NewFinder(prober, zap.NewNop()), Prober: prober}
	admits := &admission.Admission{Store: s.store, Config: c, Counts: admission.NewCounts()}
	polls := &polling.Operations{Store: s.store, Public: c.Server.PublicURL, Settings: &c.Operations}
	overtaken := &proxy.Proxy{
		Config: c, Public: c.Server.PublicURL, Store: s.store, Intents: s.store, Upstream: s.upstream, Resolver: resolver, Admission: admits,
		Authorizer: authorize.New(&c.Auth, s.store.Roles, s.store.Scopes, authorize.NewMetrics(registry)),
		Polls:      &polling.Forwarded{Operations: polls, Config: c, Resolver: resolver, Admission: admits, Log: zap.NewNop()},
		Log:        zap.NewNop(),
	}
	links := *s.gateway.Links
	links.Last = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := overtaken.Answer(w, r, exchange.From(r)); err != nil {
			exchange.Fail(w, r, err)
		}
	})
	server := httptest.NewServer(links.Inner(links.BoundContent, links.Identify, links.Authenticate, links.Classify))
	defer server.Close()
	return exchangeWith(s.t, server, method, target, body, "Host", "portico.example")
}

// storeIndex is the inventory as a gateway's routing asks it.
type storeIndex struct {
	*inventory.Store
	*inventory.Coverage
	*polls.Records
	*memory.Locations
}

// overtakenIndex is an index by which something else happens after the last read for a write.
type overtakenIndex struct {
	routing.Index
	nested    bool // the parent is read as well
	meanwhile []func()
	under     bool // requests of what happens are not overtaken
}

func (i *overtakenIndex) Target(ctx context.Context, q inventory.TargetQuery) (inventory.Target, error) {
	target, err := i.Index.Target(ctx, q)
	if !i.nested {
		i.overtake()
	}
	return target, err
}

func (i *overtakenIndex) Resource(ctx context.Context, subscription, key string) (inventory.Resource, error) {
	row, err := i.Index.Resource(ctx, subscription, key)
	i.overtake()
	return row, err
}

func (i *overtakenIndex) overtake() {
	if i.under || len(i.meanwhile) == 0 {
		return
	}
	next := i.meanwhile[0]
	i.meanwhile, i.under = i.meanwhile[1:], true
	next()
	i.under = false
}

// A write to another location than the row's goes to that location or nowhere,
// also when the row has gone by the time that its intent is recorded.
func TestOvertakenWriteToAnotherLocation(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	got := s.overtaken("PUT", m+api, eastus, func() { s.ok(200, "DELETE", m+api, "") })
	if row, _ := s.row(m); got.status != 201 || row.Region != "eastus" || !slices.Equal(s.at("eastus").holds(), []string{m}) || len(s.at("westus").holds()) != 0 {
		t.Errorf("%d %s; the row %+v", got.status, got.text, row)
	}
}

// What was decided counts for nothing when the intent meets another state.
func TestOvertakenWrites(t *testing.T) {
	s := newSite(t, setup{limits: "resourcesPerTypeAndGroup: 3"})
	g := s.group("g")
	m := machinePath("g", "m")
	check := func(got seen, status int, code string) {
		t.Helper()
		if got.status != status || got.code != code {
			t.Errorf("%d %q, want %d %q: %s", got.status, got.code, status, code, got.text)
		}
	}
	check(s.overtaken("PUT", m+api, westus, func() { s.ok(201, "PUT", m+api, eastus) }), 409, "InvalidResourceLocation")
	check(s.overtaken("DELETE", m+api, "", func() {
		s.ok(200, "DELETE", m+api, "")
		s.ok(201, "PUT", m+api, westus)
	}), 200, "")
	if len(s.at("westus").holds())+len(s.at("eastus").holds()) != 0 {
		t.Error("the DELETE did not follow the resource")
	}
	s.machine("g", "m", "westus")
	check(s.overtaken("DELETE", m+api, "", func() { s.ok(200, "DELETE", m+api, "") }), 204, "")
	s.machine("g", "m", "westus")
	lock := groupPath("g") + lockPlace + "/l" + own
	check(s.overtaken("DELETE", m+api, "", func() { // locks forbid the DELETE of nothing, too
		s.ok(200, "DELETE", m+api, "")
		s.ok(201, "PUT", lock, canNotDelete)
	}), 409, "ScopeLocked")
	s.ok(200, "DELETE", lock, "")
	s.machine("g", "m", "westus")
	move := func(to string) func() {
		return func() {
			s.ok(200, "DELETE", m+api, "")
			s.ok(201, "PUT", m+api, to)
		}
	}
	check(s.overtaken("PATCH", m+api, "{}", move(eastus), move(westus)), 409, "InvalidResourceLocation") // no third attempt
	check(s.overtaken("PATCH", m+api, "{}", move(eastus)), 200, "")
	s.ok(200, "DELETE", m+api, "")
	s.machine("g", "m", "westus")
	check(s.overtaken("PATCH", m+api, `{"tags":{"a":"b"}}`, func() {
		s.ok(200, "DELETE", m+api, "")
		s.ok(201, "PUT", m+api, eastus)
	}), 200, "")
	if row, _ := s.row(m); row.Region != "eastus" || row.Details.Tags["a"] != "b" {
		t.Errorf("the PATCH did not follow the resource: %+v", row)
	}
	check(s.overtaken("PATCH", m+api, `{}`, func() { s.ok(200, "DELETE", m+api, "") }), 404, "ResourceNotFound")
	s.machine("g", "m", "westus")
	check(s.overtaken("PUT", m+"/disks/d"+api, `{}`, func() {
		s.ok(200, "DELETE", m+api, "")
		s.ok(201, "PUT", m+api, eastus)
	}), 201, "")
	if row, _ := s.row(m + "/disks/d"); row.Region != "eastus" || row.Location != "eastus" {
		t.Errorf("what is nested did not follow its parent: %+v", row)
	}
	check(s.overtaken("PUT", m+"/disks/e"+api, `{}`, func() {
		s.ok(200, "DELETE", m+"/disks/d"+api, "")
		s.ok(200, "DELETE", m+api, "")
	}), 404, "ParentResourceNotFound")
	check(s.overtaken("PUT", m+api, westus, func() {
		for _, name := range []string{"1", "2", "3"} {
			s.machine("g", name, "westus")
		}
	}), 409, "ResourceQuotaExceeded")
	for _, name := range []string{"1", "2", "3"} {
		s.ok(200, "DELETE", machinePath("g", name)+api, "")
	}
	check(s.overtaken("PUT", m+api, westus, func() {
		if _, _, err := s.store.EditGroup(t.Context(), subscription, "g", func(g *inventory.Group) (*inventory.Group, error) {
			g.State = index.GroupMoving
			return g, nil
		}); err != nil {
			t.Fatal(err)
		}
	}), 409, "ResourcesBeingMoved")
	h := s.group("h")
	check(s.overtaken("PUT", machinePath("h", "m")+api, westus, func() { s.ok(200, "DELETE", h+own, "") }), 404, "ResourceGroupNotFound")
	s.group("h")
	// The group of that name is another one by now.
	check(s.overtaken("PUT", machinePath("h", "m")+api, westus, func() {
		s.ok(200, "DELETE", h+own, "")
		s.group("h")
	}), 404, "ResourceGroupNotFound")
	for region, e := range s.providers {
		if held := e.holds(); len(held) != 0 {
			t.Errorf("%s holds %v of %s", region, held, g)
		}
	}
}
