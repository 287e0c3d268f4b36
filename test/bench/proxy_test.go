package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"portico/inventory/engine"
)

// A read of a resource through Portico, beside the same read through a bare
// httputil.ReverseProxy: what checking, routing by the index, guarding and
// counting cost. Reported is the ratio of the times, the network's share
// included in both.
func BenchmarkRead(b *testing.B) {
	answer := `{"id":"` + machines + `vm000000","location":"westus","properties":{"fill":"` + strings.Repeat("x", 900) + `"}}`
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer provider.Close()
	front, store := newGateway(b, engine.SQLite, provider.URL)
	fill(b, store, 1)
	target, err := url.Parse(provider.URL)
	if err != nil {
		b.Fatal(err)
	}
	bare := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}

	b.Run("portico", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list(b, front, machines+"vm000000"+version)
		}
	})
	b.Run("reverseproxy", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list(b, bare, machines+"vm000000"+version)
		}
	})
	b.Run("ratio", func(b *testing.B) {
		var ofFront, ofBare time.Duration
		for b.Loop() {
			ofFront += list(b, front, machines+"vm000000"+version)
			ofBare += list(b, bare, machines+"vm000000"+version)
		}
		b.ReportMetric(float64(ofFront)/float64(ofBare), "x-reverseproxy")
	})
}
