package bench

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// What a tenant that sends ten times what it may costs another one: the 99th percentile
// of the other's reads beside the flood, as a ratio to that without, which are taken by
// turns in one run.
func BenchmarkFloodAlongside(b *testing.B) {
	const (
		perSecond   = 25 // what each may
		theirs      = "00000000-0000-0000-0000-000000000002"
		theirTenant = "00000000-0000-0000-0000-0000000000bb"
		length      = 5 * time.Second
	)
	greedy := harness.Token{Raw: "greedy-token", TenantID: theirTenant, ObjectID: "00000000-0000-0000-0000-0000000000a2", Name: "greedy@example"}
	steady := harness.Token{Raw: "steady-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a1", Name: "steady@example"}
	w := harness.NewWorld(b, harness.WorldOptions{Config: harness.Config{
		Tokens: []harness.Token{steady, greedy}, Extra: "\nthrottle: {reads: {bucket: 250, perSecond: 25}}\n",
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "A", State: "Enabled"},
			{ID: theirs, TenantID: theirTenant, DisplayName: "B", State: "Enabled"},
		},
	}})
	w.PutGroup(b, "rg")
	w.PutResource(b, "rg", "Contoso.Compute/virtualMachines/vm", `{"location":"westus"}`)
	vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm") + "?api-version=" + harness.Version
	other := "/subscriptions/" + theirs + "?api-version=2022-12-01"

	// send sends reads at a rate, each without waiting for the one before, and returns
	// how long they took and how many were let through.
	send := func(rate int, path string, who harness.Token) (took []time.Duration, passed int) {
		ctx, cancel := context.WithTimeout(context.Background(), length+10*time.Second)
		defer cancel()
		var mu sync.Mutex
		var calls sync.WaitGroup
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for end := time.Now().Add(length); time.Now().Before(end); {
			<-tick.C
			calls.Go(func() {
				started := time.Now()
				a, err := w.Portico.Try(ctx, harness.Request{Path: path, Header: harness.Header("Authorization", "Bearer "+who.Raw)})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					b.Error(err)
					return
				}
				took = append(took, time.Since(started))
				if a.Status == http.StatusOK {
					passed++
				}
			})
		}
		calls.Wait()
		return took, passed
	}
	send(10*perSecond, other, greedy) // uses up its bucket
	var quiet, flooded []time.Duration
	passed, flood := 0, 0
	for b.Loop() {
		took, n := send(perSecond*4/5, vm, steady)
		if n != len(took) {
			b.Fatalf("%d of %d steady requests were answered", n, len(took))
		}
		quiet = append(quiet, took...)
		var both sync.WaitGroup
		both.Go(func() {
			sent, n := send(10*perSecond, other, greedy)
			passed, flood = passed+n, flood+len(sent)
		})
		took, n = send(perSecond*4/5, vm, steady)
		both.Wait()
		if n != len(took) {
			b.Fatalf("%d of %d steady requests were answered beside the flood", n, len(took))
		}
		flooded = append(flooded, took...)
	}
	at := func(of []time.Duration, part float64) float64 {
		slices.Sort(of)
		return float64(of[int(part*float64(len(of)-1))].Microseconds())
	}
	b.ReportMetric(at(quiet, 0.99), "µs-p99-quiet")
	b.ReportMetric(at(flooded, 0.99), "µs-p99-flooded")
	b.ReportMetric(at(flooded, 0.99)/at(quiet, 0.99), "x-p99")
	b.ReportMetric(at(flooded, 0.5)/at(quiet, 0.5), "x-p50")
	b.ReportMetric(float64(passed)/float64(flood), "let-through")
}
