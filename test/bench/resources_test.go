package bench

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"portico/inventory/engine"
)

// The cost of a page of /resources depends on the page alone: it is the same with
// 100,000 resources in the subscription as with 1,000. The benchmark reports the ratio
// of the two, for each way to narrow the list.
func BenchmarkResources(b *testing.B) {
	small, few := newGateway(b, engine.SQLite, "http://127.0.0.1:1")
	fill(b, few, 1_000)
	large, many := newGateway(b, engine.SQLite, "http://127.0.0.1:1")
	fill(b, many, 100_000)
	for name, query := range map[string]string{
		"first page": "",
		"by type":    "resourceType eq 'Contoso.Compute/virtualMachines'",
		"by name":    "name eq 'vm000500'",
		"by group":   "resourceGroup eq 'rg'",
		"by place":   "location eq 'West US'",
		"by tag":     "tagName eq 'env' and tagValue eq 'prod'",
	} {
		b.Run(name, func(b *testing.B) {
			target := "/subscriptions/" + subscription + "/resources" + version + "&$top=100&$filter=" + url.QueryEscape(query)
			b.ReportAllocs()
			var ofSmall, ofLarge time.Duration
			for b.Loop() {
				ofSmall += list(b, small, target)
				ofLarge += list(b, large, target)
			}
			b.ReportMetric(float64(ofLarge)/float64(ofSmall), "x-of-1000")
		})
	}
}

func list(b *testing.B, handler http.Handler, target string) time.Duration {
	b.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "portico.example"
	w := httptest.NewRecorder()
	started := time.Now()
	handler.ServeHTTP(w, r)
	took := time.Since(started)
	if w.Code != http.StatusOK {
		b.Fatalf("%d %s", w.Code, w.Body)
	}
	return took
}
