package peers

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

const machines = "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/rg/providers/Contoso.Compute/virtualMachines"

// Through every proxy a client gets the provider's answers unchanged, and the proxy's own.
func TestProxiesPassAnswersOn(t *testing.T) {
	addresses, _ := StartProvider(t, 1, 4<<10)
	options := Options{
		Provider: addresses[0], Workers: 2, Certificate: harness.NewCertificate(t, t.TempDir()),
		OwnPath: "/own/", OwnAnswer: `{"error":{"code":"NotFound"}}`,
	}
	started := []Peer{StartReverseProxy(t, options)}
	for name, start := range map[string]func(testing.TB, Options) Peer{"nginx": StartNginx, "haproxy": StartHAProxy, "caddy": StartCaddy} {
		if harness.FindInstalled(name) == "" {
			t.Logf("%s is not installed: not tried", name)
			continue
		}
		started = append(started, start(t, options))
	}
	transport := &http.Transport{ForceAttemptHTTP2: true}
	secureTransport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: options.Certificate.Pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	t.Cleanup(secureTransport.CloseIdleConnections)
	for _, peer := range started {
		t.Run(peer.Name, func(t *testing.T) {
			for _, c := range []struct {
				method, path string
				status, size int
			}{
				{"GET", machines + "/vm1?api-version=2024-01-01", 200, InstanceSize},
				{"GET", machines + "/large1", 200, LargeSize},
				{"PUT", machines + "/vm1", 200, WrittenSize},
				{"PUT", machines + "/new1", 201, WrittenSize},
				{"GET", "/own/none", 404, len(options.OwnAnswer)},
			} {
				if status, content, protocol := ask(t, transport, c.method, peer.URL+c.path); status != c.status || len(content) != c.size || protocol != 1 {
					t.Errorf("%s %s: %d, %d bytes by HTTP/%d", c.method, c.path, status, len(content), protocol)
				}
				if status, content, protocol := ask(t, secureTransport, c.method, peer.SecureURL+c.path); status != c.status || len(content) != c.size || protocol != 2 {
					t.Errorf("%s %s over TLS: %d, %d bytes by HTTP/%d", c.method, c.path, status, len(content), protocol)
				}
			}
		})
	}
}

func TestMergerJoinsTheListsOfAllRegions(t *testing.T) {
	addresses, _ := StartProvider(t, 3, 4<<10)
	var urls []string
	for _, address := range addresses {
		urls = append(urls, "http://"+address)
	}
	merger := StartMerger(t, urls)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	status, content, _ := ask(t, transport, "GET", merger.URL+machines)
	if status != 200 {
		t.Fatalf("%d %s", status, content)
	}
	for _, name := range []string{`"vm-00-000000"`, `"vm-01-000000"`, `"vm-02-000000"`} {
		if strings.Count(content, name) != 1 {
			t.Errorf("%s is there %d times", name, strings.Count(content, name))
		}
	}
}

func ask(t *testing.T, transport *http.Transport, method, url string) (status int, content string, protocol int) {
	t.Helper()
	body := ""
	if method == "PUT" {
		body = `{"location":"westus","properties":{"fill":"` + strings.Repeat("x", 2000) + `"}}`
	}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	harness.OK(t, err)
	answer, err := transport.RoundTrip(r)
	harness.OK(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	harness.OK(t, err)
	return answer.StatusCode, string(text), answer.ProtoMajor
}
