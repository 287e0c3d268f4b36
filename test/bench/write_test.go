package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

// A create through Portico, split at its provider: the time until the provider is
// called, with the durable commit of the intent, and from its answer to the client's,
// with the visible commit of the settle. The same two commits run alone on the same
// store. The benchmark reports medians, and the time of a write without its provider as
// a ratio to the two commits.
func BenchmarkWrite(b *testing.B) {
	for _, engine := range engines {
		b.Run(engine, func(b *testing.B) {
			var calls, answered atomic.Int64 // since begun
			epoch := time.Now()
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Store(int64(time.Since(epoch)))
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				answered.Store(int64(time.Since(epoch)))
				_, _ = io.WriteString(w, `{"location":"westus","properties":{"provisioningState":"Succeeded"}}`)
			}))
			defer provider.Close()
			front, store := newGateway(b, engine, provider.URL)
			var before, after, begin, settle, ratio []float64
			b.ReportAllocs()
			for b.Loop() {
				sent := time.Since(epoch)
				send(b, front, fmt.Sprintf("vm%06d", len(ratio)), http.StatusCreated)
				ended := time.Since(epoch)
				ofBefore, ofAfter := time.Duration(calls.Load())-sent, ended-time.Duration(answered.Load())
				ofBegin, ofSettle := bareWrite(b, store, fmt.Sprintf("bare%06d", len(ratio)))
				before, after = append(before, ofBefore.Seconds()), append(after, ofAfter.Seconds())
				begin, settle = append(begin, ofBegin.Seconds()), append(settle, ofSettle.Seconds())
				ratio = append(ratio, (ofBefore+ofAfter).Seconds()/(ofBegin+ofSettle).Seconds())
			}
			for name, values := range map[string][]float64{
				"µs-until-provider": before, "µs-after-provider": after, "µs-intent": begin, "µs-settle": settle,
			} {
				b.ReportMetric(1e6*median(values), name)
			}
			b.ReportMetric(median(ratio), "x-intent+settle")
		})
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// send writes a machine through front, and wants this status.
func send(b *testing.B, front http.Handler, name string, want int) {
	b.Helper()
	r := httptest.NewRequest(http.MethodPut, machines+name+version, strings.NewReader(`{"location":"westus"}`))
	r.Host = "portico.example"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	front.ServeHTTP(w, r)
	if w.Code != want {
		b.Fatalf("%d %s", w.Code, w.Body)
	}
}

// bareWrite makes the two transactions of a create.
func bareWrite(b *testing.B, store *inventory.Store, name string) (begin, settle time.Duration) {
	b.Helper()
	ctx, started := context.Background(), time.Now()
	ticket, err := store.Begin(ctx, machine(name, "westus"))
	middle := time.Now()
	if err == nil {
		_, err = store.Settle(ctx, ticket, inventory.WriteResult{Outcome: index.Succeeded, Status: http.StatusCreated})
	}
	if err != nil {
		b.Fatal(err)
	}
	return middle.Sub(started), time.Since(middle)
}
