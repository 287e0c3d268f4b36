package config

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"portico/config/files"
	"portico/regions"
)

const minimal = `
server: {publicURL: "https://management.example.com", region: westus}
regions: [{name: westus}]
`

// parse reads a configuration from text, as if from a file of that name. It reads no
// files: none are included, nor checked to be readable.
func parse(name, text string) (*Config, error) {
	var r files.Reader
	root := r.Parse(name, []byte(text))
	r.Incomplete = root == nil
	return finishLoad(&r, root)
}

// TestDefaults states every default in the form in which it is documented.
func TestDefaults(t *testing.T) {
	bare, err := parse("folder/bare.yaml", minimal)
	must(t, err)
	written, err := parse("folder/written.yaml", `
server:
  publicURL: https://management.example.com
  listen: 127.0.0.1:8080
  admin: 127.0.0.1:8081
  region: westus
  trustedProxies: []
  adminHosts: []
  drain: {delay: 5s, limit: 30s}
metadata: {name: Portico}
auth: {mode: none}
store: {driver: sqlite, dsn: portico.db, connections: 16}
limits: {requestBody: 4MiB, contentMemory: 128MiB, callerShare: 25%, answerBody: 8MiB, tagsPerResource: 50, resourcesPerTypeAndGroup: 800, groupsPerSubscription: 980, locksPerSubscription: 5000, tagNamesPerSubscription: 10000, tombstonesPerSubscription: 200000}
upstream: {callTimeout: 60s, readsPerEndpoint: 64, callsPerEndpoint: 512}
health:
  probe: {interval: 10s, timeout: 2s, unhealthyAfter: 3, healthyAfter: 2}
  circuit: {failures: 3, open: 1s, longestOpen: 10s}
  ejection: {errors: 50%, slowerThan: 5, calls: 20, window: 10s, time: 30s, longestTime: 5m, most: 50%}
  slowStart: 30s
index: {sendWithin: 5s, callMargin: 10s, lateWriteWindow: 5m, tombstones: 24h, askTimeout: 2s, cacheTTL: 60s, cacheEntries: 262144, lostAfter: 1m, followLimit: 24h, followRecheck: 1h, versionFallback: 24h, pollFloor: 1s, sweepInterval: 6h, endpointAbsence: 1h}
jobs: {lease: 10s}
lists: {memory: 32MiB, totalMemory: 256MiB, onRegionFailure: fail, tokenLifetime: 1h}
operations: {retryAfterMin: 10s, retryAfterMax: 600s, records: 48h, perCaller: 100000, learned: 1000}
preflight: {timeout: 5s}
batch: {immediate: 20, requests: 500, atOnce: 8, memory: 64MiB, totalMemory: 256MiB, perCaller: 16, stored: 256MiB, totalStored: 2GiB, answersKept: 1h}
groupDelete: {transientBudget: 15m, limit: 60m, perEndpoint: 8, perJob: 64}
log: {audit: stderr, slow: 1s, oneIn: {}}
regions: [{name: westus, displayName: westus}]
`)
	must(t, err)
	bare.Files, written.Files = nil, nil
	bare.tree, written.tree = nil, nil // as the two were written
	if !reflect.DeepEqual(bare, written) {
		t.Errorf("got  %+v\nwant %+v", bare, written)
	}
	if want := filepath.Join("folder", "portico.db"); bare.Store.DSN != want {
		t.Errorf("the store is %s, want %s", bare.Store.DSN, want)
	}
}

// TestNumbers guards against a unit that is read wrongly: the test above would
// not see it where the default is read with the same mistake in mind.
func TestNumbers(t *testing.T) {
	d := Defaults()
	if d.Limits.RequestBody != 4194304 || d.Limits.AnswerBody != 8388608 || d.Lists.Memory != 33554432 {
		t.Errorf("sizes: %+v, %d", d.Limits, d.Lists.Memory)
	}
	if d.Index.FollowLimit != 86400*time.Second || d.GroupDelete.Limit != 3600*time.Second || d.Operations.RetryAfterMax != 600*time.Second {
		t.Errorf("times: %+v %+v %+v", d.Index, d.GroupDelete, d.Operations)
	}
}

