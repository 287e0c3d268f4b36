package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

const (
	tenant       = "10000000-0000-0000-0000-000000000001"
	subscription = "00000000-0000-0000-0000-000000000001"
	// S begins almost every path here.
	S = "/subscriptions/" + subscription
	// V is an api-version that every type knows.
	V = "api-version=2024-01-01"
	// publicURL deliberately has no listener: a URL with it was built from the
	// configuration, not from a Host header.
	publicURL = "https://management.portico.test"
	// tokenKey seals skip tokens.
	tokenKey = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
)

// Subscriptions in each state that clients see.
var subscriptionStates = map[string]string{
	"Enabled":  subscription,
	"PastDue":  "00000000-0000-0000-0000-000000000002",
	"Warned":   "00000000-0000-0000-0000-000000000003",
	"Disabled": "00000000-0000-0000-0000-000000000004",
	"Deleted":  "00000000-0000-0000-0000-000000000005",
}

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// TestWire starts the processes once and runs every family of rows against them. The
// families share nothing but the processes: each has its own groups.
func TestWire(t *testing.T) {
	w := newWorld(t)
	slow := startSlowClients(t, w) // they take minutes; the others run meanwhile
	for _, family := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"resource ids", testIDs},
		{"names", testNames},
		{"versions", testVersions},
		{"subscription states", testStates},
		{"hostile paths", testHostilePaths},
		{"queries", testQueries},
		{"methods", testMethods},
		{"content", testContent},
		{"locations", testLocations},
		{"tags", testTags},
		{"common arguments", testArguments},
		{"out of scope", testOutOfScope},
		{"own answers", testOwnAnswers},
		{"identifying headers", testIdentifyingHeaders},
		{"hostile headers", testHostileHeaders},
		{"trusted proxies", testTrustedProxies},
		{"smuggling", testSmuggling},
		{"provider answers", testProviderAnswers},
		{"polling guards", testPollingGuards},
		{"long links", testLongLinks},
		{"page guards", testPageGuards},
		{"merged lists", testMergedLists},
		{"walks", testWalks},
		{"list bounds", testListBounds},
		{"one attempt", testOneAttempt},
		{"locks", testLocks},
		{"wordings", testWordings},
		{"admin listener", testAdmin},
		{"slow clients", slow.test},
	} {
		t.Run(family.name, func(t *testing.T) { family.run(t, w) })
	}
}

// gateway is one running `portico serve`.
type gateway struct {
	address string
	admin   string
}

// world is a gateway with its providers.
type world struct {
	gateway
	contoso  map[string]string // region → base URL
	scripted map[string]*scripted
	program  harness.Binaries
	client   *http.Client // for the providers' records only
}

func newWorld(t *testing.T) *world {
	w := &world{
		contoso:  map[string]string{},
		scripted: map[string]*scripted{},
		program:  harness.Build(t),
		client:   &http.Client{Transport: &http.Transport{Proxy: nil}, Timeout: patience},
	}
	t.Cleanup(w.client.CloseIdleConnections)
	for _, region := range []string{"westus", "eastus", "northeurope", "global"} {
		p := harness.Start(t, "contoso "+region, t.TempDir(), w.program.Contoso, "--region", region, "--listen", "127.0.0.1:0")
		line := p.WaitLine(t, "contoso: serving ")
		w.contoso[region] = line[strings.LastIndexByte(line, ' ')+1:]
	}
	for _, region := range []string{"westus", "eastus", "global"} {
		w.scripted[region] = startScripted(t, "raw "+region)
	}
	w.gateway = w.start(t, "", nil)
	for _, namespace := range []string{"Contoso.Compute", "Contoso.Insight", "Contoso.Raw"} {
		w.must(t, message{method: "POST", target: S + "/providers/" + namespace + "/register?api-version=2021-04-01"}, 200)
	}
	return w
}

