package memory

import "github.com/prometheus/client_golang/prometheus"

// Counted is a table with the counts that metrics show.
type Counted interface {
	Counts() (hits, misses uint64)
	Entries() int
}

// ScopeMetrics collects metrics of tables, by the kind of their values.
type ScopeMetrics map[string]Counted

var (
	hitsDesc = prometheus.NewDesc("portico_scope_cache_hits_total",
		"Look-ups of a subscription, a group, a registration or the grants of a principal that were answered from memory.", []string{"kind"}, nil)
	missesDesc = prometheus.NewDesc("portico_scope_cache_misses_total",
		"Look-ups of a subscription, a group, a registration or the grants of a principal that needed the store.", []string{"kind"}, nil)
	entriesDesc = prometheus.NewDesc("portico_scope_cache_entries",
		"Subscriptions, groups, registrations and grants of principals in memory, at most index.scopeEntries each.", []string{"kind"}, nil)
)

// Describe implements [prometheus.Collector].
func (m ScopeMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- hitsDesc
	to <- missesDesc
	to <- entriesDesc
}

// Collect implements [prometheus.Collector].
func (m ScopeMetrics) Collect(to chan<- prometheus.Metric) {
	for kind, table := range m {
		hits, misses := table.Counts()
		to <- prometheus.MustNewConstMetric(hitsDesc, prometheus.CounterValue, float64(hits), kind)
		to <- prometheus.MustNewConstMetric(missesDesc, prometheus.CounterValue, float64(misses), kind)
		to <- prometheus.MustNewConstMetric(entriesDesc, prometheus.GaugeValue, float64(table.Entries()), kind)
	}
}

// RegisterMetrics registers metrics of the cache's counts.
func (c *Locations) RegisterMetrics(registry prometheus.Registerer) {
	registry.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "portico_index_cache_hits_total", Help: "Look-ups of a resource's location that were answered from memory.",
		}, func() float64 { hits, _ := c.Counts(); return float64(hits) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "portico_index_cache_misses_total", Help: "Look-ups of a resource's location that needed the store.",
		}, func() float64 { _, misses := c.Counts(); return float64(misses) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_index_cache_entries", Help: "Locations in memory, at most index.cacheEntries.",
		}, func() float64 { return float64(c.Entries()) }),
	)
}
