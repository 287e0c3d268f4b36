package contract_test

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"portico/provider/certify/contract"
	"portico/provider/contoso"
	"portico/test/harness"
)

const descriptionFile = "testdata/contoso.yaml"

func describe(t *testing.T) *contract.Description { return describeBy(t, descriptionFile) }

func describeBy(t *testing.T, file string) *contract.Description {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	harness.OK(t, err)
	d := &contract.Description{}
	harness.OK(t, yaml.UnmarshalWithOptions(text, d, yaml.Strict()))
	harness.OK(t, d.Complete())
	return d
}

// startProvider runs one endpoint of the reference provider, with its state in memory,
// and returns its address.
func startProvider(t *testing.T, region string, args ...string) string {
	t.Helper()
	args = append([]string{"--region", region, "--listen", "127.0.0.1:0"}, args...)
	p := harness.Start(t, "contoso "+region, t.TempDir(), harness.Build(t).Contoso, args...)
	prefix := "contoso: serving " + region + " on "
	return strings.TrimPrefix(p.WaitLine(t, prefix), prefix)
}

// serveHere is one endpoint of the reference provider in this process, for the many that
// break a rule: as programs, with the race detector, they take most of the tests' time.
func serveHere(t *testing.T, o contoso.Options, secured *tls.Config) string {
	t.Helper()
	provider, err := contoso.New(o)
	harness.OK(t, err)
	server := httptest.NewUnstartedServer(provider)
	t.Cleanup(func() {
		harness.OK(t, provider.Close()) // first: it ends what requests wait for
		server.Close()
	})
	if server.TLS = secured; secured != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	return server.URL
}

func startProviders(t *testing.T, args ...string) map[string]string {
	t.Helper()
	endpoints := map[string]string{}
	for _, region := range append(harness.RegionNames(), contract.Global) {
		endpoints[region] = startProvider(t, region, args...)
	}
	return endpoints
}

// write logs what was tried, a line each, and what is not as it should be.
func write(t *testing.T, results []contract.Result) {
	t.Helper()
	for _, r := range results {
		if r.Outcome != contract.LeftOut {
			t.Log(r.Outcome, r.Case, r.Type, r.Section)
		}
		for _, f := range r.Faults {
			t.Logf("expected: %s\ngot: %s", f.Expected, f.Got)
		}
	}
}

func TestStraight(t *testing.T) {
	t.Parallel()
	write(t, run(t, contract.Target{
		Adapter:     contract.Straight(startProviders(t)),
		Description: describe(t),
		Disruptive:  true,
	}))
}

const (
	siblingSubscription = "00000000-0000-0000-0000-000000000002"
	strangeSubscription = "00000000-0000-0000-0000-000000000003"
	strangeTenant       = "00000000-0000-0000-0000-0000000000bb"
)

var (
	owner     = harness.Token{Raw: "owner-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a1", Name: "owner@contoso.example"}
	colleague = harness.Token{Raw: "colleague-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a2", Name: "colleague@contoso.example"}
	stranger  = harness.Token{Raw: "stranger-s-token", TenantID: strangeTenant, ObjectID: "00000000-0000-0000-0000-0000000000b1", Name: "stranger@fabrikam.example"}
)

func TestThroughPortico(t *testing.T) {
	t.Parallel()
	throughPortico(t, startProviders(t), "", false)
}

// TestThroughPorticoByCertificate is TestThroughPortico with providers that demand
// Portico's certificate. What they are shown does not depend on the type.
func TestThroughPorticoByCertificate(t *testing.T) {
	t.Parallel()
	servers, clients := harness.NewAuthority(t), harness.NewAuthority(t)
	server, gateway := servers.Issue(t, harness.Leaf{Name: "localhost", Server: true}), clients.Issue(t, harness.Leaf{Name: "portico"})
	endpoints := startProviders(t, "--tls-cert", server.CertFile, "--tls-key", server.KeyFile, "--client-ca", clients.File)
	throughPortico(t, endpoints, fmt.Sprintf("upstream: {tls: {ca: %q, cert: %q, key: %q}}\n", servers.File, gateway.CertFile, gateway.KeyFile), true)
}

func throughPortico(t *testing.T, endpoints map[string]string, extra string, onceEach bool) {
	t.Helper()
	target := throughDoor(t, startDoor(t, endpoints, extra))
	target.OnceEach, target.Disruptive = onceEach, true
	write(t, run(t, target))
}

// startDoor runs a Portico before the reference provider.
func startDoor(t *testing.T, endpoints map[string]string, extra string) *harness.Portico {
	t.Helper()
	p := harness.StartPortico(t, harness.Config{
		Endpoints: endpoints,
		Extra:     extra,
		Tokens:    []harness.Token{owner, colleague, stranger},
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Own", State: "Enabled"},
			{ID: siblingSubscription, TenantID: harness.TenantID, DisplayName: "Sibling", State: "Enabled"},
			{ID: strangeSubscription, TenantID: strangeTenant, DisplayName: "Strange", State: "Enabled"},
		},
	})
	declareProviders(t, p, endpoints)
	return p
}

// throughDoor is the reference provider behind a Portico.
func throughDoor(t *testing.T, p *harness.Portico) contract.Target {
	t.Helper()
	return contract.Target{
		Adapter: contract.ThroughDoor(contract.Door{
			URL: p.URL, Regions: harness.RegionNames(), HasGlobal: true,
			Subscription: harness.SubscriptionID, Sibling: siblingSubscription,
			Owner:     contract.Token{Raw: owner.Raw, Name: owner.Name},
			Colleague: contract.Token{Raw: colleague.Raw, Name: colleague.Name},
			Stranger:  contract.Token{Raw: stranger.Raw, Name: stranger.Name},
		}),
		Description: describe(t),
	}
}

// declareProviders replaces the harness's providers by the description's, so that the
// gateway and the suite know the same types.
func declareProviders(t *testing.T, p *harness.Portico, endpoints map[string]string) {
	t.Helper()
	var described struct {
		Providers []map[string]any `yaml:"providers"`
	}
	text, err := os.ReadFile(filepath.FromSlash(descriptionFile))
	harness.OK(t, err)
	harness.OK(t, yaml.Unmarshal(text, &described))
	for _, provider := range described.Providers {
		delete(provider, "checkNameAvailability")
		lists := map[string][]string{}
		for region, url := range endpoints {
			lists[region] = []string{url}
		}
		provider["endpoints"], provider["headers"] = lists, map[string][]string{"request": harness.SteeringHeaders()}
		for _, resourceType := range provider["resourceTypes"].([]any) {
			maps.DeleteFunc(resourceType.(map[string]any), func(name string, _ any) bool { return name == "contract" })
		}
	}
	providers, err := yaml.Marshal(described)
	harness.OK(t, err)
	p.ReplaceProviders(t, string(providers))
}