// start runs a gateway before the world's providers. server is further YAML for the
// server section, indented by two; edit, unless nil, changes the whole configuration.
func (w *world) start(t *testing.T, server string, edit func(configuration string) string) gateway {
	t.Helper()
	g := gateway{address: harness.FreeAddress(t), admin: harness.FreeAddress(t)}
	folder := t.TempDir()
	file := filepath.Join(folder, "portico.yaml")
	configuration := w.configuration(g, server)
	if edit != nil {
		configuration = edit(configuration)
	}
	harness.OK(t, os.WriteFile(file, []byte(configuration), 0o600))
	p := harness.Start(t, "portico", folder, w.program.Portico, "serve", "--config", file)
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		res, err := w.client.Get("http://" + g.admin + "/readyz")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return g
			}
		}
		if p.Ended() || time.Now().After(deadline) {
			t.Fatalf("portico is not ready (%v)\n%s", err, p.Stderr())
		}
	}
}

func (w *world) configuration(g gateway, server string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `server:
  publicURL: %s
  listen: %s
  admin: %s
  region: westus
  drain: {delay: 1ms, limit: 20s}
%smetadata: {name: Wire, loginEndpoint: "https://login.portico.test", audiences: ["https://management.portico.test"], tenant: %s}
auth: {mode: none}
store: {driver: sqlite, dsn: portico.db}
index: {sendWithin: 10s, pollFloor: 1h} # what the gateway asks by itself would mix with the rows' own requests
lists: {tokenKeys: [{id: one, key: `+tokenKey+`}]}
regions:
  - {name: westus, displayName: West US, pairedRegion: eastus}
  - {name: eastus, displayName: East US, pairedRegion: westus}
  - {name: northeurope, displayName: North Europe}
operations: {firstAnswer: 0s} # so that there is something to poll
providers:
`, publicURL, g.address, g.admin, server, tenant)
	steering := "headers: {request: [" + strings.Join(harness.SteeringHeaders(), ", ") + "]}"
	const versions = `apiVersions: ["2023-01-01", "2024-01-01", "2024-06-01-preview"], capabilities: {move: true, tags: true, etags: true}`
	endpoints := func(of map[string]string) string {
		var list []string
		for _, region := range []string{"westus", "eastus", "northeurope", "global"} {
			if url, ok := of[region]; ok {
				list = append(list, region+`: ["`+url+`"]`)
			}
		}
		return strings.Join(list, ", ")
	}
	fmt.Fprintf(&b, `  - namespace: Contoso.Compute
    registration: required
    %[3]s
    endpoints: {%[1]s}
    resourceTypes:
      - {name: virtualMachines, kind: tracked, %[2]s}
      - {name: virtualMachines/disks, kind: tracked, %[2]s}
      - {name: virtualMachines/runCommands, kind: proxyOnly, %[2]s}
      - {name: networkInterfaces, kind: tracked, %[2]s}
  - namespace: Contoso.Insight
    registration: required
    %[3]s
    endpoints: {%[1]s}
    resourceTypes:
      - {name: workspaces, kind: tracked, %[2]s}
      - {name: profiles, kind: tracked, routing: global, %[2]s}
      - {name: diagnosticSettings, kind: extension, %[2]s}
      - {name: annotations, kind: extension, routing: global, %[2]s}
`, endpoints(w.contoso), versions, steering)
	raw := map[string]string{}
	for region, p := range w.scripted {
		raw[region] = p.url
	}
	fmt.Fprintf(&b, `  - namespace: Contoso.Raw
    registration: automatic
    headers: {request: [X-L4-Braces, X-L4-Dollar, X-L4-Percent, X-L4-Plain, X-L4-Template, X-Custom-Thing, X-Idempotency-Key], response: [X-Kept]}
    redirectHosts: [elsewhere.example]
    endpoints: {%s}
    resourceTypes:
      - {name: things, kind: tracked, %[2]s}
      - {name: locals, kind: tracked, locations: [westus], %[2]s}
      - {name: pages, kind: tracked, %[2]s}
subscriptions:
`, endpoints(raw), versions)
	for _, state := range []string{"Enabled", "PastDue", "Warned", "Disabled", "Deleted"} {
		fmt.Fprintf(&b, "  - {id: %s, tenantId: %s, displayName: %s, state: %s, covered: true}\n", subscriptionStates[state], tenant, state, state)
	}
	return b.String()
}

