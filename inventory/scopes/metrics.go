package scopes

import "github.com/prometheus/client_golang/prometheus"

// Counted is a table as metrics see it.
type Counted interface {
	Counts() (hits, misses uint64)
	Entries() int
}

// Metrics shows what tables count anyway, by the kind of their values.
type Metrics map[string]Counted

var (
	hitsDesc    = prometheus.NewDesc("portico_scope_cache_hits_total", "Questions for a subscription, a group, a registration or the grants of a principal that memory answered.", []string{"kind"}, nil)
	missesDesc  = prometheus.NewDesc("portico_scope_cache_misses_total", "Questions for a subscription, a group, a registration or the grants of a principal that the store had to answer.", []string{"kind"}, nil)
	entriesDesc = prometheus.NewDesc("portico_scope_cache_entries", "Subscriptions, groups, registrations and grants of principals in memory, of at most index.scopeEntries each.", []string{"kind"}, nil)
)

// Describe implements [prometheus.Collector].
func (m Metrics) Describe(to chan<- *prometheus.Desc) {
	to <- hitsDesc
	to <- missesDesc
	to <- entriesDesc
}

// Collect implements [prometheus.Collector].
func (m Metrics) Collect(to chan<- prometheus.Metric) {
	for kind, table := range m {
		hits, misses := table.Counts()
		to <- prometheus.MustNewConstMetric(hitsDesc, prometheus.CounterValue, float64(hits), kind)
		to <- prometheus.MustNewConstMetric(missesDesc, prometheus.CounterValue, float64(misses), kind)
		to <- prometheus.MustNewConstMetric(entriesDesc, prometheus.GaugeValue, float64(table.Entries()), kind)
	}
}
