package console

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"portico/gateway/admin/api"
	"portico/test/harness"
)

// standIn answers for the routes that other parts bring, by the types of package api, and
// passes everything else on to the admin listener. The page cannot tell. Some of its texts
// have text in them.
func standIn(t *testing.T, p *harness.Portico, text string) string {
	t.Helper()
	admin, err := url.Parse(p.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	m := http.NewServeMux()
	m.Handle("/", &httputil.ReverseProxy{
		FlushInterval: -1, // a stream shows at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(admin)
			r.Out.Host = r.In.Host
		},
	})
	answer := func(pattern string, body any) {
		m.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body)
		})
	}
	now := time.Now()
	answer("GET /admin/status", api.Status{
		Version: "v0.0.0-test", Region: "westus", Started: now, Generation: 1, Store: "sqlite", Replicas: 1,
		Problems: []api.Problem{
			{Severity: api.Critical, Code: "regionDown", Summary: "The region eastus does not answer.", Subject: "eastus", Since: &now, Next: "portico regions"},
			{Severity: api.Warning, Code: "jobsPutOff", Summary: "Jobs are tried in vain: " + text, Count: 2},
		},
	})
	endpoint := func(state string) []api.Endpoint {
		return []api.Endpoint{{Namespace: "Contoso.Compute", ResourceTypes: []string{"virtualMachines", "disks"}, Addresses: []api.Address{
			{URL: "https://compute.contoso.example", State: state, Circuit: "closed", Requests: 12, Failures: 3, InFlight: 1, Reason: "a reason"},
		}}}
	}
	answer("GET /admin/regions", api.Page[api.Region]{Value: []api.Region{
		{Name: "westus", DisplayName: "West US", State: api.Up, Endpoints: endpoint(api.Up)},
		{Name: "eastus", DisplayName: text, State: api.Down, Endpoints: endpoint(api.Down)},
		{Name: "northeurope", DisplayName: "North Europe", State: api.Degraded, Endpoints: endpoint(api.Unknown)},
	}})
	m.HandleFunc("POST /admin/explain", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]string
		_ = json.NewDecoder(r.Body).Decode(&asked)
		_ = json.NewEncoder(w).Encode(map[string]any{"class": "instance", "asked": asked, "checks": []any{map[string]any{"name": "locks", "allowed": true}}})
	})
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s.URL
}
