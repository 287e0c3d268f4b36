package locations

import "github.com/prometheus/client_golang/prometheus"

// RegisterMetrics registers what the cache counts anyway.
func (c *Cache) RegisterMetrics(registry prometheus.Registerer) {
	registry.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "portico_index_cache_hits_total", Help: "Questions where a resource lies that memory answered.",
		}, func() float64 { hits, _ := c.Counts(); return float64(hits) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "portico_index_cache_misses_total", Help: "Questions where a resource lies that the store had to answer.",
		}, func() float64 { _, misses := c.Counts(); return float64(misses) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_index_cache_entries", Help: "Locations in memory, of at most index.cacheEntries.",
		}, func() float64 { return float64(c.Entries()) }),
	)
}
