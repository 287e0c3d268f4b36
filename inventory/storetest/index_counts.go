package storetest

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory"
	"portico/inventory/index"
)

// testIndexCounts counts the rows of several subscriptions, a few at a time, and open
// writes, and reads the store's statistics.
func testIndexCounts(t *testing.T, database Database) {
	registry := prometheus.NewRegistry()
	b := newBench(t, database, func(o *inventory.Options) { o.Metrics = registry })
	const other = "00000000-0000-0000-0000-0000000000a2"
	b.ok(b.SeedSubscriptions(b.ctx, []inventory.Subscription{{ID: other, TenantID: "t"}}))
	b.group("rg")
	for i := range 7 {
		b.live("rg", fmt.Sprint("live", i))
	}
	b.settle(b.begin(write(index.Put, "rg", "pending")), index.Ambiguous)
	b.begin(write(index.Put, "rg", "open"))
	b.settle(b.begin(write(index.Delete, "rg", "live0")), index.Accepted)

	open, err := b.CountIntents(b.ctx)
	b.ok(err)
	for _, rows := range []int{1, 3, 9, 1000} {
		var counts inventory.IndexCounts
		for parts := 0; ; parts++ {
			done, err := b.CountIndex(b.ctx, &counts, rows)
			b.ok(err)
			if done {
				break
			}
			if parts > 20 {
				b.Fatal("the count does not end")
			}
		}
		flagged := int64(0)
		all, err := b.Resources(b.ctx, inventory.ResourceQuery{Subscription: Sub})
		b.ok(err)
		for _, row := range all {
			if row.Verify {
				flagged++
			}
		}
		equal(b, counts.Rows, [3]int64{2, 6, 1})
		equal(b, counts.Flagged, max(flagged, 1)) // the write without an answer is one
	}
	equal(b, open > 0, true)

	_, err = b.Locations.Locate(b.ctx, Sub, []byte(b.row("rg", "live1").Key), b.clock.Now())
	b.ok(err)
	shown := map[string]float64{}
	families, err := registry.Gather()
	b.ok(err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			shown[family.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for _, name := range []string{
		"portico_store_batch_writes", "portico_store_lock_seconds", "portico_store_commit_seconds", "portico_store_writes_total",
		"portico_store_transactions_total", "portico_store_flushes_total", "portico_index_cache_entries",
	} {
		equal(b, name+fmt.Sprint(shown[name] > 0), name+"true")
	}
	stats := b.Stats()
	equal(b, stats.CacheHits+stats.CacheMisses > 0, true)
	equal(b, shown["portico_store_batch_writes"], float64(stats.Commits))
}