// send exchanges one message with the gateway.
func (g gateway) send(t *testing.T, m message) reply {
	t.Helper()
	return exchange(t, g.address, m.verb(), m.bytes(g.address))
}

// must sends a message whose answer is only a step of a case.
func (g gateway) must(t *testing.T, m message, statuses ...int) reply {
	t.Helper()
	got := g.send(t, m)
	if !slices.Contains(statuses, got.status) {
		t.Fatalf("%s %s: want %v, got %s", m.verb(), m.target, statuses, got)
	}
	return got
}

// group creates a resource group and returns its path.
func (g gateway) group(t *testing.T, name string) string {
	t.Helper()
	path := S + "/resourceGroups/" + name
	g.must(t, message{method: "PUT", target: path + "?" + V, body: `{"location":"westus"}`}, 200, 201)
	return path
}

// machine creates a virtual machine in a region and returns its path.
func (g gateway) machine(t *testing.T, group, name, region string) string {
	t.Helper()
	path := group + "/providers/Contoso.Compute/virtualMachines/" + name
	g.must(t, message{method: "PUT", target: path + "?" + V, body: located(region)}, 200, 201)
	return path
}

// thing creates a resource of the scripted provider and returns its path.
func (g gateway) thing(t *testing.T, group, name, region string) string {
	t.Helper()
	path := group + "/providers/Contoso.Raw/things/" + name
	g.must(t, message{method: "PUT", target: path + "?" + V, body: located(region)}, 200, 201)
	return path
}

func located(region string) string { return `{"location":"` + region + `","properties":{}}` }

// received is a request that reached a provider.
type received struct {
	region string // a scripted provider's begins with "raw "
	method string
	target string // path and query, unchanged
	header http.Header
	head   string // all bytes before the body; scripted providers only
	body   []byte // scripted providers only
}

func (x received) String() string { return fmt.Sprintf("%s: %s %.200s", x.region, x.method, x.target) }

// one returns the only line of a header, and "" if there is none.
func (x received) one(t *testing.T, name string) string {
	t.Helper()
	values := x.header.Values(name)
	if len(values) > 1 {
		t.Errorf("the provider got %d lines of %s: %q", len(values), name, values)
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// recorded is an entry of the reference provider's record.
type recorded struct {
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Query   string      `json:"query"`
	Headers http.Header `json:"headers"`
}

// forget empties every provider's record.
func (w *world) forget(t *testing.T) {
	t.Helper()
	for _, base := range w.contoso {
		w.call(t, http.MethodDelete, base+"/contoso/requests")
	}
	for _, p := range w.scripted {
		p.forget()
	}
}

// received returns what has reached any provider since forget, without notices.
func (w *world) received(t *testing.T) []received {
	t.Helper()
	var all []received
	for region, base := range w.contoso {
		var record struct {
			Value []recorded `json:"value"`
		}
		body := w.call(t, http.MethodGet, base+"/contoso/requests")
		if err := json.Unmarshal(body, &record); err != nil || record.Value == nil {
			t.Fatalf("the record of %s: %v\n%.500s", region, err, body)
		}
		for _, e := range record.Value {
			target := e.Path
			if e.Query != "" {
				target += "?" + e.Query
			}
			all = append(all, received{region: region, method: e.Method, target: target, header: e.Headers})
		}
	}
	for _, p := range w.scripted {
		all = append(all, p.received()...)
	}
	return slices.DeleteFunc(all, func(x received) bool { return harness.IsNotice(x.method, x.target) })
}

// awaits waits until a request for a resource has reached a provider.
func (w *world) awaits(t *testing.T, method, path string) {
	t.Helper()
	is := func(x received) bool { return x.method == method && strings.HasPrefix(x.target, path+"?") }
	for end := time.Now().Add(patience); !slices.ContainsFunc(w.received(t), is); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no provider got %s %s", method, path)
		}
	}
}

func (w *world) call(t *testing.T, method, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	harness.OK(t, err)
	res, err := w.client.Do(req)
	harness.OK(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	harness.OK(t, err)
	if res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, url, res.StatusCode, body)
	}
	return body
}