func TestServerAndAuth(t *testing.T) {
	c, err := Load("testdata/good/tokens.yaml")
	must(t, err)
	files := filepath.Join("testdata", "files")
	s := c.Server
	if s.PublicURL.String() != "https://management.example.com" || s.Listen != "0.0.0.0:8443" || s.Admin != "0.0.0.0:8444" || s.Region != "westus" {
		t.Errorf("server: %+v", s)
	}
	if want := (TLS{Cert: filepath.Join(files, "cert.pem"), Key: filepath.Join(files, "key.pem")}); s.TLS != want {
		t.Errorf("server.tls: %+v", s.TLS)
	}
	if want := (regions.TLS{CA: filepath.Join(files, "ca.pem"), Cert: filepath.Join(files, "cert.pem"), Key: filepath.Join(files, "key.pem")}); c.Upstream.TLS != want {
		t.Errorf("upstream.tls: %+v", c.Upstream.TLS)
	}
	admins := []AdminToken{{strings.Repeat("fedcba9876543210", 4), "admin"}, {strings.Repeat("fedcba9876543211", 4), "dora"}}
	if !reflect.DeepEqual(s.AdminTokens, admins) || !reflect.DeepEqual(s.AdminHosts, []string{"admin.internal"}) {
		t.Errorf("admin: %v %v", s.AdminTokens, s.AdminHosts)
	}
	networks := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("fd00::/8")}
	if !reflect.DeepEqual(s.TrustedProxies, networks) {
		t.Errorf("trustedProxies: %v", s.TrustedProxies)
	}
	const zeros = "00000000-0000-0000-0000-00000000000"
	want := []Token{{SHA256: strings.Repeat("0123456789abcdef", 4), TenantID: zeros + "a", ObjectID: zeros + "2", Name: "a@example.com", AppID: zeros + "3"}}
	if c.Auth.Mode != AuthTokens || !reflect.DeepEqual(c.Auth.Tokens, want) {
		t.Errorf("auth: %+v", c.Auth)
	}
}

func TestExample(t *testing.T) {
	c, err := Load("../configs/example.yaml")
	must(t, err)
	if !c.Server.TLS.Terminated || c.Metadata.LoginEndpoint != "https://login.example.com/" || len(c.Metadata.Audiences) != 1 {
		t.Errorf("%+v %+v", c.Server.TLS, c.Metadata)
	}
	machines := c.Map.Provider("contoso.compute").TypeNamed("virtualmachines")
	if machines.LateWriteWindow != 2*time.Minute || machines.OnRegionFailure != regions.Partial ||
		machines.Capabilities != (regions.Capabilities{Move: true, Tags: true, ETags: true}) {
		t.Errorf("%+v", machines)
	}
	// What is left out: tags for tracked types alone, nothing else.
	if got := c.Map.Provider("Contoso.Insight").TypeNamed("workspaces").Capabilities; got != (regions.Capabilities{Tags: true}) {
		t.Errorf("workspaces: %+v", got)
	}
	if got := machines.Provider.TypeNamed("virtualMachines/runCommands").Capabilities; got != (regions.Capabilities{}) {
		t.Errorf("runCommands: %+v", got)
	}
	region, _ := c.Map.Region("westus")
	want := regions.Region{Name: "westus", DisplayName: "West US", PairedRegion: "eastus", Geography: "United States",
		GeographyGroup: "US", PhysicalLocation: "California", Latitude: "37.783", Longitude: "-122.417"}
	if region != want {
		t.Errorf("%+v", region)
	}
	if len(c.Subscriptions) != 1 || c.Subscriptions[0].State != "Enabled" || !c.Subscriptions[0].Covered {
		t.Errorf("%+v", c.Subscriptions)
	}
}

func TestIncludes(t *testing.T) {
	c, err := Load("testdata/good/included.yaml")
	must(t, err)
	var names []string
	for _, region := range c.Map.Regions() {
		names = append(names, region.Name)
	}
	// a.yaml includes more/regions.yaml; b.yaml comes after both.
	if got := strings.Join(names, " "); got != "westus eastus" {
		t.Errorf("regions %s", got)
	}
	if c.Server.Region != "westus" || c.Lists.TokenLifetime != 2*time.Hour || c.Lists.Memory != 64<<20 {
		t.Errorf("sections of several files did not join: %+v %+v", c.Server, c.Lists)
	}
	if len(c.Files) != 4 {
		t.Errorf("files %v", c.Files)
	}
}

func TestIncludesInAnyFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "odd [name]*")
	must(t, os.Mkdir(folder, 0o755))
	for name, text := range map[string]string{"main.yaml": "include: [part*.yaml]\nstore: {dsn: main.db}\n", "part1.yaml": minimal} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	c, err := Load(filepath.Join(folder, "main.yaml"))
	must(t, err)
	if want := filepath.Join(folder, "main.db"); c.Store.DSN != want {
		t.Errorf("the store is %s, want %s", c.Store.DSN, want)
	}
}

func TestLoadMissingFile(t *testing.T) {
	_, err := Load("testdata/absent.yaml")
	if err == nil || err.Error() != "testdata/absent.yaml: no such file or directory (allowed: a readable YAML file)" {
		t.Errorf("got %v", err)
	}
}

// A path in a file is relative to the file's folder.
func TestRelativePath(t *testing.T) {
	c, err := parse("testdata/x.yaml", minimal+"upstream: {tls: {ca: nowhere/ca.pem}}\n")
	if err != nil || c.Upstream.TLS.CA != filepath.Join("testdata", "nowhere", "ca.pem") {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestStorePaths(t *testing.T) {
	for dsn, want := range map[string]string{
		"portico.db":                    "etc/portico.db",
		"../data/portico.db":            "data/portico.db",
		"/var/lib/portico.db":           "/var/lib/portico.db",
		"portico.db?_pragma=x(../y)":    "",
		"file:portico.db?mode=ro":       "",
		"file:/var/lib/portico.db":      "",
		":memory:":                      "",
		"file::memory:?cache=shared":    "",
		"postgres://portico@db/portico": "",
	} {
		c, err := parse("etc/portico.yaml", minimal+"store: {dsn: '"+dsn+"'}\n")
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "the value is not a valid data source of driver sqlite")):
			t.Errorf("%s: got %v", dsn, err)
		case want != "" && (err != nil || c.Store.DSN != want):
			t.Errorf("%s: got %+v, %v, want %s", dsn, c, err, want)
		}
	}
}

func TestLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.1.2.3:1": true, "[::1]:80": true, "localhost:80": true, "LOCALHOST:80": true,
		"[::ffff:127.0.0.1]:80": true,
		"0.0.0.0:80":            false, ":80": false, "[::]:80": false, "10.0.0.1:80": false, "localhost.example:80": false, "127.0.0.1": false,
	} {
		if got := isLoopback(listen); got != want {
			t.Errorf("%s: got %v", listen, got)
		}
	}
}

// TestFaultsKeepSecrets relies on cases in testdata/bad that put the word
// hunter2 where passwords, tokens and keys stand.
func TestFaultsKeepSecrets(t *testing.T) {
	held := 0
	for _, path := range cases(t, "testdata/bad/*.yaml") {
		text, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Contains(text, []byte("hunter2")) {
			continue
		}
		held++
		if _, err := Load(path); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if held < 5 {
		t.Errorf("only %d cases hold a secret", held)
	}
}

// TestManyTypes holds reading to a time that does not grow with the square of
// the file: the failure is the test's own time limit.
func TestManyTypes(t *testing.T) {
	var b strings.Builder
	b.WriteString(minimal + "providers:\n")
	for p := range 100 {
		name := strings.Repeat("x", p+1)
		b.WriteString("  - namespace: Contoso." + name + "\n    endpoints: {global: [https://g.example], westus: [https://w.example]}\n    resourceTypes:\n")
		for q := range 100 {
			b.WriteString("      - {name: a" + strings.Repeat("x", q) + "s, kind: tracked, apiVersions: [2024-01-01]}\n")
		}
	}
	c, err := parse("many.yaml", b.String())
	must(t, err)
	if n := len(c.Map.Providers()); n != 100 {
		t.Errorf("%d providers", n)
	}
}

func TestFeaturesAndOffers(t *testing.T) {
	c, err := parse("x.yaml", minimal+`
providers:
  - namespace: Contoso.Compute
    features: [beta, Alpha-1]
    endpoints: {global: ["https://compute.example"], westus: ["https://westus.compute.example"]}
    resourceTypes: [{name: machines, kind: tracked, apiVersions: ["2024-01-01"]}]
subscriptions:
  - {id: 00000000-0000-0000-0000-000000000001, tenantId: 00000000-0000-0000-0000-000000000002, offerId: free, locationPlacementId: here, registeredFeatures: [Contoso.Compute/beta, Other.One/x]}
`)
	must(t, err)
	p := c.Map.Provider("contoso.compute")
	if name, ok := p.Feature("ALPHA-1"); !ok || name != "Alpha-1" || len(p.Features) != 2 {
		t.Errorf("%q %v", name, p.Features)
	}
	if _, ok := p.Feature("none"); ok {
		t.Error("there is no such feature")
	}
	if s := c.Subscriptions[0]; s.OfferID != "free" || s.PlacementID != "here" || strings.Join(s.Features, " ") != "Contoso.Compute/beta Other.One/x" {
		t.Errorf("%+v", s)
	}
	var regions []string
	for _, e := range p.Endpoints() {
		regions = append(regions, e.Region+" "+e.String())
	}
	if strings.Join(regions, ", ") != "global https://compute.example, westus https://westus.compute.example" {
		t.Errorf("%v", regions)
	}
}

func TestTLSOfAProvider(t *testing.T) {
	c, err := Load("testdata/good/provider_tls.yaml")
	must(t, err)
	files := filepath.Join("testdata", "files")
	want := regions.TLS{CA: filepath.Join(files, "ca.pem"), Cert: filepath.Join(files, "cert.pem"), Key: filepath.Join(files, "key.pem")}
	if got := c.Map.Provider("Contoso.Compute").TLS(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := c.Map.Provider("Contoso.Plain"); got.TLS() != (regions.TLS{}) || got.Credential() != (regions.Credential{}) || got.Endpoint("global").Identity != "" {
		t.Errorf("one without: %+v, %+v, %q", got.TLS(), got.Credential(), got.Endpoint("global").Identity)
	}
	for namespace, header := range map[string]string{"Contoso.Compute": "Authorization", "Contoso.Insight": "X-Contoso-Key"} {
		if got, want := c.Map.Provider(namespace).Credential(), (regions.Credential{Header: header, File: filepath.Join(files, "key.pem")}); got != want {
			t.Errorf("%s: got %+v, want %+v", namespace, got, want)
		}
	}
}

// must ends the test where a step fails that it only needs.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
