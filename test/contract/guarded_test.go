package contract_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"portico/provider/certify/contract"
	"portico/provider/contoso"
	"portico/test/harness"
)

// internalSubscription is the provider's own.
const internalSubscription = "00000000-0000-0000-0000-0000000000ee"

// serveClusters is a provider that makes the machines of its clusters through a front door.
func serveClusters(t *testing.T, breaks ...string) (endpoint string) {
	t.Helper()
	var provider atomic.Pointer[url.URL]
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/providers/") {
			return // a group is the front door's own matter
		}
		r.Header.Set("Referer", "https://front.contract.example"+r.URL.RequestURI())
		httputil.NewSingleHostReverseProxy(provider.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	endpoint = serveHere(t, contoso.Options{
		Region: "westus", Breaks: breaks, FrontDoor: &contoso.FrontDoor{URL: door.URL, Subscription: internalSubscription},
	}, nil)
	at, err := url.Parse(endpoint)
	harness.OK(t, err)
	provider.Store(at)
	return endpoint
}

// tryClusters checks a provider that makes the machines of its clusters.
func tryClusters(t *testing.T, to contract.Reporter, breaks ...string) {
	t.Helper()
	try(t, to, contract.Target{
		Adapter:     contract.Straight(map[string]string{"westus": serveClusters(t, breaks...)}),
		Description: describeBy(t, "testdata/clusters.yaml"),
		Claimed:     []contract.Profile{contract.ResourceCreatedFor},
	}, breaks)
}

// guarded is a provider that demands the front door's certificate.
type guarded struct {
	endpoint string
	servers  *harness.Authority
	door     harness.Pair
}

func serveGuarded(t *testing.T, breaks ...string) guarded {
	t.Helper()
	servers, clients := harness.NewAuthority(t), harness.NewAuthority(t)
	server := servers.Issue(t, harness.Leaf{Name: "localhost", Server: true})
	return guarded{
		endpoint: serveHere(t, contoso.Options{Region: "westus", Breaks: breaks, Clients: clients.Pool}, &tls.Config{
			Certificates: []tls.Certificate{server.Certificate}, ClientAuth: tls.RequestClientCert,
		}),
		servers: servers, door: clients.Issue(t, harness.Leaf{Name: "door"}),
	}
}

// tryCertificates checks a provider that demands the front door's certificate.
func tryCertificates(t *testing.T, to contract.Reporter, breaks ...string) {
	t.Helper()
	g := serveGuarded(t, breaks...)
	adapter := contract.Straight(map[string]string{"westus": g.endpoint})
	adapter.Client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: g.servers.Pool, Certificates: []tls.Certificate{g.door.Certificate}}}
	try(t, to, contract.Target{
		Adapter:     adapter,
		Description: describe(t),
		Claimed:     []contract.Profile{contract.Certificates},
	}, breaks)
}

func try(t *testing.T, to contract.Reporter, target contract.Target, breaks []string) {
	t.Helper()
	target.Limits = limitsOf(breaks)
	harness.OK(t, contract.Try(t.Context(), target, to))
}

// The reference provider keeps the rules of what it makes for its users' resources, and
// serves no one but the front door; each of these cases is tried.
func TestProfilesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for profile, set := range map[contract.Profile]func(*testing.T, contract.Reporter, ...string){
		contract.ResourceCreatedFor: tryClusters, contract.Certificates: tryCertificates,
	} {
		var r contract.Recorder
		set(t, &r)
		tried := 0
		for _, result := range r.Results() {
			if result.Profile != profile {
				continue
			}
			tried++
			if result.Outcome != contract.Kept {
				t.Errorf("%s: %s %s %+v", result.Case, result.Outcome, result.Why, result.Faults)
			}
		}
		if tried < 3 {
			t.Errorf("%d cases of the profile %s were tried", tried, profile)
		}
	}
}
