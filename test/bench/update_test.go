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
)

// A PUT of a resource that exists, beside a GET through a bare
// httputil.ReverseProxy with a transport that keeps its connections. Reported is the
// ratio of the processor's time that the process takes, the provider included in both.
func BenchmarkUpdate(b *testing.B) {
	answer := `{"id":"` + machines + `vm000000","location":"westus","properties":{"provisioningState":"Succeeded","fill":"` + strings.Repeat("x", 900) + `"}}`
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer provider.Close()
	target, err := url.Parse(provider.URL)
	if err != nil {
		b.Fatal(err)
	}
	bare := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	for _, driver := range engines {
		b.Run(driver, func(b *testing.B) {
			front, store := newGateway(b, driver, provider.URL)
			fill(b, store, 1000)
			var ofFront, ofBare time.Duration
			b.ReportAllocs()
			for b.Loop() {
				begun := processorTime()
				for range pass {
					send(b, front, "vm000000", http.StatusOK)
				}
				middle := processorTime()
				for range pass {
					list(b, bare, machines+"vm000000"+version)
				}
				ofFront, ofBare = ofFront+middle-begun, ofBare+processorTime()-middle
			}
			b.ReportMetric(float64(ofFront)/float64(ofBare), "x-reverseproxy")
			b.ReportMetric(float64(ofFront.Microseconds())/float64(pass*b.N), "µs-processor")
		})
	}
}

// pass is how many requests in a row the processor's time is taken of.
const pass = 50
